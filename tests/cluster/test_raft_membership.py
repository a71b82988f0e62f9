"""Changes of the voters, one at a time."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.cluster.quorum_state import ElectionState
from ottla.cluster.raft_effects import Flush, LeaderChanged, VotersChanged
from ottla.cluster.raft_messages import add_voter_request, remove_voter_request, update_voter_request
from ottla.cluster.voters import Endpoint, KRaftVersions, ReplicaKey, Voter
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.wire.messages.fetch import FetchRequest
from ottla.wire.messages.quorum import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    EndQuorumEpochRequest,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
)
from tests.cluster.raft_replica import CLUSTER, LISTENER, Replica, endpoints, key, voter


def leading(voters: tuple[int, ...] = (1,), **world: Any) -> Replica:
    """An active leader with all its records synced."""
    replica = Replica(voters=voters, **world)
    if len(voters) > 1:
        replica.elect()
    else:
        replica.sync()
    return replica


def add(node_id: int, *, waits: bool = True, **changes: Any) -> AddRaftVoterRequest:
    request = add_voter_request(changes.get("cluster_id", CLUSTER), changes.get("voter", voter(node_id)), 1000)
    request.ack_when_committed = waits
    return request


def supporting(low: int, high: int) -> ApiVersionsResponse:
    feature = ApiVersionsResponse.SupportedFeatureKey(name="kraft.version", min_version=low, max_version=high)
    other = ApiVersionsResponse.SupportedFeatureKey(name="metadata.version", min_version=7, max_version=20)
    return ApiVersionsResponse(api_keys=[], supported_features=[other, feature])


# Adding


def test_an_observer_that_has_caught_up_becomes_a_voter() -> None:
    replica = leading()
    replica.fetch_as(2, wait_ms=0)
    assert replica.ask(add(2)) is None
    token = replica.last_token
    asked = replica.sent(ApiVersionsRequest)[0]
    assert (asked.node_id, asked.endpoint) == (2, endpoints(2)[LISTENER])
    replica.answer(supporting(0, 1))
    assert replica.of(VotersChanged)
    assert replica.of(Flush)
    assert replica.raft.voters.ids == [1, 2]
    replica.sync()
    assert token not in replica.replies, "the new set has two, and one of them has it"
    replica.fetch_as(2)
    response = replica.replies[token]
    assert isinstance(response, AddRaftVoterResponse)
    assert response.error_code == ErrorCode.NONE
    assert replica.raft.is_leader


def test_one_who_does_not_want_to_wait_is_answered_when_it_is_written() -> None:
    replica = leading()
    replica.fetch_as(2, wait_ms=0)
    replica.ask(add(2, waits=False))
    token = replica.last_token
    replica.answer(supporting(0, 1))
    assert replica.replies.pop(token).error_code == ErrorCode.NONE  # type: ignore[attr-defined]
    assert replica.ask(add(3)).error_code == ErrorCode.REQUEST_TIMED_OUT, "the change is still under way"
    replica.fetch_as(2)
    replica.sync()
    assert token not in replica.replies, "one answer is enough"
    replica.fetch_as(2, wait_ms=0)
    assert replica.ask(remove_voter_request(CLUSTER, key(2))) is None, "now the next may come"


def test_a_node_that_dismisses_its_leadership_does_not_answer_twice() -> None:
    replica = leading()
    replica.fetch_as(2, wait_ms=0)
    replica.ask(add(2, waits=False))
    token = replica.last_token
    replica.answer(supporting(0, 1))
    replica.replies.clear()
    replica.follow(2, epoch=9)
    assert token not in replica.replies


@pytest.mark.parametrize(
    ("response", "error"),
    [
        (ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[]), ErrorCode.REQUEST_TIMED_OUT),
        (ApiVersionsResponse(api_keys=[]), ErrorCode.INVALID_REQUEST),
        (supporting(0, 0), ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_node_that_cannot_follow_the_feature_is_not_added(response: ApiVersionsResponse, error: ErrorCode) -> None:
    replica = leading()
    replica.fetch_as(2, wait_ms=0)
    replica.ask(add(2))
    replica.answer(response)
    assert replica.replies[replica.last_token].error_code == error  # type: ignore[attr-defined]
    assert replica.raft.voters.ids == [1]


def test_a_node_that_is_behind_is_not_added() -> None:
    replica = leading()
    replica.ask(add(2))
    replica.answer(supporting(0, 1))
    assert replica.replies[replica.last_token].error_code == ErrorCode.REQUEST_TIMED_OUT  # type: ignore[attr-defined]


def test_a_change_that_takes_too_long_is_given_up() -> None:
    replica = leading()
    replica.ask(add(2))
    token = replica.last_token
    send = replica.sent(ApiVersionsRequest)[0]
    replica.wait(1999)
    assert token not in replica.replies
    assert replica.raft.wake_at_ms == replica.now_ms + 1
    replica.wait(1)
    assert replica.replies[token].error_code == ErrorCode.REQUEST_TIMED_OUT  # type: ignore[attr-defined]
    replica.answer(supporting(0, 1), send)
    assert replica.raft.voters.ids == [1], "an answer after that is dropped"


def test_an_answer_that_comes_after_the_next_change_has_begun_is_not_taken_for_its_own() -> None:
    replica = leading()
    replica.ask(add(2))
    late = replica.sent(ApiVersionsRequest)[0]
    replica.wait(2000)
    replica.fetch_as(3, wait_ms=0)
    replica.ask(add(3))
    token, send = replica.last_token, replica.sent(ApiVersionsRequest)[0]
    replica.answer(supporting(0, 1), late)
    assert replica.raft.voters.ids == [1]
    replica.answer(supporting(0, 1), send)
    assert replica.raft.voters.ids == [1, 3]
    assert token not in replica.replies


def test_a_leader_that_leaves_says_so_to_those_who_wait_for_a_change() -> None:
    replica = leading()
    replica.ask(add(2))
    token = replica.last_token
    replica.perform(replica.raft.resign(replica.raft.epoch, replica.now_ms))
    assert replica.replies[token].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (add(2, cluster_id="another"), ErrorCode.INCONSISTENT_CLUSTER_ID),
        (add(2, voter=Voter(ReplicaKey(2), endpoints(2))), ErrorCode.INVALID_REQUEST),
        (add(2, voter=Voter(key(2)._replace(id=-1), endpoints(2))), ErrorCode.INVALID_REQUEST),
        (add(2, voter=Voter(key(2), {"ANOTHER": Endpoint("h", 1)})), ErrorCode.INVALID_REQUEST),
        (add(1), ErrorCode.DUPLICATE_VOTER),
        (remove_voter_request("another", key(2)), ErrorCode.INCONSISTENT_CLUSTER_ID),
        (remove_voter_request(CLUSTER, ReplicaKey(1)), ErrorCode.INVALID_REQUEST),
        (remove_voter_request(CLUSTER, key(2)), ErrorCode.VOTER_NOT_FOUND),
        (remove_voter_request(CLUSTER, key(1)), ErrorCode.VOTER_NOT_FOUND),  # the last one
    ],
)
def test_changes_that_are_refused(request_: Any, error: ErrorCode) -> None:
    replica = leading()
    response = replica.ask(request_)
    assert response.error_code == error
    assert response.error_message


def test_a_refusal_fits_into_a_response_however_long_what_it_names() -> None:
    response = leading().ask(add(2, cluster_id="x" * 32_767))
    assert response.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
    assert len(response.error_message or "") == 1_000


def test_only_the_leader_changes_the_voters() -> None:
    replica = Replica()
    assert replica.ask(add(4)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert replica.ask(remove_voter_request(CLUSTER, key(2))).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_nothing_changes_before_the_leader_has_committed_a_record_of_its_epoch() -> None:
    replica = Replica(voters=(1, 2))
    replica.run_for_leader()
    assert replica.ask(add(3)).error_code == ErrorCode.REQUEST_TIMED_OUT


def test_nothing_changes_while_the_voters_are_those_of_the_configuration() -> None:
    replica = leading(is_dynamic=False)
    assert replica.ask(add(3)).error_code == ErrorCode.UNSUPPORTED_VERSION
    assert replica.ask(remove_voter_request(CLUSTER, key(1))).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_nothing_changes_while_the_last_change_is_not_committed() -> None:
    replica = leading((1, 2, 3))
    assert replica.ask(update(replica, voter(3)._replace(endpoints=elsewhere(3)))).error_code == ErrorCode.NONE
    assert replica.ask(add(4)).error_code == ErrorCode.REQUEST_TIMED_OUT


def test_a_node_that_is_being_asked_something_cannot_be_asked_more() -> None:
    replica = leading((1, 2, 3))
    replica.fetch_as(3)
    replica.ask(remove_voter_request(CLUSTER, key(2)))
    replica.sync()
    replica.fetch_as(3)
    assert replica.raft.voters.ids == [1, 3]
    # A question to node 2 from when it was a voter is still in flight.
    assert replica.ask(add(2)).error_code == ErrorCode.REQUEST_TIMED_OUT


# Removing


def test_a_voter_is_removed_when_the_others_have_that_on_disk() -> None:
    replica = leading((1, 2, 3))
    assert replica.ask(remove_voter_request(CLUSTER, key(3))) is None
    token = replica.last_token
    assert replica.raft.voters.ids == [1, 2]
    replica.sync()
    replica.fetch_as(3)
    assert token not in replica.replies
    replica.fetch_as(2)
    response = replica.replies[token]
    assert isinstance(response, RemoveRaftVoterResponse)
    assert response.error_code == ErrorCode.NONE


def test_a_leader_that_is_removed_leads_until_that_is_committed_and_does_not_count_itself() -> None:
    replica = leading((1, 2, 3))
    replica.ask(remove_voter_request(CLUSTER, key(1)))
    token = replica.last_token
    replica.sync()
    replica.fetch_as(2)
    assert replica.raft.is_leader
    assert token not in replica.replies
    replica.fetch_as(3)
    assert replica.replies[token].error_code == ErrorCode.NONE  # type: ignore[attr-defined]
    assert replica.raft.role_name == "resigned"
    assert replica.of(LeaderChanged) == [LeaderChanged(None, 1)]
    assert [send.node_id for send in replica.sent(EndQuorumEpochRequest)] == [2, 3]
    while replica.raft.role_name == "resigned":
        replica.wait(replica.raft.wake_at_ms - replica.now_ms)
    replica.wait(60_000)
    assert (replica.raft.role_name, replica.raft.epoch) == ("unattached", 2), "it has no say any more"


# Updating


def elsewhere(node_id: int) -> dict[str, Endpoint]:
    return {LISTENER: Endpoint("elsewhere", node_id)}


def update(replica: Replica, changed: Voter, epoch: int | None = None) -> UpdateRaftVoterRequest:
    return update_voter_request(CLUSTER, replica.raft.epoch if epoch is None else epoch, changed)


def test_a_voter_that_moved_is_written_at_its_new_place() -> None:
    replica = leading((1, 2, 3))
    response = replica.ask(update(replica, voter(2)._replace(endpoints=elsewhere(2))))
    assert isinstance(response, UpdateRaftVoterResponse)
    assert response.error_code == ErrorCode.NONE
    assert (response.current_leader.leader_id, response.current_leader.port) == (1, 9001)
    assert replica.raft.voters.endpoints(2) == elsewhere(2)


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        (voter(4), ErrorCode.VOTER_NOT_FOUND),
        (Voter(ReplicaKey(2, b"x" * 16), endpoints(2)), ErrorCode.VOTER_NOT_FOUND),
        (voter(2)._replace(kraft_versions=KRaftVersions(0, 0)), ErrorCode.INVALID_REQUEST),
        (voter(2)._replace(kraft_versions=KRaftVersions(2, 1)), ErrorCode.INVALID_REQUEST),
        (voter(2)._replace(kraft_versions=KRaftVersions(-1, 1)), ErrorCode.INVALID_REQUEST),
        (Voter(key(2), {}), ErrorCode.INVALID_REQUEST),
    ],
)
def test_updates_that_are_refused(changed: Voter, error: ErrorCode) -> None:
    replica = leading((1, 2, 3))
    assert replica.ask(update(replica, changed)).error_code == error


def test_an_update_for_another_leader_is_told_of_the_right_one() -> None:
    replica = Replica()
    replica.follow(2, epoch=5)
    response = replica.ask(update(replica, voter(3)))
    assert response.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (response.current_leader.leader_id, response.current_leader.host) == (2, "host-2")
    assert replica.ask(update(replica, voter(3), epoch=4)).error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert replica.ask(update(replica, voter(3)), listener="ANOTHER").current_leader.host == ""


# What a node asks for itself


def following(**world: Any) -> Replica:
    return Replica(saved=ElectionState(5, 2), **world)


def after_a_while(replica: Replica) -> None:
    """One fetch timeout, in which the leader answers every Fetch."""
    for _ in range(4):
        replica.now_ms += 500
        replica.answer(replica.fetched())


def test_a_voter_that_moved_asks_to_be_updated() -> None:
    replica = following(endpoints=elsewhere(1))
    after_a_while(replica)
    request = replica.sent(UpdateRaftVoterRequest)[0].request
    assert isinstance(request, UpdateRaftVoterRequest)
    assert request.listeners[0].host == "elsewhere"
    replica.answer(UpdateRaftVoterResponse(error_code=ErrorCode.REQUEST_TIMED_OUT))
    assert replica.sent(UpdateRaftVoterRequest) == [], "once in a fetch timeout"
    assert replica.raft._state.peers.is_backing_off(2, replica.now_ms)


def test_a_voter_that_is_written_as_it_is_asks_for_nothing() -> None:
    replica = following()
    after_a_while(replica)
    assert replica.sent(UpdateRaftVoterRequest) == []
    assert replica.sent(FetchRequest)


def test_static_voters_ask_for_nothing() -> None:
    replica = following(is_dynamic=False, endpoints=elsewhere(1))
    after_a_while(replica)
    assert replica.sent(UpdateRaftVoterRequest) == []


def test_an_observer_asks_to_become_a_voter_only_where_that_is_wanted() -> None:
    replica = following(node_id=9)
    after_a_while(replica)
    assert replica.sent(AddRaftVoterRequest) == []
    replica = following(node_id=9, is_auto_join_enabled=True)
    after_a_while(replica)
    request = replica.sent(AddRaftVoterRequest)[0].request
    assert isinstance(request, AddRaftVoterRequest)
    assert (request.voter_id, request.ack_when_committed) == (9, False)
    replica.answer(AddRaftVoterResponse(error_code=ErrorCode.REQUEST_TIMED_OUT, error_message=None))
    assert replica.sent(FetchRequest), "what came of it is in the log"


def test_a_node_that_lost_its_disk_has_its_old_self_removed_first() -> None:
    replica = following(node_id=3, directory_id=b"n" * 16, is_auto_join_enabled=True)
    after_a_while(replica)
    request = replica.sent(RemoveRaftVoterRequest)[0].request
    assert isinstance(request, RemoveRaftVoterRequest)
    assert request.voter_directory_id == key(3).directory_id


def test_a_leader_that_cannot_be_reached_by_our_listener_is_not_asked() -> None:
    replica = following(endpoints=elsewhere(1))
    role = replica.raft._state.role
    role.leader_endpoints = {"ANOTHER": Endpoint("h", 1)}  # type: ignore[misc]
    replica.now_ms += 1999
    replica.answer(replica.fetched())
    replica.wait(1)
    assert replica.sent(UpdateRaftVoterRequest) == []
