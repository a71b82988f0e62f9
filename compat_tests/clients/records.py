"""What the tests send and what they get back, whichever client carries it, and how a refusal is told.

It knows no client. A client's own objects are turned into these by its face, a module of its own beside this one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ottla.wire.errors import ErrorCode

# Far beyond what a busy machine takes: it ends a test that hangs and paces nothing.
SECONDS_MAX = 60
MS_MAX = SECONDS_MAX * 1000

CREATE_TIME, LOG_APPEND_TIME = "CreateTime", "LogAppendTime"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

Headers = tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True)
class Sent:
    """A record to be written."""

    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()
    partition: int = 0
    timestamp_ms: int | None = None


@dataclass(frozen=True)
class Received:
    """A record that was read."""

    partition: int
    offset: int
    value: bytes | None
    key: bytes | None
    headers: Headers
    timestamp_ms: int
    timestamp_type: str


@dataclass(frozen=True)
class Producing:
    """How records are written; the defaults are those of no client."""

    codec: str = "none"
    acks: str = "all"
    is_idempotent: bool = False
    request_bytes_max: int = 1_000_000


class Refused(Exception):
    """The broker said no; `code` is the error that it named."""

    def __init__(self, number: int, message: str | None = None) -> None:
        self.code = ErrorCode(number)
        super().__init__(f"{self.code.name}: {message}")


class Face(Protocol):
    """One client, as far as the tests that all clients share need it."""

    name: str

    def produce(self, topic: str, records: Sequence[Sent], how: Producing = ...) -> list[int]:
        """Write records and return their offsets, which are -1 where nobody tells them (acks=0)."""

    def read(self, topic: str, starts: Mapping[int, int], count: int) -> list[Received]:
        """Read so many records from these partitions and offsets on, in the order of partitions and offsets."""

    def earliest(self, topic: str, partition: int) -> int: ...

    def latest(self, topic: str, partition: int) -> int: ...

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        """The first offset whose record is not older; None where there is none."""


class AdminFace(Protocol):
    """One client that can administer, as far as the tests that all clients share need it. Errors are `Refused`."""

    name: str

    def create_topic(
        self,
        topic: str,
        partitions: int = ...,
        configs: Mapping[str, str] | None = ...,
        assignments: Sequence[Sequence[int]] | None = ...,
        *,
        replication_factor: int = ...,
        is_only_checked: bool = ...,
    ) -> None: ...

    def delete_topic(self, topic: str) -> None: ...

    def create_partitions(self, topic: str, total: int) -> None: ...

    def topics(self) -> set[str]: ...

    def replicas(self, topic: str) -> dict[int, list[int]]:
        """The replicas of each partition."""

    def configs(self, topic: str) -> dict[str, str]:
        """What is set on the topic itself."""

    def delete_records(self, topic: str, partition: int, before_offset: int) -> int:
        """Return the low watermark."""

    def cluster(self) -> tuple[str, int, list[str]]:
        """The cluster's id, its controller, and where its brokers listen."""


def in_order(records: Sequence[Received]) -> list[Received]:
    return sorted(records, key=lambda record: (record.partition, record.offset))
