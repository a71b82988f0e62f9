"""Which partitions a broker leads, keeps up with, might lead; which have no leader, move, or lie in a directory.

Derived from the image and from nothing else, and moved along by what each change touched. The sets are dicts without
values: they keep the order of insertion, so that the same history gives the same records on every run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ottla.cluster.image import NO_LEADER, Change, MetadataImage, Partition, Topic
from ottla.cluster.image.directory_ids import is_reserved

PartitionKey = tuple[bytes, int]
Keys = dict[PartitionKey, None]


class PartitionIndex:
    """`led_by[NO_LEADER]` are the partitions without a leader; use the methods to ask."""

    def __init__(self, image: MetadataImage) -> None:
        self._led_by: dict[int, Keys] = {}
        self._in_isr: dict[int, Keys] = {}
        self._in_elr: dict[int, Keys] = {}
        self._in_directory: dict[bytes, Keys] = {}
        self._colliding: dict[str, dict[str, None]] = {}
        self.reassigning: Keys = {}
        self.without_preferred_leader: Keys = {}
        for topic in image.topics.by_id.values():
            self._add_topic(topic)

    def led_by(self, broker_id: int) -> list[PartitionKey]:
        return list(self._led_by.get(broker_id, ()))

    def leads(self, broker_id: int) -> bool:
        return broker_id in self._led_by

    def leaderless(self) -> list[PartitionKey]:
        return self.led_by(NO_LEADER)

    def in_isr(self, broker_id: int) -> list[PartitionKey]:
        return list(self._in_isr.get(broker_id, ()))

    def in_elr(self, broker_id: int) -> list[PartitionKey]:
        return list(self._in_elr.get(broker_id, ()))

    def in_directory(self, directory_id: bytes) -> list[PartitionKey]:
        return list(self._in_directory.get(directory_id, ()))

    def colliding_with(self, name: str) -> str | None:
        """A topic that metrics could not tell from one of that name, since they write `.` as `_` (KAFKA-13743)."""
        return next(iter(self._colliding.get(metric_name(name), ())), None)

    def replayed(self, change: Change) -> None:
        """Move along with an image that changed."""
        before, delta = change.delta.image.topics.by_id, change.delta.topics
        for topic in delta.removed.values():
            _discard(self._colliding, metric_name(topic.name), topic.name)
            for partition_id, partition in topic.partitions.items():
                self._remove((topic.id, partition_id), partition)
        for topic in delta.changed.values():
            old = None if topic.id in delta.removed else before.get(topic.id)
            if old is None:
                self._add_topic(topic)
                continue
            for partition_id in dict.fromkeys(delta.touched[topic.id]):
                if partition_id in old.partitions:
                    self._remove((topic.id, partition_id), old.partitions[partition_id])
                self._add((topic.id, partition_id), topic.partitions[partition_id])

    def _add_topic(self, topic: Topic) -> None:
        if has_collision_characters(topic.name):
            self._colliding.setdefault(metric_name(topic.name), {})[topic.name] = None
        for partition_id, partition in topic.partitions.items():
            self._add((topic.id, partition_id), partition)

    def _add(self, key: PartitionKey, partition: Partition) -> None:
        for table, owners in self._owners(partition):
            for owner in owners:
                table.setdefault(owner, {})[key] = None
        if partition.is_reassigning:
            self.reassigning[key] = None
        if not partition.has_preferred_leader:
            self.without_preferred_leader[key] = None

    def _remove(self, key: PartitionKey, partition: Partition) -> None:
        for table, owners in self._owners(partition):
            for owner in owners:
                _discard(table, owner, key)
        self.reassigning.pop(key, None)
        self.without_preferred_leader.pop(key, None)

    def _owners(self, partition: Partition) -> Iterable[tuple[dict[Any, Keys], Iterable[Any]]]:
        yield self._led_by, (partition.leader,)
        yield self._in_isr, partition.isr
        yield self._in_elr, partition.elr
        yield self._in_directory, [directory for directory in partition.directories if not is_reserved(directory)]


def _discard(table: dict[Any, dict[Any, None]], owner: Any, item: Any) -> None:
    """Empty sets go: `owner in table` means that it has something."""
    held = table.get(owner)
    if held is not None:
        held.pop(item, None)
        if not held:
            del table[owner]


def has_collision_characters(name: str) -> bool:
    return "." in name or "_" in name


def metric_name(name: str) -> str:
    return name.replace(".", "_")
