"""Placement: leaders on live brokers and spread evenly, replicas over racks, nothing twice."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.cluster.placement import UsableBroker, place
from ottla.wire.errors import ErrorCode, KafkaError


def brokers(*ids: int, rack: str | None = None, fenced: bool = False) -> list[UsableBroker]:
    return [UsableBroker(id, rack, fenced) for id in ids]


def test_leaders_and_replicas_go_round_the_brokers() -> None:
    placed = place(brokers(0, 1, 2, 3), Random(1), partition_count=8, replication_factor=2)
    assert Counter(replicas[0] for replicas in placed) == {0: 2, 1: 2, 2: 2, 3: 2}
    assert max(Counter(replica for replicas in placed for replica in replicas).values()) <= 5


def test_no_partition_has_two_replicas_on_one_rack_while_there_is_another() -> None:
    racks = brokers(1, 2, rack="a") + brokers(3, 4, rack="b") + brokers(5, rack="c")
    rack_of = {broker.id: broker.rack for broker in racks}
    for replicas in place(racks, Random(2), partition_count=50, replication_factor=3):
        assert {rack_of[replica] for replica in replicas} == {"a", "b", "c"}


def test_brokers_without_a_rack_are_a_rack_of_their_own() -> None:
    mixed = brokers(1, 2) + brokers(3, rack="a")
    for replicas in place(mixed, Random(3), partition_count=20, replication_factor=2):
        assert 3 in replicas


def test_a_fenced_broker_follows_where_it_must_and_never_leads() -> None:
    placed = place(brokers(1, 2) + brokers(3, fenced=True), Random(4), partition_count=30, replication_factor=3)
    assert all(replicas[0] != 3 and set(replicas) == {1, 2, 3} for replicas in placed)
    assert Counter(replicas[0] for replicas in placed) == {1: 15, 2: 15}


def test_a_fenced_broker_gets_nothing_while_others_of_its_rack_can() -> None:
    placed = place(brokers(1, 2) + brokers(3, fenced=True), Random(4), partition_count=30, replication_factor=2)
    assert all(3 not in replicas for replicas in placed)


@pytest.mark.parametrize(
    ("usable", "replication_factor", "reason"),
    [
        (brokers(1, 2), 0, "replication factor is 0"),
        (brokers(1, 2), 3, "3 with 2 brokers"),
        (brokers(1, 2, fenced=True), 1, "no broker is unfenced"),
        ([], 1, "no broker is unfenced"),
    ],
)
def test_what_cannot_be_placed_is_refused(usable: list[UsableBroker], replication_factor: int, reason: str) -> None:
    with pytest.raises(KafkaError, match=reason) as refused:
        place(usable, Random(5), partition_count=1, replication_factor=replication_factor)
    assert refused.value.code == ErrorCode.INVALID_REPLICATION_FACTOR


@given(st.data())
def test_whatever_the_cluster_every_partition_is_placed_as_wished(data: st.DataObject) -> None:
    racks = st.sampled_from([None, "a", "b", "c"])
    kinds = data.draw(st.lists(st.tuples(racks, st.booleans()), min_size=1, max_size=8))
    usable = [UsableBroker(id, rack, fenced and id > 0) for id, (rack, fenced) in enumerate(kinds)]
    factor = data.draw(st.integers(1, len(usable)))
    placed = place(usable, Random(data.draw(st.integers(0, 99))), partition_count=40, replication_factor=factor)
    unfenced = {broker.id for broker in usable if not broker.fenced}
    rack_of = {broker.id: broker.rack for broker in usable}
    rack_count = len(set(rack_of.values()))
    for replicas in placed:
        assert len(set(replicas)) == factor
        assert replicas[0] in unfenced
        assert len({rack_of[replica] for replica in replicas}) == min(factor, rack_count)
