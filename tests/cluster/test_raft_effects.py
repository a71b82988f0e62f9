"""The contract between raft and its driver, seen from the order of effects."""

from __future__ import annotations

import pytest

from ottla.cluster.raft_effects import (
    Append,
    Effect,
    Flush,
    HighWatermark,
    LeaderChanged,
    PersistQuorumState,
    Reply,
    Value,
    VotersChanged,
)
from ottla.cluster.raft_log import OffsetAndEpoch
from ottla.cluster.raft_messages import vote_request
from tests.cluster.raft_replica import CLUSTER, Replica, key


def test_effects_are_values_that_nobody_changes() -> None:
    for kind in Effect.__args__:
        assert issubclass(kind, Value)
        assert kind.__doc__
    with pytest.raises(AttributeError):
        Flush(1).id = 2  # type: ignore[misc]


def test_effects_are_equal_by_kind_and_fields_and_have_exactly_those_that_are_declared() -> None:
    assert LeaderChanged(1, 2) == LeaderChanged(1, 2)
    assert LeaderChanged(1, 2) != LeaderChanged(1, 3)
    assert Flush(5) != HighWatermark(5)
    assert VotersChanged() == VotersChanged()
    assert repr(LeaderChanged(None, 2)) == "LeaderChanged(leader_id=None, epoch=2)"
    with pytest.raises(ValueError, match="shorter"):
        LeaderChanged(1)  # type: ignore[call-arg]


def test_a_vote_is_persisted_before_it_is_given() -> None:
    replica = Replica()
    replica.ask(vote_request(CLUSTER, 7, key(2), key(1), OffsetAndEpoch(0, 0), is_pre_vote=False))
    kinds = [type(effect) for effect in replica.out]
    assert kinds.index(Reply) > max(at for at, kind in enumerate(kinds) if kind is PersistQuorumState)
    assert replica.saved is not None
    assert replica.saved.voted == key(2)


def test_a_leader_persists_that_it_leads_before_it_writes_and_syncs_after() -> None:
    replica = Replica(voters=(1,))
    kinds = [type(effect) for effect in replica.out]
    last_persist = max(at for at, kind in enumerate(kinds) if kind is PersistQuorumState)
    assert last_persist < kinds.index(Append) < kinds.index(Flush)
    assert replica.out[kinds.index(Append) - 1] == LeaderChanged(1, 1)
    assert replica.saved is not None
    assert replica.saved.leader_id == 1
