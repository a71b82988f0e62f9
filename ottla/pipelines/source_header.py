"""Where a copied record came from: a header that `replay` and `mirror` put last, and who writes in the name of a log.

    ottla.source: b3R0bGEtY29tcGF0LTAwMQ/orders/3/1041

is offset 1041 of partition 3 of `orders` in that cluster; `archive` stands for a cluster where records came from files.
A record that is copied on has one such header for each step of its way; the last one counts. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from ottla.wire.records import Header

KEY = b"ottla.source"
ARCHIVE = "archive"
# Brokers hand out producer ids from 0 on, and will not come this far.
FIRST_PRODUCER_ID = 1 << 62
_OFFSET_BYTES_MAX = 19


class Origin(NamedTuple):
    """The log that a partition is a copy of."""

    cluster: str
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} of {self.cluster}"

    @property
    def prefix(self) -> bytes:
        """What the header's value begins with; the offset follows."""
        return f"{self.cluster}/{self.topic}/{self.partition}/".encode()

    def producer_id(self, end_offset: int) -> int:
        """In whose name the first batch is written to a log that ends here and holds no copied record.

        The same for all that copy this log to that place: so a broker takes what two of them send only once.
        """
        digest = hashlib.sha256(self.prefix + str(end_offset).encode()).digest()
        return FIRST_PRODUCER_ID | int.from_bytes(digest[:8], "big") >> 2


class Source(NamedTuple):
    """The record that a record is a copy of."""

    origin: Origin
    offset: int


def header_of(origin: Origin, offset: int) -> Header:
    return KEY, origin.prefix + str(offset).encode()


def source_of(headers: Sequence[Header]) -> Source | None:
    """What the last header says; None where it says nothing of a source."""
    if not headers or headers[-1][0] != KEY or headers[-1][1] is None:
        return None
    parts = headers[-1][1].rsplit(b"/", 3)
    if len(parts) != 4 or not all(part.isdigit() and len(part) <= _OFFSET_BYTES_MAX for part in parts[2:]):
        return None
    try:
        return Source(Origin(parts[0].decode(), parts[1].decode(), int(parts[2])), int(parts[3]))
    except UnicodeDecodeError:
        return None
