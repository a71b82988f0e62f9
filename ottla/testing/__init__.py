"""A broker for tests: `with Broker() as broker: broker.bootstrap_servers`.

`docs/testing-with-ottla.md` is the page for its users. Importing this costs next to nothing: trio and the broker itself
are imported where they run, which is another process as a rule. Fixtures for pytest are in `pytest_plugin`. With the
extra `containers` there is `OttlaContainer` as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.testing.broker import Broker, Fault
from ottla.testing.failures import BrokerError

if TYPE_CHECKING:
    from ottla.testing.container import OttlaContainer as OttlaContainer

__all__ = ["Broker", "BrokerError", "Fault"]


def __getattr__(name: str) -> object:
    """OttlaContainer is loaded by who asks for it: it needs testcontainers, which others do not have."""
    if name == "OttlaContainer":
        from ottla.testing.container import OttlaContainer

        return OttlaContainer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
