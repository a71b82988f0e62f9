"""What is written, in which order, by the three steps; what comes of it is told in test_heartbeat.py."""

from __future__ import annotations

from tests.coordinators.consumer_group.world import ORDERS, ConsumerWorld, assigned


def kinds(world: ConsumerWorld, since: int = 0) -> list[str]:
    return [type(record.key).__name__.removeprefix("ConsumerGroup").removesuffix("Key") for record in world.log[since:]]


def test_a_join_enters_the_member_then_the_epoch_the_target_and_the_step() -> None:
    world = ConsumerWorld()
    world.enter("a")
    assert kinds(world) == [
        "MemberMetadata",
        "Metadata",
        "TargetAssignmentMember",
        "TargetAssignmentMetadata",
        "CurrentMemberAssignment",
    ]


def test_a_member_that_only_tells_more_about_itself_makes_no_new_epoch() -> None:
    world = ConsumerWorld()
    world.enter("a")
    since = len(world.log)
    world.good(world.beat("a", 2, timeout_ms=99))
    assert kinds(world, since) == ["MemberMetadata"]
    assert world.group.members["a"].rebalance_timeout_ms == 99


def test_many_who_join_are_assigned_once_in_the_interval() -> None:
    world = ConsumerWorld()
    world.enter("a")
    world.enter("b")
    world.enter("c")
    assert (world.group.epoch, world.group.target_epoch) == (4, 2)
    assert world.group.state_text == "Assigning"
    world.advance(1_000)
    world.good(world.beat("c", 2, owned={}))
    assert (world.group.epoch, world.group.target_epoch) == (4, 4)


def test_the_assignor_that_most_ask_for_is_used() -> None:
    world = ConsumerWorld(consumer_assignment_interval_ms=0)
    world.enter("b", assignor="range")
    world.enter("a", assignor="range")
    assert [sorted(world.group.target_of(id_)[ORDERS]) for id_ in "ab"] == [[0, 1], [2, 3]]


def test_a_group_that_wants_nothing_is_stable() -> None:
    world = ConsumerWorld()
    response = world.enter("a", topics=[])
    assert (response.member_epoch, assigned(response)) == (1, {})
    assert world.group.state_text == "Stable"


def test_a_changed_subscription_takes_effect_before_the_next_target() -> None:
    world = ConsumerWorld()
    world.enter("a", topics=["orders", "bills"])
    response = world.good(world.beat("a", 2, topics=["orders"]))
    assert assigned(response) == {ORDERS: [0, 1, 2, 3]}
    assert (response.member_epoch, world.group.epoch) == (2, 3)
