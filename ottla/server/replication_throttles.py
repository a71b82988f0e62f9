"""The throttles of this broker's replication (KIP-73), for those who send to followers and those who fetch.

Topics say which of their replicas are throttled (`leader.` and `follower.replication.throttled.replicas`), brokers how
fast those may be together (`leader.` and `follower.replication.throttled.rate`); both may change at any time. Who is in
sync is never held up, or a throttle would drive replicas out of the ISR; what they send and fetch counts all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TYPE_CHECKING

from ottla.cluster.image import ConfigType, MetadataImage
from ottla.cluster.replication_throttle import ReplicationThrottle, throttled_indexes

if TYPE_CHECKING:
    from ottla.config.broker import BrokerConfig

LEADERS = "leader.replication.throttled.replicas"
FOLLOWERS = "follower.replication.throttled.replicas"


class Direction:
    """What is sent, or what is fetched."""

    def __init__(self, throttle: ReplicationThrottle, rate: Callable[[], int], now_ms: Callable[[], int]) -> None:
        self._throttle = throttle
        self._rate = rate
        self._now_ms = now_ms
        # By topic; most brokers have none.
        self.throttled: dict[str, Container[int]] = {}

    def is_throttled(self, topic: str, index: int) -> bool:
        indexes = self.throttled.get(topic)
        return indexes is not None and index in indexes

    def must_wait(self, topic: str, index: int) -> bool:
        """Whether a replica that is not in sync gets nothing for now."""
        return self.is_throttled(topic, index) and self._throttle.is_exceeded(self._rate(), self._now_ms())

    def record(self, size_bytes: int) -> None:
        """So much was sent or fetched for replicas that are throttled."""
        self._throttle.record(size_bytes, self._now_ms())


class ReplicationThrottles:
    def __init__(self, config: Callable[[], BrokerConfig], now_ms: Callable[[], int]) -> None:
        self._config = config
        window = (config().replication_quota_window_num, config().replication_quota_window_size_seconds * 1000)
        self.leader = Direction(
            ReplicationThrottle(*window), lambda: config().leader_replication_throttled_rate, now_ms
        )
        self.follower = Direction(
            ReplicationThrottle(*window), lambda: config().follower_replication_throttled_rate, now_ms
        )

    def configure(self, image: MetadataImage) -> None:
        """Topics say anew which of their replicas are throttled."""
        node_id = self._config().node_id
        for direction, key in ((self.leader, LEADERS), (self.follower, FOLLOWERS)):
            texts = {
                resource.name: records[key].value
                for resource, records in image.configs.items()
                if resource.type == ConfigType.TOPIC and key in records
            }
            direction.throttled = {
                topic: throttled_indexes(text, node_id) for topic, text in texts.items() if text and text.strip()
            }
