"""What coordinators know of topics: names, ids, how many partitions. The driver shows its metadata in this form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol


class TopicInfo(NamedTuple):
    """`racks` are those of each partition's replicas, by partition; empty where no broker has one."""

    name: str
    id: bytes
    partition_count: int
    racks: tuple[tuple[str, ...], ...] = ()


class TopicsView(Protocol):
    """`version` grows with every change: the offset in the metadata log up to which this is known."""

    @property
    def version(self) -> int: ...

    def by_name(self, name: str) -> TopicInfo | None: ...

    def by_id(self, topic_id: bytes) -> TopicInfo | None: ...

    def names(self) -> Iterable[str]: ...


class FixedTopics:
    """Topics from a table that nobody changes."""

    def __init__(self, topics: Iterable[TopicInfo] = (), version: int = 0) -> None:
        self.version = version
        self._by_name: Mapping[str, TopicInfo] = {topic.name: topic for topic in topics}
        self._by_id: Mapping[bytes, TopicInfo] = {topic.id: topic for topic in self._by_name.values()}

    def by_name(self, name: str) -> TopicInfo | None:
        return self._by_name.get(name)

    def by_id(self, topic_id: bytes) -> TopicInfo | None:
        return self._by_id.get(topic_id)

    def names(self) -> Iterable[str]:
        return self._by_name
