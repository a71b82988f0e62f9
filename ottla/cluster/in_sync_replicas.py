"""What the leader of a partition knows of its followers, and what follows: the high watermark, and who is in sync.

Pure: fetches and the time in, offsets and proposals out. A proposal (AlterPartition) counts for the high watermark from
the moment it is made, if it adds somebody: the controller may have taken it before we hear. It counts against nobody
before the controller has said so.

The rules, which are Kafka's. The high watermark is the lowest end among the replicas in sync, those that are proposed,
and those that have caught up and may join: or it would pass a record that a replica about to be in sync does not have.
It stands still below `min.insync.replicas` (KIP-966). A follower joins when it has all that is committed and has begun
to read in this leader's epoch; it leaves when it has not caught up for `replica.lag.time.max.ms`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

UNKNOWN = -1


class Follower:
    """Another replica, as its fetches show it."""

    __slots__ = (
        "broker_epoch",
        "caught_up_ms",
        "end_offset",
        "fetched_ms",
        "leaders_end_then",
        "start_offset",
        "told_high_watermark",
    )

    def __init__(self, caught_up_ms: int) -> None:
        self.start_offset = self.end_offset = UNKNOWN
        self.told_high_watermark = UNKNOWN
        self.broker_epoch = UNKNOWN
        # When it last had all that there was; when it last fetched, and what there was then.
        self.caught_up_ms = caught_up_ms
        self.fetched_ms = 0
        self.leaders_end_then = UNKNOWN


class Proposal(NamedTuple):
    """Who is to be in sync, with the epoch by which each is known (KIP-903)."""

    isr: tuple[int, ...]
    broker_epochs: tuple[int, ...]
    partition_epoch: int


class InSyncReplicas:
    """Of one partition, in one epoch of this leader."""

    def __init__(
        self,
        node_id: int,
        replicas: Sequence[int],
        isr: Sequence[int],
        partition_epoch: int,
        *,
        epoch_start_offset: int,
        now_ms: int,
    ) -> None:
        """`epoch_start_offset` is where the log ended when the leader was elected."""
        self.node_id = node_id
        self.isr = tuple(isr)
        self.partition_epoch = partition_epoch
        self.proposed: Proposal | None = None
        self.followers = {id: Follower(now_ms if id in isr else UNKNOWN) for id in replicas if id != node_id}
        self._epoch_start_offset = epoch_start_offset

    # What happens

    def changed(self, replicas: Sequence[int], isr: Sequence[int], partition_epoch: int) -> None:
        """The cluster has decided, by our proposal or by itself. What is older than what we know is no news."""
        for id in replicas:
            if id != self.node_id and id not in self.followers:
                self.followers[id] = Follower(UNKNOWN)
        for id in [id for id in self.followers if id not in replicas]:
            del self.followers[id]
        if partition_epoch > self.partition_epoch:
            self._forget_progress(set(self.isr) - set(isr))
            self.isr = tuple(isr)
            self.partition_epoch = partition_epoch
            self.proposed = None

    def _forget_progress(self, ids: Iterable[int]) -> None:
        """Who was taken out of the ISR may have lost its disk: only a Fetch shows that it is still there."""
        for id in ids:
            if id in self.followers:
                self.followers[id].end_offset = self.followers[id].caught_up_ms = UNKNOWN

    def fetched(
        self, id: int, offset: int, leaders_end: int, broker_epoch: int, now_ms: int, start_offset: int = UNKNOWN
    ) -> bool:
        """A follower reads from here: all before is in its log. False if it is none of this partition's."""
        follower = self.followers.get(id)
        if follower is None:
            return False
        if offset >= leaders_end:
            follower.caught_up_ms = max(follower.caught_up_ms, now_ms)
        elif offset >= follower.leaders_end_then >= 0:
            follower.caught_up_ms = max(follower.caught_up_ms, follower.fetched_ms)
        follower.start_offset, follower.end_offset = start_offset, offset
        follower.broker_epoch = broker_epoch
        follower.fetched_ms = now_ms
        follower.leaders_end_then = leaders_end
        return True

    # What follows

    @property
    def counted(self) -> set[int]:
        """Those in sync, and those whom we have proposed: the controller may have agreed."""
        return set(self.isr) if self.proposed is None else {*self.isr, *self.proposed.isr}

    def is_under_min_isr(self, min_isr: int) -> bool:
        return len(self.isr) < min(min_isr, len(self.followers) + 1)

    def committed_end(self, leaders_end: int, active: Iterable[int], *, min_isr: int, lag_ms: int, now_ms: int) -> int:
        """Up to where everybody who counts has the records; UNKNOWN while that cannot be said.

        `active` are the brokers that the cluster counts on.
        """
        if self.is_under_min_isr(min_isr):
            return UNKNOWN
        counted, active = self.counted, set(active)
        end = leaders_end
        for id, follower in self.followers.items():
            may_join = id in active and follower.caught_up_ms >= 0 and now_ms - follower.caught_up_ms <= lag_ms
            if id in counted or may_join:
                end = min(end, follower.end_offset)
        return end

    def propose(
        self, leaders_end: int, high_watermark: int, active: dict[int, int], *, lag_ms: int, now_ms: int
    ) -> Proposal | None:
        """Another ISR than the cluster knows, if there is one to be wanted and none is under way.

        `active` has the epochs of the brokers that the cluster counts on.
        """
        if self.proposed is not None:
            return None
        wanted = [id for id in self.isr if id == self.node_id or not self._lags(id, leaders_end, lag_ms, now_ms)]
        wanted += [id for id in self.followers if id not in self.isr and self._may_join(id, high_watermark, active)]
        if len(wanted) == len(self.isr) and set(wanted) == set(self.isr):
            return None
        epochs = tuple(self._broker_epoch(id, active) for id in wanted)
        self.proposed = Proposal(tuple(wanted), epochs, self.partition_epoch)
        return self.proposed

    def _lags(self, id: int, leaders_end: int, lag_ms: int, now_ms: int) -> bool:
        follower = self.followers.get(id)
        if follower is None:
            return True
        return follower.end_offset != leaders_end and now_ms - follower.caught_up_ms > lag_ms

    def _may_join(self, id: int, high_watermark: int, active: dict[int, int]) -> bool:
        follower = self.followers[id]
        if id not in active or follower.broker_epoch not in (UNKNOWN, active[id]):
            return False
        return follower.end_offset >= max(high_watermark, self._epoch_start_offset)

    def _broker_epoch(self, id: int, active: dict[int, int]) -> int:
        if id == self.node_id:
            return active.get(id, UNKNOWN)
        return self.followers[id].broker_epoch if id in self.followers else UNKNOWN

    def accepted(self, proposal: Proposal, isr: Sequence[int], partition_epoch: int) -> None:
        """The controller has answered a proposal with what holds now."""
        if self.proposed is proposal:
            self.proposed = None
        if partition_epoch > self.partition_epoch:
            self.isr, self.partition_epoch = tuple(isr), partition_epoch

    def refused(self, proposal: Proposal) -> None:
        """The controller did not take a proposal."""
        if self.proposed is proposal:
            self.proposed = None
