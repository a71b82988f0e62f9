"""What raft must know of the metadata log, and what it reads in batches that come from a leader.

`RaftLog` is the face that the owner of the log shows; raft only asks, and changes the log through effects. The two
pure functions beside it are KRaft's rules of divergence (KIP-595): may this replica go on from here, and how far must
this one cut. `read_fetched` looks at batches before they are believed. No files here.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from ottla.cluster.voters import VoterSet
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import ControlType, RecordBatch, control_type, iter_records
from ottla.wire.records.batch import read_batch
from ottla.wire.stored.control_records import KRaftVersionRecord, VotersRecord

TOPIC = "__cluster_metadata"
TOPIC_ID = bytes(15) + b"\x01"
PARTITION = 0

# A log without records ends in this epoch; no leader ever has it.
PRIMORDIAL_EPOCH = 0
CONTROL_BYTES_MAX = 1024 * 1024


class OffsetAndEpoch(NamedTuple):
    """An end of the log: the offset after a record, and the epoch of that record. Also the id of a snapshot."""

    offset: int
    epoch: int

    @property
    def age(self) -> tuple[int, int]:
        """What the up-to-date check compares: the epoch first (Raft, section 5.4.1)."""
        return self.epoch, self.offset


# The snapshot a node is formatted with. It is never sent: the first leader writes what it holds into the log.
BOOTSTRAP_SNAPSHOT = OffsetAndEpoch(0, 0)


class RaftLog(Protocol):
    """The metadata log on this node."""

    @property
    def start_offset(self) -> int: ...

    @property
    def end_offset(self) -> int: ...

    def epoch_before(self, offset: int) -> int:
        """The epoch of the record before this offset; at the start of the log, of the snapshot there; else 0."""

    def end_offset_for_epoch(self, epoch: int) -> OffsetAndEpoch:
        """The largest epoch up to this one that the log holds, and where it ends.

        Where the log holds none so old, the snapshot at its start; (0, 0) if there is none either.
        """

    def latest_snapshot(self) -> OffsetAndEpoch | None: ...

    def earliest_snapshot(self) -> OffsetAndEpoch | None:
        """The snapshot at the start of the log; None while the log starts at 0."""

    def snapshot_size_bytes(self, snapshot: OffsetAndEpoch) -> int | None:
        """None if this node does not hold it."""


class Divergence(NamedTuple):
    """Why a replica may not go on where it wants to: cut to here first, or load this snapshot."""

    epoch_end: OffsetAndEpoch | None = None
    snapshot: OffsetAndEpoch | None = None


def divergence(log: RaftLog, fetch_offset: int, last_fetched_epoch: int) -> Divergence | None:
    """Whether a replica whose log ends so may fetch on; None: it may."""
    latest = log.latest_snapshot()
    if fetch_offset == 0 and latest is not None and latest != BOOTSTRAP_SNAPSHOT:
        return Divergence(snapshot=latest)  # quicker than the log from its start
    if fetch_offset == 0 and log.start_offset == 0:
        return None
    earliest = log.earliest_snapshot()
    if earliest is not None and (
        fetch_offset < log.start_offset
        or (fetch_offset == log.start_offset and last_fetched_epoch != earliest.epoch)
        or last_fetched_epoch < earliest.epoch
    ):
        assert latest is not None, "a log that starts after 0 starts behind a snapshot"
        return Divergence(snapshot=latest)
    known = log.end_offset_for_epoch(last_fetched_epoch)
    if known.epoch != last_fetched_epoch or known.offset < fetch_offset:
        return Divergence(epoch_end=known)
    return None


def truncation_offset(log: RaftLog, leaders: OffsetAndEpoch) -> int:
    """Where a follower cuts, told by the leader which epoch it has in common with it and where that ends there."""
    if leaders.epoch == PRIMORDIAL_EPOCH:
        return min(leaders.offset, log.end_offset)
    ours = log.end_offset_for_epoch(leaders.epoch)
    return min(ours.offset, leaders.offset) if ours.epoch == leaders.epoch else ours.offset


class ControlRecord(NamedTuple):
    """A record that raft itself follows, and where it lies."""

    offset: int
    value: VoterSet | int  # a VotersRecord, or the level of a KRaftVersionRecord


class Fetched(NamedTuple):
    """What a leader's answer held: whole batches that continue the log."""

    records: memoryview
    end: OffsetAndEpoch
    control: list[ControlRecord]


def read_fetched(records: Any, end: OffsetAndEpoch, leader_epoch: int) -> Fetched | None:
    """Check the batches of a Fetch response against where the log ends; None if there is not one whole batch.

    A batch cut off at the end is left out: leaders send what fits. KafkaError for anything that no leader of this epoch
    can have sent: a bad checksum, a gap, an epoch that goes back or ahead.
    """
    view = memoryview(records)
    position = 0
    control: list[ControlRecord] = []
    while (batch := read_batch(view, position)) is not None:
        batch.check_crc()
        if batch.base_offset != end.offset:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"a batch at {batch.base_offset}, the log ends at {end.offset}")
        if not end.epoch <= batch.leader_epoch <= leader_epoch:
            raise KafkaError(
                ErrorCode.CORRUPT_MESSAGE,
                f"a batch of epoch {batch.leader_epoch} after {end.epoch}, sent by the leader of {leader_epoch}",
            )
        if batch.is_control:
            control.extend(control_records(batch))
        end = OffsetAndEpoch(batch.next_offset, batch.leader_epoch)
        position = batch.end
    return Fetched(view[:position], end, control) if position else None


def control_records(batch: RecordBatch) -> list[ControlRecord]:
    """The records of a control batch that raft follows; those of other kinds are left out."""
    found = []
    for record in iter_records(batch, bytes_max=CONTROL_BYTES_MAX):
        kind = control_type(record.key)
        value = b"" if record.value is None else bytes(record.value)
        if kind is ControlType.KRAFT_VOTERS:
            voters = VoterSet.from_record(VotersRecord.decode(value, 0))
            if not len(voters):
                raise KafkaError(ErrorCode.INVALID_RECORD, f"a VotersRecord without voters at {record.offset}")
            found.append(ControlRecord(record.offset, voters))
        elif kind is ControlType.KRAFT_VERSION:
            found.append(ControlRecord(record.offset, KRaftVersionRecord.decode(value, 0).kraft_version))
    return found
