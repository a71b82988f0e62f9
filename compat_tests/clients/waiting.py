"""Asking until it is so. Kafka's controller answers before its broker has heard of a change; Ottla need not be asked
twice, and the same test serves for both."""

from __future__ import annotations

import time
from collections.abc import Callable

from compat_tests.clients.records import SECONDS_MAX


def eventually(ask: Callable[[], object], expected: object) -> None:
    """Ask until the answer is the one expected; after the deadline the test fails with the last answer."""
    deadline = time.monotonic() + SECONDS_MAX
    while (answer := ask()) != expected:
        assert time.monotonic() < deadline, f"{answer} does not become {expected}"
