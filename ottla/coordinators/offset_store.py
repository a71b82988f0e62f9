"""The offsets that groups have committed, and those that open transactions will commit or drop.

`replay` and `replay_marker` are the only writers, while loading and while running. A transaction's offset counts from
where its record stands in the log, not from where the marker stands: else compaction could bring an older one back.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from ottla.wire.primitives import ZERO_UUID
from ottla.wire.records import NO_PRODUCER_ID
from ottla.wire.stored.classic_group_records import (
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)

NO_TIMESTAMP = -1

TopicPartition: TypeAlias = tuple[str, int]


class CommittedOffset(NamedTuple):
    """`expire_timestamp_ms` is None unless an old client asked for a retention of its own."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int | None = None
    topic_id: bytes = ZERO_UUID
    record_offset: int = -1


class OffsetStore:
    def __init__(self) -> None:
        self._committed: dict[str, dict[TopicPartition, CommittedOffset]] = {}
        # By producer, then by group. No empty table is kept in either.
        self._pending: dict[int, dict[str, dict[TopicPartition, CommittedOffset]]] = {}
        self._producers: dict[str, dict[int, None]] = {}

    def of_group(self, group_id: str) -> dict[TopicPartition, CommittedOffset]:
        """The group's committed offsets. Not to be changed."""
        return self._committed.get(group_id, {})

    def groups(self) -> list[str]:
        """Every group that has offsets, committed or pending."""
        return list(dict.fromkeys((*self._committed, *self._producers)))

    def has_open_transaction(self, group_id: str) -> bool:
        return group_id in self._producers

    def is_pending(self, group_id: str, key: TopicPartition) -> bool:
        """Whether an open transaction has an offset for the partition."""
        return any(key in self._pending[producer_id][group_id] for producer_id in self._producers.get(group_id, ()))

    def known(self, group_id: str) -> list[tuple[TopicPartition, CommittedOffset]]:
        """The group's offsets, committed first, then pending; a partition may be there more than once."""
        found = list(self._committed.get(group_id, {}).items())
        for producer_id in self._producers.get(group_id, ()):
            found.extend(self._pending[producer_id][group_id].items())
        return found

    # What the log says

    def replay(
        self,
        key: OffsetCommitKey | LegacyOffsetCommitKey,
        value: OffsetCommitValue | LegacyOffsetCommitValue | None,
        offset: int,
        producer_id: int,
    ) -> None:
        partition = (key.topic, key.partition)
        if value is None:
            self._forget(key.group, partition)
        elif producer_id == NO_PRODUCER_ID:
            self._committed.setdefault(key.group, {})[partition] = committed_offset(value, offset)
        else:
            of_producer = self._pending.setdefault(producer_id, {})
            of_producer.setdefault(key.group, {})[partition] = committed_offset(value, offset)
            self._producers.setdefault(key.group, {})[producer_id] = None

    def replay_marker(self, producer_id: int, *, is_commit: bool) -> None:
        """The producer's transaction has ended."""
        for group_id, offsets in self._pending.pop(producer_id, {}).items():
            self._close(group_id, producer_id)
            if not is_commit:
                continue
            committed = self._committed.setdefault(group_id, {})
            for partition, pending in offsets.items():
                known = committed.get(partition)
                if known is None or pending.record_offset > known.record_offset:
                    committed[partition] = pending

    def _forget(self, group_id: str, partition: TopicPartition) -> None:
        committed = self._committed.get(group_id, {})
        committed.pop(partition, None)
        if not committed:
            self._committed.pop(group_id, None)
        for producer_id in list(self._producers.get(group_id, ())):
            of_producer = self._pending[producer_id]
            of_producer[group_id].pop(partition, None)
            if not of_producer[group_id]:
                del of_producer[group_id]
                self._close(group_id, producer_id)
                if not of_producer:
                    del self._pending[producer_id]

    def _close(self, group_id: str, producer_id: int) -> None:
        producers = self._producers[group_id]
        del producers[producer_id]
        if not producers:
            del self._producers[group_id]


def committed_offset(value: OffsetCommitValue | LegacyOffsetCommitValue, record_offset: int) -> CommittedOffset:
    if isinstance(value, LegacyOffsetCommitValue):
        return CommittedOffset(value.offset, -1, value.metadata, value.commit_timestamp, record_offset=record_offset)
    return CommittedOffset(
        value.offset,
        value.leader_epoch,
        value.metadata,
        value.commit_timestamp,
        None if value.expire_timestamp == NO_TIMESTAMP else value.expire_timestamp,
        value.topic_id,
        record_offset,
    )
