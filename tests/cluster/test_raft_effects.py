"""The contract between raft and its driver, seen from the order of effects."""

from __future__ import annotations

import dataclasses

import pytest

from ottla.cluster.raft_effects import Append, Effect, Flush, LeaderChanged, PersistQuorumState, Reply
from ottla.cluster.raft_log import OffsetAndEpoch
from ottla.cluster.raft_messages import vote_request
from tests.cluster.raft_replica import CLUSTER, Replica, key


def test_effects_are_values_that_nobody_changes() -> None:
    for kind in Effect.__args__:
        assert dataclasses.is_dataclass(kind)
        assert kind.__doc__
    with pytest.raises(dataclasses.FrozenInstanceError):
        Flush(1).id = 2  # type: ignore[misc]


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
