"""What a change of a partition entails: who leads, whose word counts if nobody does, which epochs rise.

Fill in the targets, then build: the result is the record that takes the partition there, or None if it is there. The
order of the steps matters, and is Kafka's: a reassignment that can be completed is; then the ELR is worked out from the
ISR that will be; then a leader is elected; then whatever differs goes into the record.

A leader comes from the ISR; if that is empty, from the ELR, whose members hold everything that was committed while the
ISR was smaller than min.insync.replicas (KIP-966); if that is empty too, it may be the last leader there was, and that
is an unclean election; only where the topic allows it any replica will do.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from ottla.cluster.features import DIRECTORY_ASSIGNMENT_SINCE, NO_EPOCH_BUMP_ON_ISR_SHRINK_SINCE
from ottla.cluster.image import NO_LEADER, Partition
from ottla.cluster.image.partitions import NO_LEADER_CHANGE, RECOVERING, RECOVERY_UNCHANGED
from ottla.wire.stored.metadata_records import PartitionChangeRecord


class Election(Enum):
    """What is tried when a leader is sought."""

    ONLINE = "keep the leader, else one that holds all committed records"
    PREFERRED = "the first replica if it can, else as ONLINE"
    UNCLEAN = "as ONLINE, else any replica that is there: records may be lost"


class PartitionChange:
    """Targets start as what is. `default_log_dir` says where a replica goes that a broker did not have before."""

    def __init__(
        self,
        partition: Partition,
        topic_id: bytes,
        partition_id: int,
        *,
        is_acceptable_leader: Callable[[int], bool],
        default_log_dir: Callable[[int], bytes],
        metadata_version: int,
        min_insync_replicas: int,
        elr_enabled: bool,
    ) -> None:
        self.partition = partition
        self.isr = list(partition.isr)
        self.replicas = list(partition.replicas)
        self.removing = list(partition.removing_replicas)
        self.adding = list(partition.adding_replicas)
        self.directories = dict(zip(partition.replicas, partition.directories, strict=True))
        self.leader_recovery_state = partition.leader_recovery_state
        self.election = Election.ONLINE
        self.unclean_shutdown_replica = NO_LEADER
        self._elr = list(partition.elr)
        self._is_acceptable_leader = is_acceptable_leader
        self._default_log_dir = default_log_dir
        self._metadata_version = metadata_version
        self._min_insync_replicas = min_insync_replicas
        self._elr_enabled = elr_enabled
        self._record = PartitionChangeRecord(topic_id=topic_id, partition_id=partition_id)

    def build(self) -> PartitionChangeRecord | None:
        self._complete_reassignment()
        self._work_out_elr()
        self._elect()
        self._raise_leader_epoch_for_reassignment()
        self._record_elr()
        self._record_isr()
        self._remember_last_leader()
        self._record_assignment()
        if self.leader_recovery_state != self.partition.leader_recovery_state:
            self._record.leader_recovery_state = self.leader_recovery_state
        return self._record if _says_something(self._record) else None

    def _complete_reassignment(self) -> None:
        """Once every replica that comes is in sync, those that go may go.

        Where there will be fewer replicas than before, all that stay have to be in sync: nobody comes in their place.
        """
        if not self.removing and not self.adding:
            return
        isr = [replica for replica in self.isr if replica not in self.removing]
        replicas = [replica for replica in self.replicas if replica not in self.removing]
        awaited = replicas if len(self.adding) < len(self.removing) else self.adding
        if not isr or not set(awaited) <= set(isr):
            return
        self.isr, self.replicas, self.removing, self.adding = isr, replicas, [], []

    def _work_out_elr(self) -> None:
        """Who leaves the ISR while it is too small to commit anything stays eligible.

        Not if it lost its page cache, and not if it is no replica any longer.
        """
        if not self._elr_enabled:
            return
        if len(self.isr) >= self._min_insync_replicas:
            self._elr = []
            return
        candidates = {*self._elr, *self.partition.isr} - {*self.isr, self.unclean_shutdown_replica}
        self._elr = sorted(candidates & set(self.replicas))

    def _elect(self) -> None:
        leader, unclean = self._elected()
        if leader == self.partition.leader:
            return
        if leader in self._elr:
            self.isr = [leader]
            self._elr.remove(leader)
        self._record.leader = leader
        if unclean:
            self._record.isr = [leader]
            if self.partition.leader_recovery_state != RECOVERING:
                self._record.leader_recovery_state = RECOVERING

    def _elected(self) -> tuple[int, bool]:
        """The leader, and whether the election was unclean."""
        order = [self.partition.leader, *self.replicas]
        if self.election is Election.PREFERRED:
            order = [self.replicas[0], *order]
        for replica in order:
            if self._is_valid_leader(replica):
                return replica, False
        if self._last_leader_may_lead():
            return self.partition.last_known_elr[0], True
        if self.election is Election.UNCLEAN:
            return next(((replica, True) for replica in self.replicas if self._is_acceptable_leader(replica)), _NOBODY)
        return _NOBODY

    def _is_valid_leader(self, replica: int) -> bool:
        eligible = replica in self.isr if self.isr else replica in self._elr
        return eligible and self._is_acceptable_leader(replica)

    def _last_leader_may_lead(self) -> bool:
        last = self.partition.last_known_elr
        if not self._elr_enabled or self.isr or self._elr or len(last) != 1:
            return False
        return self._is_acceptable_leader(last[0])

    def _raise_leader_epoch_for_reassignment(self) -> None:
        """A replica that is dropped must learn that it has no part in this any longer."""
        leader_changes = self._record.leader != NO_LEADER_CHANGE
        if not leader_changes and not set(self.partition.replicas) <= set(self.replicas):
            self._record.leader = self.partition.leader

    def _record_elr(self) -> None:
        was_unclean = self._record.isr is not None
        if was_unclean or not self._elr_enabled:
            self._elr = []
        if tuple(self._elr) != self.partition.elr:
            self._record.eligible_leader_replicas = self._elr

    def _record_isr(self) -> None:
        # Without an ELR the last ISR is kept when it becomes empty: it says who may lead again.
        if self._record.isr is None and (self.isr or self._elr_enabled) and tuple(self.isr) != self.partition.isr:
            self._record.isr = self.isr
        shrinks = self._record.isr is not None and not set(self.partition.isr) <= set(self._record.isr)
        # Brokers of before 3.6 overlook an ISR that shrinks unless the leader epoch rises (KAFKA-15021).
        is_overlooked = self._metadata_version < NO_EPOCH_BUMP_ON_ISR_SHRINK_SINCE
        if shrinks and is_overlooked and self._record.leader == NO_LEADER_CHANGE:
            self._record.leader = self.partition.leader

    def _remember_last_leader(self) -> None:
        """The last leader is kept in the field of the last known ELR, while there is no leader."""
        if not self._elr_enabled:
            return
        if self._record.leader == NO_LEADER and not self.partition.last_known_elr:
            self._record.last_known_elr = [self.partition.leader]
        elif self._record.leader >= 0 and self.partition.last_known_elr:
            self._record.last_known_elr = []

    def _record_assignment(self) -> None:
        if self._metadata_version >= DIRECTORY_ASSIGNMENT_SINCE:
            directories = [
                self.directories[replica] if replica in self.directories else self._default_log_dir(replica)
                for replica in self.replicas
            ]
            if tuple(directories) != self.partition.directories:
                self._record.directories = directories
        if tuple(self.replicas) != self.partition.replicas:
            self._record.replicas = self.replicas
        if tuple(self.removing) != self.partition.removing_replicas:
            self._record.removing_replicas = self.removing
        if tuple(self.adding) != self.partition.adding_replicas:
            self._record.adding_replicas = self.adding


_NOBODY = (NO_LEADER, False)


def _says_something(record: PartitionChangeRecord) -> bool:
    lists = (
        record.isr,
        record.eligible_leader_replicas,
        record.last_known_elr,
        record.replicas,
        record.removing_replicas,
        record.adding_replicas,
        record.directories,
    )
    moved = record.leader != NO_LEADER_CHANGE or record.leader_recovery_state != RECOVERY_UNCHANGED
    return moved or any(field is not None for field in lists)
