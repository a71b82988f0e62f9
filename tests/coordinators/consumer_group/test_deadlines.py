"""Members that are given up, and those that are not."""

from __future__ import annotations

from ottla.wire.errors import ErrorCode, KafkaError
from tests.coordinators.consumer_group.world import ORDERS, ConsumerWorld


def test_a_member_that_is_not_heard_of_is_removed() -> None:
    world = ConsumerWorld()
    world.enter("a")
    world.advance(40_000)
    world.good(world.beat("a", 2))
    world.advance(44_999)
    assert list(world.group.members) == ["a"]
    world.advance(1)
    assert world.group.is_empty


def test_a_member_that_does_not_give_back_in_time_is_removed() -> None:
    world = ConsumerWorld()
    world.enter("a", timeout_ms=10_000)
    world.advance(2_000)
    world.enter("b")
    for _ in range(4):
        world.good(world.beat("a", 2, owned={ORDERS: [0, 1, 2, 3]}))
        world.good(world.beat("b", 3))
        world.advance(2_500)
    assert list(world.group.members) == ["b"]


def test_a_member_that_gives_back_stays() -> None:
    world = ConsumerWorld()
    world.enter("a", timeout_ms=10_000)
    world.enter("b")
    world.settle("a", "b")
    for _ in range(6):
        world.advance(5_000)
        for member_id in ("a", "b"):
            world.good(world.beat(member_id, 3))
    assert sorted(world.group.members) == ["a", "b"]


def test_a_deadline_of_an_epoch_that_was_left_means_nothing() -> None:
    world = ConsumerWorld()
    world.enter("a", timeout_ms=10_000)
    world.advance(2_000)
    world.enter("b")
    world.good(world.beat("a", 2, owned={ORDERS: [0, 1, 2, 3]}))
    deadlines = world.shard.consumer._deadlines
    deadlines.revocation("g", world.group.members["a"], world.now_ms)
    world.good(world.beat("a", 2, owned={ORDERS: [0, 1]}))
    deadlines.revocation("g", world.group.members["a"].at_epoch(2, 0, {}, {}), world.now_ms)  # type: ignore[arg-type]
    world.advance(15_000)
    assert "a" in world.group.members


def test_a_new_leader_gives_everybody_their_whole_time() -> None:
    world = ConsumerWorld()
    world.enter("a", timeout_ms=10_000)
    world.advance(2_000)
    world.enter("b")
    world.good(world.beat("a", 2, owned={ORDERS: [0, 1, 2, 3]}))
    world.advance(9_000)
    world.crash()
    world.advance(9_999)
    assert "a" in world.group.members
    world.advance(1)
    assert "a" not in world.group.members
    world.advance(34_999)
    assert "b" in world.group.members
    world.advance(1)
    assert world.group.is_empty


def test_a_deadline_of_a_group_that_is_gone_means_nothing() -> None:
    world = ConsumerWorld()
    world.enter("a")
    del world.shard.state.groups["g"]
    written = len(world.log)
    world.advance(45_000)
    assert len(world.log) == written


def test_a_removal_that_could_not_be_written_is_tried_again() -> None:
    world = ConsumerWorld()
    world.enter("a")
    world.write_error = KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)
    world.advance(45_000)
    assert list(world.group.members) == ["a"]
    world.advance(500)
    assert world.group.is_empty


def test_one_whose_leaving_could_not_be_written_is_given_up_with_its_session() -> None:
    world = ConsumerWorld()
    world.enter("a")
    world.write_error = KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)
    world.beat("a", -1)
    world.advance(44_999)
    assert list(world.group.members) == ["a"]
    world.advance(1)
    assert world.group.is_empty
