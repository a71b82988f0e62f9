"""What raft asks of the log, and what it believes of the batches that a leader sends."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.cluster.raft_log import (
    BOOTSTRAP_SNAPSHOT,
    ControlRecord,
    Divergence,
    OffsetAndEpoch,
    divergence,
    read_fetched,
    truncation_offset,
)
from ottla.cluster.voters import VoterSet
from ottla.wire.errors import KafkaError
from ottla.wire.records import ControlType, control_batch, iter_batches, iter_records
from ottla.wire.stored.control_records import KRaftVersionRecord, LeaderChangeMessage, VotersRecord
from tests.cluster.raft_memory_log import MemoryLog
from tests.cluster.raft_replica import Replica, batch, log_with, voter

KAFKA_LOG = Path(__file__).parent.parent / "commands/kafka_4_3_1/__cluster_metadata-0/00000000000000000000.log"


def snapshotted(*epochs: int, at: int, epoch: int) -> MemoryLog:
    """A log that begins behind a snapshot."""
    log = log_with(*epochs)
    log.add_snapshot(OffsetAndEpoch(at, epoch), b"...", [])
    log.begin_after(OffsetAndEpoch(at, epoch))
    return log


def test_a_replica_with_the_same_history_may_fetch_on() -> None:
    log = log_with(1, 1, 3)
    assert divergence(log, 0, 0) is None
    assert divergence(log, 1, 1) is None
    assert divergence(log, 2, 1) is None
    assert divergence(log, 3, 3) is None


@pytest.mark.parametrize(
    ("offset", "epoch", "end"),
    [
        (3, 1, OffsetAndEpoch(2, 1)),  # more of epoch 1 than there is
        (3, 2, OffsetAndEpoch(2, 1)),  # an epoch nobody here has seen
        (4, 3, OffsetAndEpoch(3, 3)),
        (5, 9, OffsetAndEpoch(3, 3)),
    ],
)
def test_a_replica_with_another_history_is_told_where_it_parts(offset: int, epoch: int, end: OffsetAndEpoch) -> None:
    assert divergence(log_with(1, 1, 3), offset, epoch) == Divergence(epoch_end=end)


def test_a_replica_behind_the_log_is_sent_to_the_snapshot() -> None:
    log = snapshotted(1, 1, 3, 3, at=2, epoch=1)
    sent = Divergence(snapshot=OffsetAndEpoch(2, 1))
    assert divergence(log, 0, 0) == sent
    assert divergence(log, 1, 1) == sent
    assert divergence(log, 2, 2) == sent, "at the start, but from another history"
    assert divergence(log, 3, 0) == sent
    assert divergence(log, 2, 1) is None
    assert divergence(log, 3, 3) is None


def test_the_bootstrap_snapshot_is_nobodys_beginning() -> None:
    log = log_with(1)
    log.add_snapshot(BOOTSTRAP_SNAPSHOT, b"...", [])
    assert divergence(log, 0, 0) is None


def test_a_follower_cuts_to_the_end_of_the_epoch_that_both_have() -> None:
    log = log_with(1, 1, 2, 4)
    assert truncation_offset(log, OffsetAndEpoch(3, 2)) == 3
    assert truncation_offset(log, OffsetAndEpoch(1, 1)) == 1, "the leader's epoch 1 ended earlier"
    assert truncation_offset(log, OffsetAndEpoch(9, 3)) == 3, "no epoch 3 here: to the end of the one before"
    assert truncation_offset(log, OffsetAndEpoch(0, 0)) == 0
    assert truncation_offset(log, OffsetAndEpoch(9, 0)) == 4


START = OffsetAndEpoch(5, 2)


def test_whole_batches_that_continue_the_log_are_taken() -> None:
    first, second = batch(b"a", b"b", base_offset=5, epoch=2), batch(b"c", base_offset=7, epoch=3)
    fetched = read_fetched(first + second, START, 3)
    assert fetched is not None
    assert fetched.records == first + second
    assert fetched.end == OffsetAndEpoch(8, 3)
    assert fetched.control == []


def test_a_batch_that_is_cut_off_is_left_for_the_next_fetch() -> None:
    first, second = batch(b"a", base_offset=5, epoch=2), batch(b"b", base_offset=6, epoch=2)
    fetched = read_fetched(first + second[:-1], START, 2)
    assert fetched is not None
    assert fetched.records == first
    assert read_fetched(first[:30], START, 2) is None
    assert read_fetched(b"", START, 2) is None


def flipped(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


@pytest.mark.parametrize(
    "records",
    [
        flipped(batch(b"a", base_offset=5, epoch=2)),
        batch(b"a", base_offset=6, epoch=2),  # a gap
        batch(b"a", base_offset=4, epoch=2),  # an overlap
        batch(b"a", base_offset=5, epoch=1),  # an epoch that is over
        batch(b"a", base_offset=5, epoch=4),  # one that the leader cannot have
        b"\0" * 61,
    ],
)
def test_what_no_leader_of_this_epoch_can_have_sent_is_refused(records: bytes) -> None:
    with pytest.raises(KafkaError):
        read_fetched(records, START, 3)


def test_voters_and_kraft_version_are_found_in_control_batches() -> None:
    voters = VoterSet([voter(1)])
    change = LeaderChangeMessage(version=0, leader_id=1, voters=[], granting_voters=[])
    records = [
        (ControlType.LEADER_CHANGE, change.encode(0)),
        (ControlType.KRAFT_VERSION, KRaftVersionRecord(version=0, kraft_version=1).encode(0)),
        (ControlType.KRAFT_VOTERS, voters.to_record().encode(0)),
    ]
    fetched = read_fetched(control_batch(records, timestamp=1, base_offset=5, leader_epoch=2), START, 2)
    assert fetched is not None
    assert fetched.control == [ControlRecord(6, 1), ControlRecord(7, voters)]


def test_a_voters_record_without_voters_or_content_is_refused() -> None:
    for value in (VotersRecord(version=0, voters=[]).encode(0), b""):
        data = control_batch([(ControlType.KRAFT_VOTERS, value)], timestamp=1, base_offset=5, leader_epoch=2)
        with pytest.raises(KafkaError):
            read_fetched(data, START, 2)


def test_a_log_that_kafka_wrote_is_what_a_leader_may_send() -> None:
    data = KAFKA_LOG.read_bytes()
    fetched = read_fetched(data, OffsetAndEpoch(0, 0), 1)
    assert fetched is not None
    assert len(fetched.records) == len(data)
    assert fetched.end == OffsetAndEpoch(61, 1)


def test_the_first_record_of_an_epoch_is_the_one_that_kafka_writes() -> None:
    kafkas = next(iter_batches(KAFKA_LOG.read_bytes()))
    replica = Replica(voters=(1,), is_dynamic=False)
    ours = next(iter_batches(replica.log.batches[0].data))
    assert ours.is_control
    assert kafkas.is_control
    assert [record[2:] for record in iter_records(ours, bytes_max=1000)] == [
        record[2:] for record in iter_records(kafkas, bytes_max=1000)
    ]
