"""A Fetch of a follower, as its leader sees it: what the follower has, what it may have, and what it does not know yet.

Its offset says what it has, and moves the high watermark. One that is throttled and not in sync is given nothing while
the rate is exceeded (KIP-73); what all throttled ones are given counts. Where consumers are sent to followers, as
KIP-392 has it, a follower is told at once when the high watermark has moved: its readers wait for that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.server.partition import Partition
from ottla.wire.messages.fetch import FetchRequest

if TYPE_CHECKING:
    from ottla.cluster.in_sync_replicas import Follower
    from ottla.server.broker import Broker


class FollowersFetch:
    __slots__ = ("_broker", "_broker_epoch", "_news", "_throttled_bytes", "is_told_promptly", "replica_id")

    def __init__(self, broker: Broker, replica_id: int, broker_epoch: int) -> None:
        self._broker = broker
        self.replica_id = replica_id
        self._broker_epoch = broker_epoch
        self.is_told_promptly = broker.config.replica_selector_class is not None
        self._news: list[tuple[Follower, int]] = []
        self._throttled_bytes = 0

    def begin(self) -> None:
        """What was read before is read anew."""
        self._news = []
        self._throttled_bytes = 0

    def note(self, asked: FetchRequest.FetchPartition, partition: Partition) -> None:
        """The follower has all that is before the offset it asks for."""
        self._broker.in_sync.fetched(
            partition,
            self.replica_id,
            asked.fetch_offset,
            self._broker_epoch,
            start_offset=asked.log_start_offset,
            knows_epoch=asked.current_leader_epoch >= 0,
        )

    def is_held_up(self, partition: Partition, size_bytes: int, high_watermark: int) -> bool:
        """Whether a throttle keeps from it what was read; otherwise that counts, with what it is told along with it."""
        in_sync = partition.in_sync
        if in_sync is None:
            return False
        throttle = self._broker.throttles.leader
        if throttle.is_throttled(partition.topic, partition.index):
            if self.replica_id not in in_sync.isr and throttle.must_wait(partition.topic, partition.index):
                return True
            self._throttled_bytes += size_bytes
        if self.is_told_promptly:
            follower = in_sync.followers.get(self.replica_id)
            if follower is not None and follower.told_high_watermark < high_watermark:
                self._news.append((follower, high_watermark))
        return False

    @property
    def has_news(self) -> bool:
        """Whether a high watermark has moved that readers of the follower wait for."""
        return bool(self._news)

    def answered(self) -> None:
        """What was read last is sent."""
        for follower, high_watermark in self._news:
            follower.told_high_watermark = high_watermark
        if self._throttled_bytes:
            self._broker.throttles.leader.record(self._throttled_bytes)
