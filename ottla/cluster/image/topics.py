"""Topics by name and by id, and the working copy that records change.

`Topics` is immutable; `TopicsDelta` copies a topic the first time a record touches it and the two tables once, at the
end. Who may call: `ottla.cluster.image.delta` for changes, anybody for reading.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn

from ottla.cluster.image.partitions import Partition, partition_of
from ottla.cluster.metadata_log import MetadataLogError
from ottla.wire.primitives import uuid_text
from ottla.wire.schema import UnknownTags
from ottla.wire.stored.metadata_records import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic and its partitions by number; nobody changes the table once the topic is in an image."""

    name: str
    id: bytes
    partitions: dict[int, Partition] = field(default_factory=dict)
    unknown_tags: UnknownTags = ()


@dataclass(frozen=True, slots=True)
class Topics:
    """Both tables hold the same topics."""

    by_name: dict[str, Topic] = field(default_factory=dict)
    by_id: dict[bytes, Topic] = field(default_factory=dict)

    def partition(self, name: str, partition_id: int) -> Partition | None:
        topic = self.by_name.get(name)
        return None if topic is None else topic.partitions.get(partition_id)

    def partition_by_id(self, topic_id: bytes, partition_id: int) -> Partition | None:
        topic = self.by_id.get(topic_id)
        return None if topic is None else topic.partitions.get(partition_id)

    def all_partitions(self) -> Iterator[tuple[Topic, int, Partition]]:
        for topic in self.by_id.values():
            for partition_id, partition in topic.partitions.items():
                yield topic, partition_id, partition


class TopicsDelta:
    """What records have done to the topics of an image.

    `changed` holds topics as they are now, `removed` those of the image that are gone, `touched` the partitions of each
    changed topic that a record named.
    """

    def __init__(self, image: Topics) -> None:
        self.image = image
        self.changed: dict[bytes, Topic] = {}
        self.removed: dict[bytes, Topic] = {}
        self.touched: dict[bytes, list[int]] = {}
        self._new_names: dict[str, bytes] = {}

    def add(self, record: TopicRecord) -> None:
        known = self._by_name(record.name) or self._by_id(record.topic_id)
        if known is not None:
            new = f"{record.name} {uuid_text(record.topic_id)}"
            raise MetadataLogError(f"a second topic {new} beside {known.name} {uuid_text(known.id)}")
        self.changed[record.topic_id] = Topic(record.name, record.topic_id, {}, record.unknown_tags)
        self.touched[record.topic_id] = []
        self._new_names[record.name] = record.topic_id

    def add_partition(self, record: PartitionRecord) -> None:
        topic_id = record.topic_id
        topic = self.changed.get(topic_id) or self._working_copy(topic_id, record)
        topic.partitions[record.partition_id] = partition_of(record)
        self.touched[topic_id].append(record.partition_id)

    def change_partition(self, record: PartitionChangeRecord) -> None:
        topic_id, partition_id = record.topic_id, record.partition_id
        topic = self.changed.get(topic_id) or self._working_copy(topic_id, record)
        partition = topic.partitions.get(partition_id)
        if partition is None:
            raise MetadataLogError(f"a change of partition {partition_id} of topic {topic.name}, which has none such")
        topic.partitions[partition_id] = partition.changed(record)
        self.touched[topic_id].append(partition_id)

    def clear_elr(self, record: ClearElrRecord) -> None:
        """KIP-966: min.insync.replicas changed, of one topic or, without a name, of all."""
        if record.topic_name:
            topic = self._by_name(record.topic_name)
            if topic is None:
                raise MetadataLogError(f"a ClearElrRecord for topic {record.topic_name}, which does not exist")
            affected = [topic]
        else:
            unchanged = [topic for id, topic in self.image.by_id.items() if id not in self.changed | self.removed]
            affected = [*self.changed.values(), *unchanged]
        for topic in affected:
            self._clear_elr_of(topic, record)

    def remove(self, record: RemoveTopicRecord) -> str:
        """The name of the topic that is gone."""
        topic_id = record.topic_id
        topic = self._by_id(topic_id) or self._missing(topic_id, record)
        self.changed.pop(topic_id, None)
        self._new_names.pop(topic.name, None)
        self.touched.pop(topic_id, None)
        if topic_id in self.image.by_id:
            self.removed[topic_id] = self.image.by_id[topic_id]
        return topic.name

    def apply(self) -> Topics:
        if not self.changed and not self.removed:
            return self.image
        by_name, by_id = self.image.by_name.copy(), self.image.by_id.copy()
        for topic in self.removed.values():
            del by_id[topic.id], by_name[topic.name]
        for topic in self.changed.values():
            by_id[topic.id] = by_name[topic.name] = topic
        return Topics(by_name, by_id)

    def _clear_elr_of(self, topic: Topic, record: ClearElrRecord) -> None:
        for partition_id, partition in list(topic.partitions.items()):
            cleared = partition.without_elr()
            if cleared is not partition:
                working = self.changed.get(topic.id) or self._working_copy(topic.id, record)
                working.partitions[partition_id] = cleared
                self.touched[topic.id].append(partition_id)

    def _by_name(self, name: str) -> Topic | None:
        if name in self._new_names:
            return self.changed[self._new_names[name]]
        topic = self.image.by_name.get(name)
        if topic is None or topic.id in self.removed:
            return None
        return self.changed.get(topic.id, topic)

    def _working_copy(self, topic_id: bytes, record: object) -> Topic:
        topic = self._by_id(topic_id) or self._missing(topic_id, record)
        copy = self.changed[topic_id] = Topic(topic.name, topic_id, topic.partitions.copy(), topic.unknown_tags)
        self.touched[topic_id] = []
        return copy

    def _by_id(self, topic_id: bytes) -> Topic | None:
        of_image = None if topic_id in self.removed else self.image.by_id.get(topic_id)
        return self.changed.get(topic_id, of_image)

    def _missing(self, topic_id: bytes, record: object) -> NoReturn:
        raise MetadataLogError(f"a {type(record).__name__} for topic {uuid_text(topic_id)}, which does not exist")
