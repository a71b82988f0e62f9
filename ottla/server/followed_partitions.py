"""Replicas that are led elsewhere, as consumers read them here (KIP-392): up to the high watermark that is known here.

One is known from the first consumer that asks for it on. It is good for one log and one epoch of its leader; when the
image says something else, those who wait are told, and find out the rest. Nothing is decided here: who leads, and what
is committed, a follower hears from others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.server.partition import Watcher, tell_moved
from ottla.storage.log import Log
from ottla.storage.offset_checkpoint import TopicPartition
from ottla.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from ottla.server.broker import Broker
    from ottla.server.metrics import TopicTraffic

# What has come is not counted here: whoever waits looks for himself.
UNCOUNTED_BYTES = 1 << 62


class FollowedPartition:
    __slots__ = ("_watchers", "index", "leader_epoch", "log", "topic", "traffic")

    def __init__(self, topic: str, index: int, log: Log, leader_epoch: int, traffic: TopicTraffic) -> None:
        self.topic = topic
        self.index = index
        self.log = log
        self.leader_epoch = leader_epoch
        self.traffic = traffic
        self._watchers: dict[Watcher, None] = {}

    def __repr__(self) -> str:
        return f"{self.topic}-{self.index}"

    def watch(self, watcher: Watcher) -> None:
        self._watchers[watcher] = None

    def forget(self, watcher: Watcher) -> None:
        self._watchers.pop(watcher, None)

    def moved(self) -> None:
        """The high watermark has."""
        tell_moved(self._watchers, self, UNCOUNTED_BYTES)

    def dismiss_watchers(self) -> None:
        watchers, self._watchers = self._watchers, {}
        for watcher in watchers:
            watcher.gone()


class FollowedPartitions:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._known: dict[TopicPartition, FollowedPartition] = {}

    def find(self, topic: str, index: int) -> FollowedPartition | None:
        """The replica, if one is here that is led elsewhere or by nobody."""
        key, broker = (topic, index), self._broker
        placed, directory = broker.image.topics.partition(topic, index), broker.directories.directory_of(key)
        node_id = broker.config.node_id
        if placed is None or directory is None or node_id not in placed.replicas or placed.leader == node_id:
            return None
        if directory.offline is not None:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{topic}-{index} is in a log directory that has failed")
        hosted = directory.hosted[key]
        known = self._known.get(key)
        if known is None or known.log is not hosted.log or known.leader_epoch != placed.leader_epoch:
            self.forget(key)
            known = self._known[key] = FollowedPartition(
                topic, index, hosted.log, placed.leader_epoch, broker.metrics.topic(topic)
            )
        return known

    def moved(self, key: TopicPartition) -> None:
        """A replica here has heard of a new high watermark."""
        known = self._known.get(key)
        if known is not None:
            known.moved()

    def follow(self, key: TopicPartition, leader_epoch: int) -> None:
        """The image names a leader: what was known of a replica in another epoch is over."""
        known = self._known.get(key)
        if known is not None and known.leader_epoch != leader_epoch:
            self.forget(key)

    def forget(self, key: TopicPartition) -> None:
        """The replica is gone, or is led here."""
        known = self._known.pop(key, None)
        if known is None:
            return
        if not any(topic == key[0] for topic, _ in self._known):
            self._broker.forget_traffic(key[0])
        known.dismiss_watchers()
        self._broker.send_answers()
