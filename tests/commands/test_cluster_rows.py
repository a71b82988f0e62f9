"""A partition as a row: who is in sync, who lags, and what is not known."""

from __future__ import annotations

from typing import Any

from ottla.client.metadata import TopicPartition
from ottla.commands.cluster_rows import by_broker, partition_rows, replicas_text, state_of, with_offsets
from ottla.wire.messages.metadata import MetadataResponse

PLACE = TopicPartition("t", 0)


def row(leader: int = 1, isr: tuple[int, ...] = (1, 2), offline: tuple[int, ...] = ()) -> dict[str, Any]:
    partition = MetadataResponse.MetadataResponsePartition(
        partition_index=0,
        leader_id=leader,
        leader_epoch=5,
        replica_nodes=[1, 2, 3],
        isr_nodes=list(isr),
        offline_replicas=list(offline),
    )
    topic = MetadataResponse.MetadataResponseTopic(name="t", partitions=[partition])
    (found,) = partition_rows([topic])
    return found


def test_who_is_not_in_sync_is_told() -> None:
    found = row()
    assert (found["assigned"], found["inSync"], found["outOfSync"]) == ([1, 2, 3], [1, 2], [3])
    assert state_of(found) == "under-replicated"
    assert state_of(row(isr=(3, 1, 2))) == "ok"
    assert state_of(row(leader=-1)) == "offline"


def test_lag_is_what_the_leader_has_and_a_replica_has_not() -> None:
    found = with_offsets(row(), {(1, PLACE): 10, (2, PLACE): 8}, {(1, PLACE): 8})
    assert found["highWatermark"] == 8
    assert [one["lag"] for one in found["replicas"]] == [0, 2, None]
    assert [one["isLeader"] for one in found["replicas"]] == [True, False, False]
    assert [one["isInSync"] for one in found["replicas"]] == [True, True, False]
    assert replicas_text(found) == "1:10 2:8(-2) 3:?"


def test_a_follower_that_was_asked_later_may_be_ahead() -> None:
    assert with_offsets(row(), {(1, PLACE): 10, (2, PLACE): 11}, {})["replicas"][1]["lag"] == 0


def test_without_a_leader_nobody_lags() -> None:
    found = with_offsets(row(leader=-1), {(1, PLACE): 10}, {})
    assert [one["lag"] for one in found["replicas"]] == [None, None, None]
    assert found["highWatermark"] is None


def test_those_who_are_there_are_asked() -> None:
    rows = [row(offline=(3,)), {**row(leader=-1), "partition": 1}]
    assert by_broker(rows, only_leaders=True) == {1: [PLACE]}
    other = TopicPartition("t", 1)
    assert by_broker(rows, only_leaders=False) == {1: [PLACE, other], 2: [PLACE, other], 3: [other]}
