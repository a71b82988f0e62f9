"""A group of any kind, as the rest of a shard sees it.

The checks raise KafkaError with the code that a client gets. A group that does not exist has no object; Dead is what
clients are told then.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import StrEnum

from ottla.coordinators.contract import Record

# Called with name, id and number of a partition whose offset is about to be committed; raises KafkaError.
PartitionCheck = Callable[[str, bytes, int], None]


class GroupType(StrEnum):
    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


class Group(ABC):
    type: GroupType

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """It has no members, and nobody is about to become one."""

    @property
    @abstractmethod
    def state_text(self) -> str:
        """As ListGroups says it."""

    @property
    @abstractmethod
    def protocol_type(self) -> str:
        """As ListGroups says it; empty for a group that only keeps offsets."""

    @abstractmethod
    def check_offset_commit(
        self, member_id: str, instance_id: str | None, generation_or_epoch: int, *, is_transactional: bool, version: int
    ) -> PartitionCheck | None:
        """Whether this member may commit; for each partition, if a check is returned."""

    @abstractmethod
    def check_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Whether this member may see the offsets."""

    @abstractmethod
    def check_offset_delete(self) -> None:
        """Whether offsets may be deleted, of topics that the group is not subscribed to."""

    @abstractmethod
    def check_delete(self) -> None:
        """Whether the group may be deleted."""

    @abstractmethod
    def is_subscribed_to(self, topic: str) -> bool: ...

    @abstractmethod
    def expires_from_ms(self, commit_timestamp_ms: int) -> int | None:
        """Since when the retention of an offset runs that was committed at that time; None while it does not."""

    @abstractmethod
    def tombstones(self) -> list[Record]:
        """The records that delete the group, without its offsets."""

    @abstractmethod
    def timer_keys(self) -> list[object]:
        """The timers that go with the group."""
