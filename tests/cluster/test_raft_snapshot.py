"""FetchSnapshot, both ends."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.cluster.raft_effects import HighWatermark, InstallSnapshot, Note, VotersChanged, WriteSnapshot
from ottla.cluster.raft_log import BOOTSTRAP_SNAPSHOT, ControlRecord, OffsetAndEpoch
from ottla.cluster.raft_messages import fetch_snapshot_request, fetch_snapshot_response
from ottla.cluster.voters import VoterSet
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.fetch import FetchRequest
from ottla.wire.messages.quorum import FetchSnapshotRequest, FetchSnapshotResponse
from tests.cluster.raft_replica import CLUSTER, NEWEST, Replica, key, leader_info, log_with, voter

SNAPSHOT = OffsetAndEpoch(10, 4)


# The leader's end


def leading() -> Replica:
    replica = Replica()
    replica.elect()
    replica.log.add_snapshot(SNAPSHOT, b"0123456789", [])
    return replica


def request(replica: Replica, **changes: Any) -> FetchSnapshotRequest:
    return fetch_snapshot_request(
        CLUSTER,
        key(3),
        changes.get("epoch", replica.raft.epoch),
        changes.get("snapshot", SNAPSHOT),
        changes.get("position", 0),
        changes.get("bytes_max", 4),
    )


def partition_of(response: FetchSnapshotResponse) -> Any:
    return response.topics[0].partitions[0]


def test_a_leader_sends_the_piece_that_was_asked_for() -> None:
    replica = leading()
    piece = partition_of(replica.ask(request(replica)))
    assert (piece.size, piece.position, piece.unaligned_records) == (10, 0, b"0123")
    piece = partition_of(replica.ask(request(replica, position=8)))
    assert piece.unaligned_records == b"89"
    assert replica.raft._state.role.quorum_until_ms == replica.now_ms + 3000, (  # type: ignore[union-attr]
        "a voter that loads a snapshot is alive"
    )


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"epoch": 0}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"epoch": 9}, ErrorCode.UNKNOWN_LEADER_EPOCH),
        ({"snapshot": OffsetAndEpoch(11, 4)}, ErrorCode.SNAPSHOT_NOT_FOUND),
        ({"snapshot": BOOTSTRAP_SNAPSHOT}, ErrorCode.SNAPSHOT_NOT_FOUND),
        ({"position": 10}, ErrorCode.POSITION_OUT_OF_RANGE),
        ({"position": -1}, ErrorCode.POSITION_OUT_OF_RANGE),
    ],
)
def test_pieces_that_cannot_be_sent(changes: dict[str, Any], error: ErrorCode) -> None:
    replica = leading()
    assert partition_of(replica.ask(request(replica, **changes))).error_code == error


def test_malformed_requests_are_answered_and_kill_nobody() -> None:
    replica = leading()
    asked = request(replica)
    asked.cluster_id = "another"
    assert replica.ask(asked).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
    asked = request(replica)
    asked.topics[0].name = "orders"
    response = replica.ask(asked)
    assert (response.topics[0].name, partition_of(response).error_code) == (
        "orders",
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    )
    asked.topics[0].partitions = []
    assert replica.ask(asked).error_code == ErrorCode.INVALID_REQUEST
    asked.topics = []
    asked.cluster_id = None
    assert replica.ask(asked).error_code == ErrorCode.INVALID_REQUEST, "CVE-2026-83525"
    assert replica.ask(request(replica, bytes_max=0)).error_code == ErrorCode.INVALID_REQUEST


# The follower's end


def loading(log: Any = None, snapshot: OffsetAndEpoch = SNAPSHOT) -> Replica:
    replica = Replica(log=log)
    replica.follow(2, epoch=5)
    response = replica.fetched()
    response.responses[0].partitions[0].snapshot_id.end_offset = snapshot.offset
    response.responses[0].partitions[0].snapshot_id.epoch = snapshot.epoch
    replica.answer(response)
    return replica


def piece(
    data: bytes, position: int, size: int, error: ErrorCode = ErrorCode.NONE, snapshot: OffsetAndEpoch = SNAPSHOT
) -> FetchSnapshotResponse:
    response = fetch_snapshot_response(NEWEST, leader_info(2, 5), error, snapshot, size, position)
    partition_of(response).unaligned_records = data
    return response


def test_a_snapshot_comes_in_pieces_and_takes_the_place_of_the_log() -> None:
    replica = loading(log_with(1, 1))
    replica.answer(piece(b"0123", 0, 6))
    assert [effect.position for effect in replica.of(WriteSnapshot)] == [0]
    asked = replica.sent(FetchSnapshotRequest)[0].request
    assert isinstance(asked, FetchSnapshotRequest)
    assert asked.topics[0].partitions[0].position == 4
    replica.answer(piece(b"45", 4, 6))
    assert replica.of(InstallSnapshot) == [InstallSnapshot(SNAPSHOT)]
    records = [ControlRecord(9, 1), ControlRecord(9, VoterSet([voter(1), voter(2)]))]
    replica.perform(replica.raft.snapshot_installed(SNAPSHOT, records, replica.now_ms))
    assert replica.raft.end == SNAPSHOT
    assert replica.of(HighWatermark) == [HighWatermark(10)]
    assert replica.of(VotersChanged)
    assert replica.raft.voters.ids == [1, 2]
    assert replica.sent(FetchRequest), "and on from there"


def test_a_snapshot_that_is_here_already_need_not_come_again() -> None:
    log = log_with(1, 1)
    log.add_snapshot(SNAPSHOT, b"all of it", [])
    log.add_snapshot(BOOTSTRAP_SNAPSHOT, b"", [ControlRecord(-1, 1), ControlRecord(-1, VoterSet([voter(1), voter(2)]))])
    log.snapshot_records[SNAPSHOT] = [ControlRecord(9, VoterSet([voter(1), voter(2)]))]
    replica = loading(log)
    assert replica.of(InstallSnapshot) == [InstallSnapshot(SNAPSHOT)]
    assert replica.sent(FetchSnapshotRequest) == []


@pytest.mark.parametrize(
    "snapshot", [OffsetAndEpoch(2, 1), OffsetAndEpoch(1, 1), OffsetAndEpoch(-1, 4), OffsetAndEpoch(10, -1)]
)
def test_a_snapshot_of_what_is_here_is_refused(snapshot: OffsetAndEpoch) -> None:
    replica = loading(log_with(1, 1), snapshot)
    assert replica.of(Note)
    assert replica.sent(FetchSnapshotRequest) == []


def test_a_snapshot_that_is_gone_is_asked_about_anew() -> None:
    for error in (ErrorCode.SNAPSHOT_NOT_FOUND, ErrorCode.POSITION_OUT_OF_RANGE):
        replica = loading()
        replica.answer(piece(b"", 0, 0, error))
        assert replica.sent(FetchRequest)


@pytest.mark.parametrize(
    "response",
    [
        piece(b"", 0, 6),
        piece(b"0123", 1, 6),
        piece(b"01234567", 0, 6),
        piece(b"0123", 0, 6, snapshot=OffsetAndEpoch(11, 4)),
        FetchSnapshotResponse(topics=[]),
        FetchSnapshotResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, topics=[]),
        fetch_snapshot_response(NEWEST, leader_info(2, 5), ErrorCode.BROKER_NOT_AVAILABLE),
    ],
)
def test_wrong_pieces_are_refused_and_asked_for_again(response: FetchSnapshotResponse) -> None:
    replica = loading()
    replica.answer(response)
    assert not replica.of(WriteSnapshot)
    replica.answer(None)
    replica.wait(20)
    assert replica.sent(FetchSnapshotRequest)


def test_a_piece_that_nobody_asked_for_is_dropped() -> None:
    replica = Replica()
    replica.follow(2, epoch=5)
    replica.answer(piece(b"0123", 0, 6))
    assert not replica.of(WriteSnapshot)


def test_a_snapshot_that_cannot_be_read_is_asked_about_anew() -> None:
    replica = loading()
    send = replica.sent(FetchSnapshotRequest)[0]
    effects = replica.raft.response(send.correlation_id, piece(b"0123", 0, 4), replica.now_ms)
    assert InstallSnapshot(SNAPSHOT) in effects
    replica.perform(replica.raft.snapshot_refused(replica.now_ms))
    assert replica.of(Note)
    assert replica.sent(FetchRequest)
