"""Lines of the driver's output: replies, and what a member of a group learns in between.

Any thread may print; each line is printed whole.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterable

from compat_tests.clients.records import Received
from compat_tests.driven_clients.driver import Record

# Often, so that members notice a rebalance soon.
HEARTBEAT_MS = 200

_printing = threading.Lock()


def print_line(value: dict[str, object]) -> None:
    with _printing:
        sys.stdout.write(json.dumps(value) + "\n")
        sys.stdout.flush()


def tell_assigned(partitions: Iterable[int]) -> None:
    print_line({"event": "assigned", "partitions": list(partitions)})


def tell_revoked(partitions: Iterable[int]) -> None:
    print_line({"event": "revoked", "partitions": list(partitions)})


def tell_record(one: Received) -> None:
    record = Record(one.value, one.key, timestamp=one.timestamp_ms, partition=one.partition, offset=one.offset)
    print_line({"event": "record", "record": record.as_line()})


def tell_trouble(code: int, message: str) -> None:
    """`code` is what the broker named, 0 where it named nothing."""
    print_line({"event": "trouble", "code": code, "message": message})
