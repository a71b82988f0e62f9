"""The roles a node starts in, and the moves that are not allowed."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.cluster.quorum_state import ElectionState
from ottla.cluster.raft_effects import LeaderChanged, PersistQuorumState, Send
from ottla.cluster.raft_log import ControlRecord, OffsetAndEpoch
from ottla.cluster.raft_messages import (
    begin_quorum_epoch_request,
    end_quorum_epoch_request,
    vote_request,
    vote_response,
)
from ottla.cluster.raft_state import EPOCH_MAX
from ottla.cluster.voters import Endpoint, VoterSet
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.fetch import FetchRequest
from ottla.wire.messages.quorum import VoteRequest
from ottla.wire.records import ControlType, RecordBatch, control_type, iter_records
from tests.cluster.raft_replica import (
    CLUSTER,
    LISTENER,
    NEWEST,
    Replica,
    endpoints,
    key,
    leader_info,
    log_with,
    voter,
)


def start(**world: object) -> Replica:
    return Replica(**world)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("saved", "role", "leader_id", "epoch"),
    [
        (None, "unattached", None, 2),
        (ElectionState(1, 3), "unattached", None, 2),  # older than the log
        (ElectionState(4, 1), "resigned", 1, 4),
        (ElectionState(4, None, key(1)), "candidate", None, 4),
        (ElectionState(4, None, key(3)), "unattached", None, 4),
        (ElectionState(4, 2), "follower", 2, 4),
        (ElectionState(4, 2, key(1)), "follower", 2, 4),  # voted for itself, and 2 was elected
        (ElectionState(4, 7), "unattached", 7, 4),  # a leader that nobody can reach
    ],
)
def test_a_node_starts_in_the_role_it_stopped_in(
    saved: ElectionState | None, role: str, leader_id: int | None, epoch: int
) -> None:
    replica = start(log=log_with(1, 2), saved=saved)
    assert (replica.raft.role_name, replica.raft.leader_id, replica.raft.epoch) == (role, leader_id, epoch)
    assert isinstance(replica.out[0], PersistQuorumState)
    announced = None if role == "resigned" else leader_id
    assert replica.of(LeaderChanged) == [LeaderChanged(announced, epoch)]


def test_a_vote_is_remembered_over_a_restart() -> None:
    replica = start(saved=ElectionState(4, None, key(3)))
    request = vote_request(CLUSTER, 4, key(2), key(1), OffsetAndEpoch(9, 3), is_pre_vote=False)
    assert not replica.ask(request).topics[0].partitions[0].vote_granted
    request = vote_request(CLUSTER, 4, key(3), key(1), OffsetAndEpoch(9, 3), is_pre_vote=False)
    assert replica.ask(request).topics[0].partitions[0].vote_granted


def test_a_node_that_is_no_voter_any_more_does_not_go_on_as_a_candidate() -> None:
    replica = start(node_id=9, saved=ElectionState(4, None, key(9)))
    assert replica.raft.role_name == "unattached"


def test_a_node_that_is_about_to_be_removed_still_stands_for_election() -> None:
    replica = start(log=log_with(1, 1, 1), voters=(1, 2))
    state = replica.raft._state
    state.history.add(ControlRecord(2, VoterSet([voter(2)])))
    assert not state.is_voter
    assert state.is_electable
    replica.run_for_leader()
    assert replica.raft.is_leader
    assert 1 not in replica.raft.voters.ids, "the record stays as it is"


def test_a_quorum_of_one_goes_through_all_roles_at_once_even_after_it_led_before() -> None:
    replica = start(voters=(1,), saved=ElectionState(4, 1), log=log_with(4))
    assert replica.raft.is_leader
    assert replica.raft.epoch == 5


def test_a_quorum_of_one_that_stopped_as_a_candidate_leads_in_that_epoch() -> None:
    replica = start(voters=(1,), saved=ElectionState(4, None, key(1)))
    assert replica.raft.is_leader
    assert replica.raft.epoch == 4


def first_records(replica: Replica) -> list[ControlType | None]:
    batch = RecordBatch(memoryview(replica.log.batches[-1].data))
    assert batch.is_control
    return [control_type(record.key) for record in iter_records(batch, bytes_max=10_000)]


def test_the_first_leader_writes_the_voters_it_was_formatted_with_into_the_log() -> None:
    replica = start(voters=(1,))
    assert first_records(replica) == [ControlType.LEADER_CHANGE, ControlType.KRAFT_VERSION, ControlType.KRAFT_VOTERS]
    assert replica.raft.voters_at(3) == replica.raft.voters
    assert replica.raft.kraft_version_at(3) == 1
    assert replica.raft.kraft_version == 1


def test_a_later_leader_writes_them_only_if_it_has_moved() -> None:
    first = start(voters=(1,))
    first.sync()
    again = start(voters=(1,), log=first.log, saved=first.saved)
    assert first_records(again) == [ControlType.LEADER_CHANGE]
    again.sync()
    moved = start(voters=(1,), log=again.log, saved=again.saved, endpoints={LISTENER: Endpoint("elsewhere", 1)})
    assert first_records(moved)[1:] == [ControlType.KRAFT_VERSION, ControlType.KRAFT_VOTERS]
    assert moved.raft.voters.endpoints(1) == {LISTENER: Endpoint("elsewhere", 1)}


def test_with_static_voters_nothing_is_written_of_them() -> None:
    replica = start(voters=(1,), is_dynamic=False)
    assert first_records(replica) == [ControlType.LEADER_CHANGE]
    assert replica.raft.kraft_version == 0


def test_a_new_node_asks_the_bootstrap_servers_and_not_itself() -> None:
    servers = (Endpoint("a", 1), Endpoint("b", 2), Endpoint("host-9", 9009))
    replica = start(node_id=9, voters=(), bootstrap_servers=servers)
    asked = replica.sent(FetchRequest)
    assert [send.node_id in (-2, -3) for send in asked] == [True]
    state = replica.raft._state
    assert [id for id, _ in state.bootstrap_servers()] == [-2, -3]


def test_voters_are_asked_as_well_as_bootstrap_servers() -> None:
    replica = start(node_id=9, voters=(1, 2), bootstrap_servers=(Endpoint("host-1", 9001),))
    assert [id for id, _ in replica.raft._state.bootstrap_servers()] == [-2, 2]


def test_a_voter_without_our_listener_is_not_asked() -> None:
    log = log_with()
    elsewhere = voter(2)._replace(endpoints={"ANOTHER": Endpoint("h", 1)})
    records = [ControlRecord(-1, 1), ControlRecord(-1, VoterSet([voter(1), elsewhere]))]
    log.add_snapshot(OffsetAndEpoch(0, 0), b"", records)
    replica = start(log=log)
    replica.wait(5_000)
    assert replica.raft.role_name == "prospective"
    assert replica.sent(VoteRequest) == []
    assert replica.of(Send) == []


def test_moves_that_raft_does_not_know_are_our_mistakes() -> None:
    leader = start(voters=(1,)).raft._state
    with pytest.raises(AssertionError):
        leader.become_prospective(0)
    with pytest.raises(AssertionError):
        leader.become_candidate(0)
    with pytest.raises(AssertionError):
        leader.become_unattached(leader.epoch, 0)
    with pytest.raises(AssertionError):
        leader.become_follower(leader.epoch, 2, {}, 0)
    observer = start(node_id=9).raft._state
    with pytest.raises(AssertionError):
        observer.become_prospective(0)
    with pytest.raises(AssertionError):
        observer.resign(0)
    with pytest.raises(AssertionError):
        observer.vote_for(key(9), 0)


def test_a_sync_begun_before_the_log_was_cut_says_nothing_of_what_came_after() -> None:
    state = start(log=log_with(1, 1, 1)).raft._state
    state.end = OffsetAndEpoch(5, 1)
    state.flush()
    state.log_replaced(OffsetAndEpoch(2, 1))
    state.end = OffsetAndEpoch(5, 2)
    state.flushed(1)
    assert state.flushed_offset == 2
    state.flush()
    state.flushed(2)
    assert state.flushed_offset == 5


# The last epoch that there can be


def test_the_only_voter_lets_nobody_talk_it_into_another_epoch() -> None:
    """Nobody else can have been elected: whoever votes besides, this node's own log says so first."""
    replica = Replica(voters=(1,))
    replica.sync()
    request: Any
    for request in (
        vote_request(CLUSTER, 9, key(2), key(1), OffsetAndEpoch(1000, 8), is_pre_vote=False),
        begin_quorum_epoch_request(CLUSTER, 9, 2, endpoints(2), key(1)),
        end_quorum_epoch_request(CLUSTER, 9, 2, endpoints(2), [key(2)]),
    ):
        answer: Any = replica.ask(request)
        assert answer.topics[0].partitions[0].error_code == ErrorCode.INVALID_REQUEST
    assert (replica.raft.is_leader, replica.raft.epoch) == (True, 1)


def test_after_the_last_epoch_there_is_no_election() -> None:
    """Class 13: whoever says that it has come ends no process, now or at its next start."""
    replica = Replica(log=log_with(1, 2))
    end = OffsetAndEpoch(9, 9)
    replica.ask(vote_request(CLUSTER, EPOCH_MAX, key(2), key(1), end, is_pre_vote=False))
    granted = vote_response(NEWEST, leader_info(None, EPOCH_MAX), ErrorCode.NONE, is_granted=True)
    for _ in range(20):
        replica.wait(1000)
        for send in replica.of(Send):
            if isinstance(send.request, VoteRequest):
                replica.answer(granted, send)
    assert replica.raft.epoch == EPOCH_MAX
    assert replica.saved is not None
    assert replica.saved.epoch == EPOCH_MAX


def test_the_leader_of_the_last_epoch_does_not_lead_after_a_restart() -> None:
    replica = Replica(log=log_with(1, 2), saved=ElectionState(EPOCH_MAX, 1))
    for _ in range(20):
        replica.wait(1000)
    assert (replica.raft.role_name, replica.raft.epoch) == ("resigned", EPOCH_MAX)
