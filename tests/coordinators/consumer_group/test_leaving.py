"""Members that go, and what becomes of what they had."""

from __future__ import annotations

from ottla.coordinators.consumer_group.leaving import until_it_is_back
from ottla.coordinators.consumer_group.member import Member
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.classic_groups import LeaveGroupResponse
from tests.coordinators.consumer_group.world import ORDERS, ConsumerWorld, assigned


def test_what_one_leaves_goes_to_the_others() -> None:
    world = ConsumerWorld()
    world.enter("a")
    world.enter("b")
    world.settle("a", "b")
    gone = world.good(world.beat("a", -1))
    assert (gone.member_id, gone.member_epoch, gone.assignment) == ("a", -1, None)
    world.settle("b", rounds=1)
    assert world.held("b") == {ORDERS: [0, 1, 2, 3]}


def test_the_last_one_leaves_an_empty_group_without_timers() -> None:
    world = ConsumerWorld()
    world.enter("a")
    timers = len(world.shard.state.timers)
    world.good(world.beat("a", -1))
    assert world.group.state_text == "Empty"
    assert len(world.shard.state.timers) == timers - 1
    assert world.refused(world.beat("a", -1)) is ErrorCode.UNKNOWN_MEMBER_ID


def test_nobody_leaves_a_group_that_does_not_exist() -> None:
    assert ConsumerWorld().refused(ConsumerWorld().beat("a", -1)) is ErrorCode.GROUP_ID_NOT_FOUND


def test_an_expression_goes_with_the_last_who_used_it() -> None:
    world = ConsumerWorld()
    world.enter("a", regex="o.*")
    world.enter("b", regex="o.*")
    world.advance(2_000)
    world.good(world.beat("a", -1))
    assert set(world.group.resolved) == {"o.*"}
    world.good(world.beat("b", -1))
    assert world.group.resolved == {}
    assert world.group.metadata_hash == 0


def test_administrators_remove_members_by_id_or_by_instance_id() -> None:
    world = ConsumerWorld()
    world.enter("a")
    world.enter("b", instance_id="x")
    epoch = world.group.epoch
    response = world.leave(("a", None), ("", "x"), ("nobody", None), ("", "y"), ("a", "x"))
    assert isinstance(response, LeaveGroupResponse)
    codes = [member.error_code for member in response.members]
    assert codes == [0, 0, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID]
    assert world.group.is_empty
    assert world.group.epoch == epoch + 1


def test_to_remove_nobody_changes_nothing() -> None:
    world = ConsumerWorld()
    world.enter("a")
    written = len(world.log)
    world.leave(("nobody", None))
    assert len(world.log) == written


def test_one_who_will_be_back_keeps_what_it_has_and_gives_up_what_it_was_asked_for() -> None:
    member = Member("m", epoch=4, assigned={ORDERS: {0: 3}}, pending_revocation={ORDERS: {1: 2}})
    away = until_it_is_back(member)
    assert (away.epoch, away.assigned, away.pending_revocation) == (-2, {ORDERS: {0: 0}}, {})


def test_the_assignment_is_told_with_the_next_heartbeat_of_those_who_stay() -> None:
    world = ConsumerWorld()
    world.enter("a")
    world.enter("b")
    world.settle("a", "b")
    world.beat("a", -1)
    world.advance(2_000)
    epoch = world.group.members["b"].epoch
    assert assigned(world.good(world.beat("b", epoch, owned={ORDERS: [2, 3]}))) == {ORDERS: [0, 1, 2, 3]}


def test_a_static_member_may_leave_for_good() -> None:
    world = ConsumerWorld()
    world.enter("a", instance_id="x")
    world.good(world.beat("a", -1, instance_id="x"))
    assert (world.group.is_empty, world.group.static_members) == (True, {})
