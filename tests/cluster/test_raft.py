"""The front of raft: what drivers call."""

from __future__ import annotations

import pytest

from ottla.cluster.raft_effects import Append, Flush, HighWatermark, LeaderChanged
from ottla.cluster.raft_log import OffsetAndEpoch
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.api_versions import ApiVersionsRequest
from ottla.wire.messages.quorum import EndQuorumEpochRequest
from tests.cluster.raft_replica import Replica, batch, log_with


def active(**world: object) -> Replica:
    replica = Replica(voters=(1,), **world)  # type: ignore[arg-type]
    replica.sync()
    return replica


def test_a_quorum_of_one_leads_from_the_start_and_is_active_when_its_first_record_is_synced() -> None:
    replica = Replica(voters=(1,))
    assert replica.raft.is_leader
    assert (replica.raft.role_name, replica.raft.epoch, replica.raft.leader_id) == ("leader", 1, 1)
    assert replica.raft.high_watermark == 0
    replica.sync()
    assert replica.raft.high_watermark == replica.raft.end.offset == 3
    assert replica.raft.end == OffsetAndEpoch(3, 1)


def test_a_leader_writes_what_is_proposed_and_says_when_it_is_committed() -> None:
    replica = active()
    replica.propose(b"a", b"b")
    assert replica.of(Append)[0].base_offset == 3
    assert replica.of(Flush)
    replica.sync()
    assert replica.of(HighWatermark) == [HighWatermark(5)]


@pytest.mark.parametrize("epoch", [0, 2])
def test_a_proposal_of_another_epoch_is_refused(epoch: int) -> None:
    replica = active()
    with pytest.raises(KafkaError) as refused:
        replica.raft.propose(batch(b"a"), 1, epoch, replica.now_ms)
    assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    replica.wait(1)


def test_nobody_proposes_before_the_leader_is_active_nor_without_one() -> None:
    waiting = Replica(voters=(1,))
    with pytest.raises(KafkaError):
        waiting.propose(b"a")
    follower = Replica()
    follower.follow()
    with pytest.raises(KafkaError):
        follower.propose(b"a")


def test_an_empty_proposal_is_our_mistake() -> None:
    replica = active()
    with pytest.raises(AssertionError):
        replica.raft.propose(b"", 0, 1, replica.now_ms)


def test_a_controller_that_cannot_go_on_resigns() -> None:
    replica = Replica()
    replica.elect()
    replica.perform(replica.raft.resign(0, replica.now_ms))
    assert replica.raft.is_leader, "that epoch is over"
    replica.perform(replica.raft.resign(1, replica.now_ms))
    assert replica.raft.role_name == "resigned"
    assert replica.of(LeaderChanged) == [LeaderChanged(None, 1)]


def test_a_leader_that_shuts_down_hands_over_first() -> None:
    replica = Replica()
    replica.elect()
    assert not replica.raft.may_stop
    replica.perform(replica.raft.shut_down(replica.now_ms))
    assert replica.sent(EndQuorumEpochRequest)
    assert not replica.raft.may_stop
    assert replica.fetch_as(3).responses[0].partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    alone = active()
    alone.perform(alone.raft.shut_down(alone.now_ms))
    assert alone.raft.may_stop


def test_an_answer_that_nobody_waits_for_is_dropped() -> None:
    replica = Replica()
    assert replica.perform(replica.raft.response(999, None, replica.now_ms)) == []


def test_other_requests_are_our_mistake() -> None:
    with pytest.raises(AssertionError, match="ApiVersionsRequest"):
        Replica().ask(ApiVersionsRequest())


def test_a_log_that_is_not_where_it_should_be_is_our_mistake() -> None:
    replica = Replica(log=log_with(1))
    replica.log.truncate(0)
    with pytest.raises(AssertionError, match="the log ends at 0"):
        replica.wait(1)


def test_a_sync_in_a_role_that_waits_for_none_changes_nothing() -> None:
    replica = Replica()
    assert replica.perform(replica.raft.log_flushed(7, replica.now_ms)) == []


def test_a_busy_leader_that_is_shutting_down_serves_nobody() -> None:
    replica = Replica()
    replica.elect()
    replica.raft._state.is_shutting_down = True
    assert replica.raft._state.leader_request_error(1) is ErrorCode.BROKER_NOT_AVAILABLE


def test_moves_without_end_are_our_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    replica = Replica(saved=None)

    def move(now_ms: int) -> int:
        replica.raft._state.become_unattached(replica.raft.epoch + 1, now_ms)
        return now_ms

    monkeypatch.setattr(replica.raft, "_poll", move)
    with pytest.raises(AssertionError, match="no end of moves"):
        replica.wait(1)
