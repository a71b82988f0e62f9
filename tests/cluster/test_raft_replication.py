"""Fetch, both ends: what a leader answers, and what a follower makes of it."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.cluster import raft_replication
from ottla.cluster.quorum_state import ElectionState
from ottla.cluster.raft_effects import (
    Activated,
    AppendFetched,
    FetchReply,
    Flush,
    HighWatermark,
    Note,
    Truncate,
    VotersChanged,
)
from ottla.cluster.raft_log import OffsetAndEpoch
from ottla.cluster.raft_messages import fetch_response
from ottla.cluster.voters import ReplicaKey, VoterSet
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.fetch import FetchRequest, FetchResponse
from ottla.wire.messages.quorum import FetchSnapshotRequest
from ottla.wire.records import ControlType, control_batch
from tests.cluster.raft_replica import NEWEST_FETCH, Replica, batch, key, leader_info, log_with, voter


def partition_of(response: FetchResponse) -> Any:
    return response.responses[0].partitions[0]


def elected(**world: Any) -> Replica:
    replica = Replica(**world)
    replica.elect()
    return replica


# The leader's end


def test_a_record_is_committed_when_a_majority_has_it_on_disk() -> None:
    replica = Replica()
    replica.run_for_leader()
    replica.fetch_as(2)
    assert replica.raft.high_watermark == 0, "the leader's own copy is not synced"
    replica.sync()
    end = replica.raft.end.offset
    assert replica.of(HighWatermark) == [HighWatermark(end)]
    assert replica.of(Activated) == [Activated(1)]
    replica.propose(b"a", b"b")
    replica.sync()
    assert replica.raft.high_watermark == end
    replica.fetch_as(3)
    assert replica.raft.high_watermark == end + 2
    assert not replica.of(Activated), "once is enough"


def test_what_an_earlier_leader_left_is_committed_only_with_a_record_of_this_epoch() -> None:
    replica = Replica(log=log_with(1, 1))
    replica.run_for_leader()
    replica.sync()
    replica.fetch_as(2, offset=2, last_epoch=1)
    assert replica.raft.high_watermark == 0
    assert not replica.of(Activated)
    replica.fetch_as(2)
    assert replica.raft.high_watermark == replica.raft.end.offset
    assert replica.of(Activated)


def test_a_fetch_at_the_end_waits_for_records() -> None:
    replica = elected()
    offset = replica.raft.end.offset
    assert replica.fetch_as(3) is None
    token = replica.last_token
    replica.propose(b"news")
    response = replica.replies[token]
    assert isinstance(response, FetchResponse)
    assert b"news" in partition_of(response).records
    assert replica.of(FetchReply)[0].start_offset == offset


def test_a_fetch_waits_no_longer_than_it_wants_to() -> None:
    replica = elected()
    assert replica.fetch_as(3, wait_ms=500) is None
    token = replica.last_token
    assert replica.raft.wake_at_ms <= replica.now_ms + 500
    replica.wait(499)
    assert token not in replica.replies
    replica.wait(1)
    assert partition_of(replica.replies[token]).records == b""  # type: ignore[arg-type]


def test_a_fetch_that_does_not_want_to_wait_is_answered_empty() -> None:
    replica = elected()
    assert partition_of(replica.fetch_as(3, wait_ms=0)).records == b""


def test_a_fetch_that_says_what_it_knows_to_be_committed_is_told_more_at_once() -> None:
    replica = elected()
    assert partition_of(replica.fetch_as(3, high_watermark=0)).high_watermark == replica.raft.high_watermark
    assert replica.fetch_as(3, high_watermark=replica.raft.high_watermark) is None
    token = replica.last_token
    replica.propose(b"a")
    replica.fetch_as(3, high_watermark=replica.raft.high_watermark)
    waiting = replica.last_token
    assert token in replica.replies
    replica.sync()
    assert waiting in replica.replies, "the new high watermark is news (KIP-1166)"


def test_a_replica_has_one_fetch_at_a_time() -> None:
    replica = elected()
    replica.fetch_as(3)
    first = replica.last_token
    replica.fetch_as(3)
    assert first in replica.replies
    assert replica.last_token not in replica.replies


def test_readers_that_are_no_replicas_may_all_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    replica = elected()
    monkeypatch.setattr(raft_replication, "PARKED_FETCHES_MAX", 3)  # voter 2 waits as well
    for expected in (False, False, True):
        request = replica.fetch_of(3)
        request.replica_state.replica_id = -1
        answered = replica.ask(request) is not None
        assert answered is expected, "only so many"


def test_a_replica_whose_log_parts_is_told_where() -> None:
    replica = elected(log=log_with(1, 1))
    response = partition_of(replica.fetch_as(3, offset=5, last_epoch=1))
    assert (response.diverging_epoch.end_offset, response.diverging_epoch.epoch) == (2, 1)
    assert response.records == b""
    assert 3 not in replica.raft._state.role.fetched_voters  # type: ignore[union-attr]


def test_a_replica_that_is_too_far_behind_is_sent_to_the_snapshot() -> None:
    replica = elected()
    snapshot = OffsetAndEpoch(2, 1)
    replica.log.add_snapshot(snapshot, b"...", [])
    response = partition_of(replica.fetch_as(3, offset=0, last_epoch=0))
    assert (response.snapshot_id.end_offset, response.snapshot_id.epoch) == snapshot


def test_fetches_that_cannot_be_served() -> None:
    replica = elected()
    epoch = replica.raft.epoch

    def error(**changes: Any) -> ErrorCode:
        return ErrorCode(partition_of(replica.fetch_as(changes.pop("node_id", 3), **changes)).error_code)

    assert error(epoch=epoch - 1, last_epoch=0) is ErrorCode.FENCED_LEADER_EPOCH
    assert error(epoch=epoch + 1) is ErrorCode.UNKNOWN_LEADER_EPOCH
    assert error(offset=-1) is ErrorCode.INVALID_REQUEST
    assert error(last_epoch=-1) is ErrorCode.INVALID_REQUEST
    assert error(last_epoch=epoch + 1) is ErrorCode.INVALID_REQUEST
    assert error(wait_ms=-1) is ErrorCode.INVALID_REQUEST
    assert error(node_id=1) is ErrorCode.INVALID_REQUEST
    assert error(bytes_max=-1, wait_ms=0) is ErrorCode.NONE
    request = replica.fetch_of(3)
    request.cluster_id = "another"
    assert replica.ask(request).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
    request.cluster_id = None
    request.topics = []
    assert replica.ask(request).error_code == ErrorCode.INVALID_REQUEST


def test_a_fetch_finds_the_leader_from_any_node() -> None:
    replica = Replica()
    replica.follow(2, epoch=5)
    response = replica.fetch_as(3, epoch=5)
    assert partition_of(response).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert partition_of(response).current_leader.leader_id == 2
    assert [(node.node_id, node.port) for node in response.node_endpoints] == [(2, 9002)]


def test_a_leader_that_leaves_answers_those_who_wait() -> None:
    replica = elected()
    replica.fetch_as(3)
    token = replica.last_token
    replica.follow(2, epoch=9)
    assert partition_of(replica.replies[token]).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER  # type: ignore[arg-type]


def test_a_leader_that_leaves_in_the_linger_still_syncs_what_it_wrote() -> None:
    replica = Replica(append_linger_ms=25)
    replica.elect()
    replica.propose(b"late")
    assert replica.flushes == []
    replica.follow(2, epoch=9)
    assert replica.of(Flush)
    assert replica.sent(FetchRequest) == [], "not before that is on disk"
    replica.sync()
    assert replica.sent(FetchRequest)


def test_writes_in_the_linger_share_a_sync() -> None:
    replica = Replica(voters=(1,), append_linger_ms=25)
    replica.sync()
    replica.propose(b"a")
    replica.now_ms += 10
    replica.propose(b"b")
    assert replica.flushes == []
    assert replica.raft.wake_at_ms == replica.now_ms + 15
    replica.wait(15)
    assert len(replica.flushes) == 1
    replica.sync()
    assert replica.raft.high_watermark == replica.raft.end.offset


# The follower's end


def following(log: Any = None, **world: Any) -> Replica:
    replica = Replica(log=log, **world)
    replica.follow(2, epoch=5)
    return replica


def test_fetched_records_are_synced_before_the_next_fetch() -> None:
    replica = following()
    replica.answer(replica.fetched(batch(b"a", b"b", base_offset=0, epoch=5), high_watermark=2))
    assert replica.of(AppendFetched)[0].base_offset == 0
    assert replica.sent(FetchRequest) == []
    assert not replica.of(HighWatermark)
    replica.sync()
    assert replica.of(HighWatermark) == [HighWatermark(2)]
    request = replica.sent(FetchRequest)[0].request
    assert isinstance(request, FetchRequest)
    partition = request.topics[0].partitions[0]
    assert (partition.fetch_offset, partition.last_fetched_epoch, partition.high_watermark) == (2, 5, 2)


def test_an_observer_that_can_fetch_again_need_not_sync() -> None:
    replica = following(node_id=9, is_observer_flushing=False)
    replica.answer(replica.fetched(batch(b"a", base_offset=0, epoch=5), high_watermark=9))
    assert not replica.of(Flush)
    assert replica.of(HighWatermark) == [HighWatermark(1)]
    assert replica.sent(FetchRequest)


def test_a_high_watermark_beyond_the_log_is_believed_as_far_as_the_log_goes() -> None:
    replica = following()
    replica.answer(replica.fetched(high_watermark=100))
    assert replica.raft.high_watermark == 0
    replica.answer(replica.fetched(batch(b"a", base_offset=0, epoch=5)))
    replica.sync()
    assert replica.raft.high_watermark == 1


def test_a_follower_cuts_what_its_leader_does_not_have() -> None:
    replica = following(log_with(1, 1, 3, 3))
    response = replica.fetched()
    partition_of(response).diverging_epoch.epoch = 1
    partition_of(response).diverging_epoch.end_offset = 9
    replica.answer(response)
    assert replica.of(Truncate) == [Truncate(2)]
    assert replica.raft.end == OffsetAndEpoch(2, 1)
    assert replica.sent(FetchRequest)


def test_committed_records_are_never_cut() -> None:
    replica = following(log_with(1, 1, 3, 3))
    replica.answer(replica.fetched(high_watermark=3))
    response = replica.fetched()
    partition_of(response).diverging_epoch.epoch = 1
    partition_of(response).diverging_epoch.end_offset = 2
    replica.answer(response)
    assert not replica.of(Truncate)
    assert replica.of(Note)


def test_a_divergence_that_cuts_nothing_is_refused() -> None:
    replica = following(log_with(1, 1))
    response = replica.fetched()
    partition_of(response).diverging_epoch.epoch = 1
    partition_of(response).diverging_epoch.end_offset = 2
    replica.answer(response)
    assert not replica.of(Truncate)
    assert replica.of(Note)


def voters_batch(offset: int, *ids: int) -> bytes:
    record = VoterSet(voter(id) for id in ids).to_record().encode(0)
    return control_batch([(ControlType.KRAFT_VOTERS, record)], timestamp=1, base_offset=offset, leader_epoch=5)


def test_voters_in_fetched_records_count_at_once_and_go_when_the_record_is_cut() -> None:
    replica = following()
    replica.answer(replica.fetched(batch(b"a", base_offset=0, epoch=5) + voters_batch(1, 1, 2, 3, 4)))
    assert replica.of(VotersChanged)
    assert replica.raft.voters.ids == [1, 2, 3, 4]
    replica.sync()
    replica.follow(3, epoch=6)
    response = replica.fetched(leader_id=3)
    partition_of(response).diverging_epoch.epoch = 5
    partition_of(response).diverging_epoch.end_offset = 1
    replica.answer(response)
    assert replica.of(VotersChanged)
    assert replica.raft.voters.ids == [1, 2, 3]


@pytest.mark.parametrize("records", [batch(b"gap", base_offset=7, epoch=5), b"\0" * 100], ids=["a gap", "zeros"])
def test_records_that_cannot_follow_are_refused_and_asked_for_again(records: bytes) -> None:
    replica = following()
    replica.answer(replica.fetched(records))
    assert replica.of(Note)
    assert not replica.of(AppendFetched)
    assert [send.node_id for send in replica.sent(FetchRequest)] == [3], "perhaps there is another leader"
    replica.answer(None)
    replica.wait(20)
    assert replica.sent(FetchRequest)


@pytest.mark.parametrize(
    "response",
    [
        None,
        FetchResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, responses=[]),
        FetchResponse(responses=[]),
        fetch_response(NEWEST_FETCH, leader_info(2, 5), ErrorCode.BROKER_NOT_AVAILABLE),
    ],
)
def test_a_leader_that_cannot_answer_is_asked_again_and_others_are_asked_meanwhile(
    response: FetchResponse | None,
) -> None:
    replica = following()
    replica.answer(response)
    assert [send.node_id for send in replica.sent(FetchRequest)] == [3]
    replica.answer(None)
    assert replica.sent(FetchRequest) == [], "both are left alone for a while"
    replica.wait(20)
    assert replica.sent(FetchRequest)


def test_a_leader_that_does_not_answer_in_time_is_doubted() -> None:
    replica = following(node_id=9)
    replica.wait(2000)
    assert [send.node_id in (1, 2, 3) for send in replica.sent(FetchRequest)] == [True]
    found = fetch_response(NEWEST_FETCH, leader_info(3, 6), ErrorCode.FENCED_LEADER_EPOCH)
    replica.answer(found)
    assert (replica.raft.leader_id, replica.raft.epoch) == (3, 6)


def test_a_fetch_to_nobody_in_particular_can_bring_leader_and_records_in_one() -> None:
    replica = Replica(saved=ElectionState(5))
    replica.answer(replica.fetched(batch(b"a", base_offset=0, epoch=5), leader_id=3))
    assert replica.raft.leader_id == 3
    assert replica.of(AppendFetched)


def test_an_answer_in_this_epoch_from_somebody_who_knows_no_leader_is_no_use() -> None:
    replica = Replica(saved=ElectionState(5))
    replica.answer(fetch_response(NEWEST_FETCH, leader_info(None, 5), ErrorCode.NONE))
    assert replica.raft.role_name == "unattached"
    assert replica.sent(FetchRequest), "the other one"


def test_a_replica_without_anybody_to_ask_waits_to_be_told() -> None:
    replica = Replica(node_id=9, voters=())
    assert replica.sent(FetchRequest) == []
    replica.follow(2, epoch=5)
    assert replica.sent(FetchRequest)


def test_a_snapshot_is_fetched_where_the_leader_says_so() -> None:
    replica = following()
    response = replica.fetched()
    partition_of(response).snapshot_id.end_offset = 10
    partition_of(response).snapshot_id.epoch = 4
    replica.answer(response)
    request = replica.sent(FetchSnapshotRequest)[0].request
    assert isinstance(request, FetchSnapshotRequest)
    assert request.topics[0].partitions[0].snapshot_id.end_offset == 10


def test_an_old_fetch_names_its_replica_in_the_old_place() -> None:
    replica = elected()
    request = replica.fetch_of(3)
    request.replica_id, request.replica_state.replica_id = 3, -1
    replica.ask(request, version=14)
    role = replica.raft._state.role
    assert role.progress(key(3)).last_fetch_ms == replica.now_ms  # type: ignore[union-attr]
    assert ReplicaKey(3).accepts(key(3))
