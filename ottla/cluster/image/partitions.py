"""One partition as the cluster sees it: replicas, leader, epochs, and how a change record makes the next state.

Immutable. Built from a PartitionRecord, moved by PartitionChangeRecords, written back as a PartitionRecord. Whether a
change is allowed is the controller's business, not asked here.
"""

from __future__ import annotations

from typing import NamedTuple

from ottla.cluster.features import DIRECTORY_ASSIGNMENT_SINCE, ELIGIBLE_LEADER_REPLICAS_SINCE, METADATA_VERSION_MAX
from ottla.cluster.image.directory_ids import MIGRATING
from ottla.cluster.metadata_log import MetadataLogError
from ottla.wire.primitives import uuid_text
from ottla.wire.schema import UnknownTags
from ottla.wire.stored.metadata_records import PartitionChangeRecord, PartitionRecord

NO_LEADER = -1
NO_LEADER_CHANGE = -2

# Values of leader_recovery_state (KIP-704).
RECOVERED = 0
RECOVERING = 1
RECOVERY_UNCHANGED = -1


class Partition(NamedTuple):
    """`directories` runs beside `replicas`. The leader epoch rises with every leader change, and the partition epoch
    with every change at all."""

    replicas: tuple[int, ...]
    directories: tuple[bytes, ...]
    isr: tuple[int, ...]
    removing_replicas: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    leader: int = NO_LEADER
    leader_recovery_state: int = RECOVERED
    leader_epoch: int = 0
    partition_epoch: int = 0
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    unknown_tags: UnknownTags = ()

    @property
    def is_reassigning(self) -> bool:
        return bool(self.removing_replicas or self.adding_replicas)

    @property
    def preferred_leader(self) -> int:
        return self.replicas[0] if self.replicas else NO_LEADER

    @property
    def has_preferred_leader(self) -> bool:
        return self.leader == self.preferred_leader

    def directory(self, replica: int) -> bytes | None:
        """Where a broker keeps its replica; None if it has none."""
        return self.directories[self.replicas.index(replica)] if replica in self.replicas else None

    def changed(self, change: PartitionChangeRecord) -> Partition:
        """The state after the change. A record that names the leader raises the leader epoch, even by the same name."""
        replicas = self.replicas if change.replicas is None else tuple(change.replicas)
        directories = self.directories if change.directories is None else tuple(change.directories)
        leads_anew = change.leader != NO_LEADER_CHANGE
        recovery_unchanged = change.leader_recovery_state == RECOVERY_UNCHANGED
        return Partition(
            replicas,
            _directories(change, directories, len(replicas)),
            self.isr if change.isr is None else tuple(change.isr),
            self.removing_replicas if change.removing_replicas is None else tuple(change.removing_replicas),
            self.adding_replicas if change.adding_replicas is None else tuple(change.adding_replicas),
            change.leader if leads_anew else self.leader,
            self.leader_recovery_state if recovery_unchanged else change.leader_recovery_state,
            self.leader_epoch + leads_anew,
            self.partition_epoch + 1,
            self.elr if change.eligible_leader_replicas is None else tuple(change.eligible_leader_replicas),
            self.last_known_elr if change.last_known_elr is None else tuple(change.last_known_elr),
            self.unknown_tags,
        )

    def without_elr(self) -> Partition:
        """What a ClearElrRecord leaves."""
        if not self.elr and not self.last_known_elr:
            return self
        return self._replace(elr=(), last_known_elr=(), partition_epoch=self.partition_epoch + 1)

    def to_record(
        self, topic_id: bytes, partition_id: int, metadata_version: int = METADATA_VERSION_MAX
    ) -> PartitionRecord:
        """The record that builds this state. Empty ELRs are not written, as Kafka does not; they are tagged fields."""
        has_elr = metadata_version >= ELIGIBLE_LEADER_REPLICAS_SINCE
        record = PartitionRecord(
            partition_id=partition_id,
            topic_id=topic_id,
            replicas=list(self.replicas),
            isr=list(self.isr),
            removing_replicas=list(self.removing_replicas),
            adding_replicas=list(self.adding_replicas),
            leader=self.leader,
            leader_recovery_state=self.leader_recovery_state,
            leader_epoch=self.leader_epoch,
            partition_epoch=self.partition_epoch,
            directories=list(self.directories) if metadata_version >= DIRECTORY_ASSIGNMENT_SINCE else [],
            eligible_leader_replicas=list(self.elr) if has_elr and self.elr else None,
            last_known_elr=list(self.last_known_elr) if has_elr and self.last_known_elr else None,
        )
        record.unknown_tags = self.unknown_tags
        return record


def partition_of(record: PartitionRecord) -> Partition:
    """The state that a record describes. Loading a large cluster spends its time here."""
    replicas = tuple(record.replicas)
    isr = record.isr
    return Partition(
        replicas,
        _directories(record, tuple(record.directories), len(replicas)),
        replicas if isr == record.replicas else tuple(isr),
        tuple(record.removing_replicas),
        tuple(record.adding_replicas),
        record.leader,
        record.leader_recovery_state,
        record.leader_epoch,
        record.partition_epoch,
        tuple(record.eligible_leader_replicas or ()),
        tuple(record.last_known_elr or ()),
        record.unknown_tags,
    )


def _directories(
    record: PartitionRecord | PartitionChangeRecord, directories: tuple[bytes, ...], replica_count: int
) -> tuple[bytes, ...]:
    if len(directories) == replica_count:
        return directories
    # None, or as many as an older assignment had: nobody has recorded a directory yet.
    if all(directory == MIGRATING for directory in directories):
        return (MIGRATING,) * replica_count
    reason = f"{len(directories)} directories for {replica_count} replicas"
    raise MetadataLogError(f"partition {record.partition_id} of {uuid_text(record.topic_id)} has {reason}")
