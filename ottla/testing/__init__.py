"""A broker for tests: `with Broker() as broker: broker.bootstrap_servers`.

`docs/testing-with-ottla.md` is the page for its users. Importing this costs next to nothing: trio and the broker itself
are imported where they run, which is another process as a rule. Fixtures for pytest are in `pytest_plugin`.
"""

from __future__ import annotations

from ottla.testing.broker import Broker, Fault
from ottla.testing.failures import BrokerError

__all__ = ["Broker", "BrokerError", "Fault"]
