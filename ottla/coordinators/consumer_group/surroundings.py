"""What the consumer groups of a shard have around them: its state, the hashes of topics, what is set for one group."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ottla.coordinators.assignors import ASSIGNORS
from ottla.coordinators.settings import GroupSettings
from ottla.coordinators.state import ShardState
from ottla.coordinators.topic_hash import group_hash, topic_hash
from ottla.coordinators.topics_view import TopicInfo


class ConsumerTimes(NamedTuple):
    """What may be set for one group."""

    session_timeout_ms: int
    heartbeat_interval_ms: int
    assignment_interval_ms: int


class KnownSet(NamedTuple):
    """What a set of names comes to: the ids of those topics that exist, and their hash."""

    ids: frozenset[bytes]
    metadata_hash: int


TimesOf = Callable[[str], ConsumerTimes]
# So many sets of names are remembered with what they come to. Most groups want the same few.
KNOWN_SETS_MAX = 100


class Surroundings:
    """`new_topics_version` is the version of the metadata in which topics last came; expressions look at it."""

    def __init__(self, state: ShardState, times_of: TimesOf | None = None) -> None:
        self.state = state
        self.times_of = times_of or (lambda group_id: default_times(state.settings))
        self.new_topics_version = state.topics.version
        self._hashes: dict[str, int] = {}
        self._sets: dict[frozenset[str], KnownSet] = {}

    def metadata_hash(self, topic_names: Iterable[str]) -> int:
        """The hash of those topics that exist."""
        names = frozenset(topic_names)
        return (self._sets.get(names) or self._look_up(names)).metadata_hash

    def topic_ids(self, topic_names: frozenset[str]) -> frozenset[bytes]:
        """The ids of those topics that exist."""
        return (self._sets.get(topic_names) or self._look_up(topic_names)).ids

    def _look_up(self, topic_names: frozenset[str]) -> KnownSet:
        if len(self._sets) >= KNOWN_SETS_MAX:
            self._sets.clear()
        found = [topic for name in topic_names if (topic := self.state.topics.by_name(name)) is not None]
        for topic in found:
            if topic.name not in self._hashes:
                self._hashes[topic.name] = _hash_of(topic)
        known = self._sets[topic_names] = KnownSet(
            frozenset(topic.id for topic in found),
            group_hash({topic.name: self._hashes[topic.name] for topic in found}),
        )
        return known

    def forget_topics(self) -> None:
        """Topics are others than they were."""
        self._hashes.clear()
        self._sets.clear()


# Kafka takes its own assignors by the names of their classes too.
_CLASS_NAMES = {
    "org.apache.kafka.coordinator.group.assignor.UniformAssignor": "uniform",
    "org.apache.kafka.coordinator.group.assignor.RangeAssignor": "range",
}


def offered_assignors(settings: GroupSettings) -> tuple[str, ...]:
    """The assignors that are configured, as far as they are here; all of them if none of those is."""
    named = (_CLASS_NAMES.get(name, name) for name in settings.consumer_assignors)
    return tuple(dict.fromkeys(name for name in named if name in ASSIGNORS)) or tuple(ASSIGNORS)


def default_times(settings: GroupSettings) -> ConsumerTimes:
    return ConsumerTimes(
        settings.consumer_session_timeout_ms,
        settings.consumer_heartbeat_interval_ms,
        settings.consumer_assignment_interval_ms,
    )


def _hash_of(topic: TopicInfo) -> int:
    return topic_hash(topic.id, topic.name, topic.racks or ((),) * topic.partition_count)
