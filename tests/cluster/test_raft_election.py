"""Elections as stories: one replica, its peers played by the test."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.cluster.quorum_state import ElectionState
from ottla.cluster.raft_effects import LeaderChanged, Note, PersistQuorumState, Send
from ottla.cluster.raft_log import OffsetAndEpoch
from ottla.cluster.raft_messages import (
    Context,
    begin_quorum_epoch_request,
    begin_quorum_epoch_response,
    end_quorum_epoch_request,
    end_quorum_epoch_response,
    fetch_response,
    vote_request,
    vote_response,
)
from ottla.cluster.voters import ReplicaKey
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.fetch import FetchRequest
from ottla.wire.messages.quorum import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    VoteRequest,
    VoteResponse,
)
from tests.cluster.raft_replica import CLUSTER, NEWEST, NEWEST_FETCH, Replica, endpoints, key, leader_info, log_with

EMPTY = OffsetAndEpoch(0, 0)


def ask_for_vote(
    replica: Replica,
    epoch: int,
    *,
    candidate: ReplicaKey = key(2),  # noqa: B008
    voter: ReplicaKey = key(1),  # noqa: B008
    end: OffsetAndEpoch = EMPTY,
    is_pre_vote: bool = False,
    cluster_id: str = CLUSTER,
) -> Any:
    return replica.ask(vote_request(cluster_id, epoch, candidate, voter, end, is_pre_vote=is_pre_vote))


def outcome(response: VoteResponse) -> tuple[ErrorCode, bool]:
    partition = response.topics[0].partitions[0]
    return ErrorCode(partition.error_code), partition.vote_granted


# Votes that others ask for


def test_a_vote_goes_to_the_first_who_asks_and_has_all_records() -> None:
    replica = Replica(log=log_with(1, 2))
    current = OffsetAndEpoch(2, 2)
    assert outcome(ask_for_vote(replica, 7, end=OffsetAndEpoch(9, 1))) == (ErrorCode.NONE, False)
    assert outcome(ask_for_vote(replica, 7, end=current)) == (ErrorCode.NONE, True)
    assert outcome(ask_for_vote(replica, 7, end=current)) == (ErrorCode.NONE, True), "the answer may have been lost"
    assert outcome(ask_for_vote(replica, 7, candidate=key(3), end=current)) == (ErrorCode.NONE, False)
    assert outcome(ask_for_vote(replica, 8, candidate=key(3), end=current)) == (ErrorCode.NONE, True)
    assert replica.saved == ElectionState(8, None, key(3))


def test_a_pre_vote_binds_nobody() -> None:
    replica = Replica()
    assert outcome(ask_for_vote(replica, 3, is_pre_vote=True)) == (ErrorCode.NONE, True)
    assert outcome(ask_for_vote(replica, 3, candidate=key(3), is_pre_vote=True)) == (ErrorCode.NONE, True)
    assert replica.saved == ElectionState(3)


def test_a_follower_that_hears_its_leader_gives_no_pre_vote() -> None:
    replica = Replica()
    replica.follow(2, epoch=5)
    assert outcome(ask_for_vote(replica, 5, candidate=key(3), is_pre_vote=True)) == (ErrorCode.NONE, True)
    replica.follow(3, epoch=6)
    replica.answer(replica.fetched(leader_id=3))
    assert outcome(ask_for_vote(replica, 6, candidate=key(2), is_pre_vote=True)) == (ErrorCode.NONE, False)


def test_nobody_gets_a_vote_in_this_nodes_own_name() -> None:
    assert outcome(ask_for_vote(Replica(), 7, candidate=ReplicaKey(1, b"x" * 16))) == (ErrorCode.NONE, False)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"epoch": 3}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"epoch": 5, "candidate": ReplicaKey(-1)}, ErrorCode.INVALID_REQUEST),
        ({"epoch": 5, "end": OffsetAndEpoch(3, 5)}, ErrorCode.INVALID_REQUEST),
        ({"epoch": 5, "end": OffsetAndEpoch(3, 6), "is_pre_vote": True}, ErrorCode.INVALID_REQUEST),
        ({"epoch": 5, "end": OffsetAndEpoch(-1, 1)}, ErrorCode.INVALID_REQUEST),
        ({"epoch": 5, "end": OffsetAndEpoch(1, -1)}, ErrorCode.INVALID_REQUEST),
        ({"epoch": 5, "voter": key(2)}, ErrorCode.INVALID_VOTER_KEY),
        ({"epoch": 5, "voter": ReplicaKey(1, b"x" * 16)}, ErrorCode.INVALID_VOTER_KEY),
    ],
)
def test_votes_that_cannot_be_given(changes: dict[str, Any], error: ErrorCode) -> None:
    replica = Replica(saved=ElectionState(4))
    assert outcome(ask_for_vote(replica, **changes)) == (error, False)


def test_requests_of_other_clusters_and_about_other_topics_are_refused() -> None:
    replica = Replica()
    vote = vote_request("another", 5, key(2), key(1), EMPTY, is_pre_vote=False)
    begin = begin_quorum_epoch_request("another", 5, 2, endpoints(2), key(1))
    end = end_quorum_epoch_request("another", 5, 2, endpoints(2), [])
    for request in (vote, begin, end):
        assert replica.ask(request).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
        request.cluster_id = None
        request.topics = []
        assert replica.ask(request).error_code == ErrorCode.INVALID_REQUEST
    assert replica.raft.epoch == 0


# Leaders that make themselves known


def test_a_leader_is_followed_and_fetched_from_at_once() -> None:
    replica = Replica()
    response = replica.ask(begin_quorum_epoch_request(CLUSTER, 5, 2, endpoints(2), key(1)))
    assert response.topics[0].partitions[0].leader_id == 2
    assert replica.of(LeaderChanged) == [LeaderChanged(2, 5)]
    assert replica.saved == ElectionState(5, 2)
    assert [(send.node_id, send.endpoint.port) for send in replica.sent(FetchRequest)] == [(2, 9002)]


def test_a_voter_keeps_its_vote_when_somebody_else_is_elected() -> None:
    replica = Replica()
    ask_for_vote(replica, 5, candidate=key(3))
    replica.follow(2, epoch=5)
    assert replica.saved == ElectionState(5, 2, key(3))


def begin(replica: Replica, epoch: int, leader_id: int, **changes: Any) -> ErrorCode:
    request = begin_quorum_epoch_request(CLUSTER, epoch, leader_id, endpoints(leader_id), changes.get("voter", key(1)))
    if changes.get("version") == 0:
        request.leader_endpoints = []
        request.voter_id = -1
    return ErrorCode(replica.ask(request).topics[0].partitions[0].error_code)


def test_leaders_that_cannot_be() -> None:
    replica = Replica()
    replica.follow(2, epoch=5)
    assert begin(replica, 4, 3) is ErrorCode.FENCED_LEADER_EPOCH
    assert begin(replica, 5, 3) is ErrorCode.INVALID_REQUEST, "there is one in this epoch"
    assert replica.of(Note)
    assert begin(replica, 6, 1) is ErrorCode.INVALID_REQUEST, "this node itself would know"
    assert begin(replica, 6, -1) is ErrorCode.INVALID_REQUEST
    assert begin(replica, 5, 2, voter=ReplicaKey(1, b"x" * 16)) is ErrorCode.INVALID_VOTER_KEY
    assert begin(replica, 5, 2) is ErrorCode.NONE
    assert replica.raft.epoch == 5


def test_an_old_leader_is_found_among_the_voters() -> None:
    replica = Replica()
    assert begin(replica, 5, 3, version=0) is ErrorCode.NONE
    assert replica.raft.role_name == "follower"


def test_a_leader_that_nobody_can_reach_is_remembered_and_asked_for() -> None:
    replica = Replica()
    assert begin(replica, 5, 7, version=0) is ErrorCode.NONE
    assert (replica.raft.role_name, replica.raft.leader_id) == ("unattached", 7)
    assert begin(replica, 5, 7, version=0) is ErrorCode.NONE
    assert replica.saved == ElectionState(5, 7)
    assert begin(replica, 5, 7) is ErrorCode.NONE
    assert replica.raft.role_name == "follower", "now it said where it is"


# Leaders that leave


def succession_wait(replica: Replica, successors: list[ReplicaKey]) -> int:
    request = end_quorum_epoch_request(CLUSTER, 5, 2, endpoints(2), successors)
    assert replica.ask(request).topics[0].partitions[0].error_code == 0
    if replica.raft.role_name == "prospective":
        return 0
    return replica.raft.wake_at_ms - replica.now_ms


@pytest.mark.parametrize(
    ("successors", "wait_ms"),
    [
        ([key(1), key(3)], 0),
        ([key(3), key(1)], 500),
        ([key(3), key(4), key(1)], 500),
        ([key(3), key(4), key(5)], 1000),
        ([ReplicaKey(1, b"x" * 16)], 1000),
    ],
)
def test_successors_begin_one_after_the_other(successors: list[ReplicaKey], wait_ms: int) -> None:
    replica = Replica()
    replica.follow(2, epoch=5)
    replica.answer(replica.fetched())
    assert succession_wait(replica, successors) == wait_ms


def test_without_successors_the_dice_decide() -> None:
    replica = Replica()
    replica.follow(2, epoch=5)
    assert 0 <= succession_wait(replica, []) < 1000


def test_an_old_leader_names_its_successors_by_id() -> None:
    replica = Replica()
    replica.follow(2, epoch=5)
    request = end_quorum_epoch_request(CLUSTER, 5, 2, endpoints(2), [key(1)])
    request.topics[0].partitions[0].preferred_candidates = []
    replica.ask(request, version=0)
    assert replica.raft.role_name == "prospective"


def test_a_leader_that_has_ended_is_not_waited_for() -> None:
    replica = Replica()
    replica.follow(2, epoch=5)
    replica.answer(replica.fetched())
    replica.perform(replica.raft.leader_gone(2, replica.now_ms))
    until_ms = replica.raft.wake_at_ms
    assert until_ms - replica.now_ms < 500
    assert outcome(ask_for_vote(replica, 5, candidate=key(3), is_pre_vote=True)) == (ErrorCode.NONE, True)
    replica.perform(replica.raft.leader_gone(2, replica.now_ms))
    assert replica.raft.wake_at_ms == until_ms, "the dice fall once"
    replica.wait(until_ms - replica.now_ms)
    assert replica.raft.role_name == "prospective"


def test_whoever_else_has_ended_is_not_the_leader() -> None:
    replica = Replica()
    replica.perform(replica.raft.leader_gone(2, replica.now_ms))
    assert replica.raft.role_name == "unattached"
    replica.follow(2, epoch=5)
    replica.answer(replica.fetched())
    replica.perform(replica.raft.leader_gone(3, replica.now_ms))
    assert outcome(ask_for_vote(replica, 5, candidate=key(3), is_pre_vote=True)) == (ErrorCode.NONE, False)


def end(replica: Replica, epoch: int, leader_id: int) -> ErrorCode:
    response = replica.ask(end_quorum_epoch_request(CLUSTER, epoch, leader_id, endpoints(leader_id), []))
    return ErrorCode(response.topics[0].partitions[0].error_code)


def test_good_byes_that_cannot_be() -> None:
    replica = Replica()
    replica.follow(2, epoch=5)
    assert end(replica, 4, 2) is ErrorCode.FENCED_LEADER_EPOCH
    assert end(replica, 5, 3) is ErrorCode.INVALID_REQUEST
    elected = Replica()
    elected.elect()
    assert end(elected, elected.raft.epoch, 1) is ErrorCode.NONE, "it is the leader itself who is named"
    assert elected.raft.is_leader


# This node's own elections


def to_prospective(replica: Replica) -> list[Send]:
    replica.wait(replica.raft.wake_at_ms - replica.now_ms)
    while replica.raft.role_name != "prospective":
        replica.wait(replica.raft.wake_at_ms - replica.now_ms)
    return replica.sent(VoteRequest)


def granted(epoch: int, *, is_granted: bool = True, error: ErrorCode = ErrorCode.NONE) -> VoteResponse:
    return vote_response(NEWEST, leader_info(None, epoch), error, is_granted=is_granted)


def test_a_voter_without_a_leader_asks_before_it_begins_a_new_epoch() -> None:
    replica = Replica()
    asked = to_prospective(replica)
    assert [send.node_id for send in asked] == [2, 3]
    assert all(send.request.topics[0].partitions[0].pre_vote for send in asked)  # type: ignore[attr-defined]
    assert replica.saved == ElectionState(0), "nothing has happened yet"
    replica.answer(granted(0), asked[0])
    assert replica.raft.role_name == "candidate"
    assert replica.saved == ElectionState(1, None, key(1))
    votes = replica.sent(VoteRequest)
    assert not any(send.request.topics[0].partitions[0].pre_vote for send in votes)  # type: ignore[attr-defined]
    replica.answer(granted(1), votes[1])
    assert replica.raft.is_leader
    assert [send.node_id for send in replica.sent(BeginQuorumEpochRequest)] == [2, 3]


def test_a_follower_that_loses_its_leader_asks_for_pre_votes_and_goes_back_if_it_gets_none() -> None:
    replica = Replica()
    replica.follow(2, epoch=5)
    asked = to_prospective(replica)
    assert replica.raft.leader_id == 2
    refusal = vote_response(NEWEST, leader_info(2, 5), ErrorCode.NONE, is_granted=False)
    replica.answer(refusal, asked[0])
    replica.answer(refusal, asked[1])
    assert (replica.raft.role_name, replica.raft.epoch) == ("follower", 5)


def test_a_lost_pre_vote_without_a_leader_is_tried_again_later() -> None:
    replica = Replica()
    asked = to_prospective(replica)
    replica.answer(granted(0, is_granted=False), asked[0])
    replica.answer(granted(0, is_granted=False), asked[1])
    assert replica.raft.role_name == "unattached"
    assert replica.raft.wake_at_ms > replica.now_ms
    assert to_prospective(replica)


def test_a_pre_vote_that_nobody_answers_is_begun_anew() -> None:
    replica = Replica()
    to_prospective(replica)
    first = replica.raft.wake_at_ms
    replica.wait(first - replica.now_ms)
    assert replica.raft.role_name == "prospective"
    assert replica.raft.epoch == 0


def test_an_election_that_nobody_answers_begins_with_a_pre_vote_again() -> None:
    replica = Replica()
    asked = to_prospective(replica)
    replica.answer(granted(0), asked[0])
    while replica.raft.role_name == "candidate":
        replica.wait(replica.raft.wake_at_ms - replica.now_ms)
    assert (replica.raft.role_name, replica.raft.epoch) == ("prospective", 1)


def test_a_lost_election_waits_for_its_end() -> None:
    replica = Replica()
    replica.answer(granted(0), to_prospective(replica)[0])
    votes = replica.sent(VoteRequest)
    replica.answer(granted(1, is_granted=False), votes[0])
    replica.answer(granted(1, is_granted=False), votes[1])
    assert replica.raft.role_name == "candidate"
    assert replica.out == []


def test_a_voter_that_knows_no_pre_votes_is_not_waited_for() -> None:
    replica = Replica()
    asked = to_prospective(replica)
    replica.answer(VoteResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, topics=[]), asked[0])
    assert replica.raft.role_name == "candidate"
    votes = replica.sent(VoteRequest)
    replica.answer(VoteResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, topics=[]), votes[0])
    assert replica.raft.role_name == "candidate"


@pytest.mark.parametrize(
    "response",
    [
        None,
        VoteResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, topics=[]),
        VoteResponse(topics=[]),
        granted(0, is_granted=False, error=ErrorCode.BROKER_NOT_AVAILABLE),
        granted(0, is_granted=False, error=ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_voter_that_cannot_answer_is_asked_again_after_a_pause(response: VoteResponse | None) -> None:
    replica = Replica()
    asked = to_prospective(replica)
    replica.answer(response, asked[0])
    assert replica.sent(VoteRequest) == []
    replica.wait(20)
    assert [send.node_id for send in replica.sent(VoteRequest)] == [2]


def test_a_voter_with_another_directory_is_asked_again_at_once() -> None:
    replica = Replica()
    asked = to_prospective(replica)
    replica.answer(granted(0, is_granted=False, error=ErrorCode.INVALID_VOTER_KEY), asked[0])
    assert [send.node_id for send in replica.sent(VoteRequest)] == [2]


def test_an_answer_from_a_later_epoch_ends_the_election() -> None:
    replica = Replica()
    asked = to_prospective(replica)
    replica.answer(vote_response(NEWEST, leader_info(None, 9), ErrorCode.NONE, is_granted=False), asked[0])
    assert (replica.raft.role_name, replica.raft.epoch) == ("unattached", 9)
    replica.answer(granted(0), asked[1])
    assert replica.raft.role_name == "unattached", "nobody waits for that one any more"


def test_an_answer_that_names_the_leader_is_believed() -> None:
    replica = Replica()
    asked = to_prospective(replica)
    replica.answer(vote_response(NEWEST, leader_info(3, 0), ErrorCode.NONE, is_granted=False), asked[0])
    assert (replica.raft.role_name, replica.raft.leader_id) == ("follower", 3)


def test_a_leader_named_without_its_address_is_looked_up_among_the_voters() -> None:
    replica = Replica()
    asked = to_prospective(replica)
    replica.answer(vote_response(Context(0, ""), leader_info(3, 0), ErrorCode.NONE, is_granted=False), asked[0])
    assert replica.sent(FetchRequest)[0].endpoint == endpoints(3)["CONTROLLER"]


def test_an_answer_of_an_earlier_epoch_is_out_of_date() -> None:
    replica = Replica(saved=ElectionState(3))
    asked = to_prospective(replica)
    replica.answer(granted(2), asked[0])
    assert replica.raft.role_name == "prospective"


def test_an_answer_that_calls_this_node_the_leader_is_not_believed() -> None:
    replica = Replica()
    asked = to_prospective(replica)
    replica.answer(vote_response(NEWEST, leader_info(1, 0), ErrorCode.NONE, is_granted=True), asked[0])
    assert replica.raft.role_name == "prospective"


def test_a_leader_that_hears_of_a_later_one_follows_it() -> None:
    replica = Replica()
    replica.run_for_leader()
    send = replica.sent(BeginQuorumEpochRequest)[0]
    later = begin_quorum_epoch_response(NEWEST, leader_info(3, 9), ErrorCode.FENCED_LEADER_EPOCH)
    replica.answer(later, send)
    assert (replica.raft.role_name, replica.raft.leader_id, replica.raft.epoch) == ("follower", 3, 9)


def test_a_leader_tells_those_who_do_not_fetch_again_and_again() -> None:
    replica = Replica()
    replica.run_for_leader()
    for send in replica.sent(BeginQuorumEpochRequest):
        replica.answer(None, send)
    replica.fetch_as(2)
    replica.wait(1000)
    assert [send.node_id for send in replica.sent(BeginQuorumEpochRequest)] == [3], "2 has fetched"
    answer = begin_quorum_epoch_response(NEWEST, leader_info(1, replica.raft.epoch), ErrorCode.NONE)
    replica.answer(answer)
    assert replica.raft.is_leader
    replica.fetch_as(3)
    replica.wait(999)
    assert replica.sent(BeginQuorumEpochRequest) == []


@pytest.mark.parametrize("kind", [BeginQuorumEpochResponse, EndQuorumEpochResponse])
def test_answers_without_content_are_failures(kind: Any) -> None:
    replica = Replica()
    replica.run_for_leader()
    send = replica.sent(BeginQuorumEpochRequest)[0]
    replica.answer(kind(topics=[]), send)
    assert replica.raft._state.peers.is_backing_off(send.node_id, replica.now_ms)


# Leaving


def test_a_leader_that_nobody_fetches_from_resigns_and_says_so() -> None:
    replica = Replica()
    replica.elect()
    epoch = replica.raft.epoch
    while replica.raft.is_leader:
        replica.wait(100)
    assert replica.now_ms - 10_000 >= 3000
    assert replica.of(LeaderChanged) == [LeaderChanged(None, epoch)]
    assert not replica.of(PersistQuorumState), "a restart would come out in the same place"
    asked = replica.sent(EndQuorumEpochRequest)
    assert [send.node_id for send in asked] == [2, 3]
    candidates = asked[0].request.topics[0].partitions[0].preferred_candidates  # type: ignore[attr-defined]
    assert [candidate.candidate_id for candidate in candidates] == [2, 3]
    replica.answer(end_quorum_epoch_response(NEWEST, leader_info(1, epoch), ErrorCode.NONE), asked[0])
    replica.answer(None, asked[1])
    replica.wait(20)
    assert [send.node_id for send in replica.sent(EndQuorumEpochRequest)] == [3]
    replica.answer(end_quorum_epoch_response(NEWEST, leader_info(1, epoch), ErrorCode.NONE))
    assert replica.raft.may_stop
    while replica.raft.role_name == "resigned":
        replica.wait(replica.raft.wake_at_ms - replica.now_ms)
    assert (replica.raft.role_name, replica.raft.epoch) == ("prospective", epoch + 1)


def test_a_node_that_shuts_down_does_not_stand_for_election() -> None:
    for replica in (Replica(), Replica(saved=ElectionState(4, None, key(1))), Replica(saved=ElectionState(4, 1))):
        role = replica.raft.role_name
        replica.perform(replica.raft.shut_down(replica.now_ms))
        replica.wait(60_000)
        assert replica.raft.role_name == role
    follower = Replica()
    follower.follow()
    follower.perform(follower.raft.shut_down(follower.now_ms))
    assert follower.wait(60_000) == []
    assert follower.raft.may_stop


def test_an_observer_never_stands_for_election() -> None:
    replica = Replica(node_id=9)
    replica.wait(60_000)
    assert replica.raft.role_name == "unattached"
    assert replica.sent(VoteRequest) == []
    replica.follow(2, epoch=5)
    replica.wait(60_000)
    assert replica.raft.role_name == "follower"


def test_an_answer_without_a_leader_in_the_same_epoch_changes_nothing() -> None:
    replica = Replica(saved=ElectionState(5))
    send = replica.sent(FetchRequest)[0]
    replica.answer(fetch_response(NEWEST_FETCH, leader_info(None, 5), ErrorCode.NOT_LEADER_OR_FOLLOWER), send)
    assert replica.raft.role_name == "unattached"


def test_a_node_that_is_behind_is_told_nothing_new() -> None:
    replica = Replica(saved=ElectionState(5))
    send = replica.sent(FetchRequest)[0]
    replica.answer(fetch_response(NEWEST_FETCH, leader_info(2, 5), ErrorCode.UNKNOWN_LEADER_EPOCH), send)
    assert replica.raft.role_name == "unattached"
