"""Who may join under which id, and what that does to the group."""

from __future__ import annotations

import pytest

from ottla.coordinators.classic.group import ClassicGroup
from ottla.coordinators.classic.join import check_join
from ottla.coordinators.contract import RequestContext
from ottla.coordinators.settings import GroupSettings
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.classic_groups import JoinGroupRequest
from ottla.wire.stored.classic_group_records import GroupMetadataValue
from tests.coordinators.shard_world import RANGE, START_MS, ShardWorld, Token


def error(world: ShardWorld, token: Token) -> int:
    return world.joined(token).error_code


@pytest.mark.parametrize(
    ("group_id", "timeout_ms", "code"),
    [
        ("", 6000, ErrorCode.INVALID_GROUP_ID),
        ("g", 5999, ErrorCode.INVALID_SESSION_TIMEOUT),
        ("g", 1_800_001, ErrorCode.INVALID_SESSION_TIMEOUT),
    ],
)
def test_some_joins_are_refused_by_anybody(group_id: str, timeout_ms: int, code: ErrorCode) -> None:
    request = JoinGroupRequest(
        group_id=group_id, session_timeout_ms=timeout_ms, member_id="", protocol_type="consumer", protocols=[]
    )
    with pytest.raises(KafkaError) as caught:
        check_join(request, GroupSettings())
    assert caught.value.code is code
    request.group_id, request.session_timeout_ms = "g", 6000
    check_join(request, GroupSettings())


def test_a_dynamic_member_is_given_an_id_first() -> None:
    world = ShardWorld()
    told = world.joined(world.join())
    assert (told.error_code, told.member_id) == (ErrorCode.MEMBER_ID_REQUIRED, "client-uuid1")
    assert world.state() == "Empty"
    world.join(told.member_id)
    assert world.state() == "PreparingRebalance"


def test_before_version_4_it_is_in_at_once() -> None:
    world = ShardWorld()
    token = world.join(version=3)
    world.advance(3000)
    assert (error(world, token), world.joined(token).member_id) == (0, "client-uuid1")


def test_version_0_has_one_timeout() -> None:
    world = ShardWorld()
    world.join(version=0, session_timeout_ms=7000, rebalance_timeout_ms=-1)
    group = world.shard.state.groups["g"]
    assert isinstance(group, ClassicGroup)
    assert group.rebalance_timeout_ms == 7000


def test_a_new_group_is_written_down_as_empty() -> None:
    world = ShardWorld()
    world.join()
    assert world.log[0].value == GroupMetadataValue(
        protocol_type="", generation=0, protocol=None, leader=None, current_state_timestamp=START_MS, members=[]
    )
    world.crash()
    assert world.state() == "Empty"


def test_a_new_group_that_cannot_be_written_is_none() -> None:
    world = ShardWorld()
    world.write_error = KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)
    token = world.join(version=3)
    assert error(world, token) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.shard.state.groups == {}
    assert len(world.shard.state.timers) == 0


def test_an_id_for_a_group_that_is_not_known_is_not_known() -> None:
    world = ShardWorld()
    token = world.join("somebody")
    assert (error(world, token), world.joined(token).member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "somebody")
    assert world.log == []


def test_a_strange_id_is_not_known_in_any_state() -> None:
    world = ShardWorld()
    world.commit_offset(1)
    assert error(world, world.join("somebody")) == ErrorCode.UNKNOWN_MEMBER_ID
    world.stable_group()
    told = world.joined(world.join("somebody"))
    assert (told.error_code, told.protocol_name) == (ErrorCode.UNKNOWN_MEMBER_ID, None)
    assert world.state() == "Stable"


def test_a_member_that_shares_no_protocol_is_refused() -> None:
    world = ShardWorld()
    (leader,), _ = world.stable_group()
    other = {"other": b""}
    assert error(world, world.join(protocols=other)) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert error(world, world.join(leader, protocols=other)) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert error(world, world.join(protocol_type="connect")) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert error(world, world.join(group_id="h", protocols={})) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert error(world, world.join(group_id="h", protocol_type="")) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert world.state() == "Stable"


def test_a_follower_that_says_the_same_gets_the_generation_again() -> None:
    world = ShardWorld()
    (leader, other), generation = world.stable_group(2)
    told = world.joined(world.join(other))
    assert (told.generation_id, told.members, told.leader) == (generation, [], leader)
    assert world.state() == "Stable"


def test_a_follower_that_says_otherwise_makes_the_group_rebalance() -> None:
    world = ShardWorld()
    (_, other), _ = world.stable_group(2)
    token = world.join(other, protocols={"range": b"otherwise"})
    assert token not in world.answers
    assert world.state() == "PreparingRebalance"


def test_a_leader_may_always_ask_for_a_rebalance() -> None:
    world = ShardWorld()
    (leader,), generation = world.stable_group()
    told = world.joined(world.join(leader))
    assert (told.generation_id, len(told.members)) == (generation + 1, 1)


def test_whoever_missed_the_generation_is_told_again() -> None:
    world = ShardWorld()
    tokens = dict(world.new_member() for _ in range(2))
    world.advance(6000)
    leader, other = tokens
    assert len(world.joined(world.join(leader)).members) == 2
    assert world.joined(world.join(other)).members == []
    assert world.state() == "CompletingRebalance"
    world.join(other, protocols={"range": b"otherwise"})
    assert world.state() == "PreparingRebalance"


def test_the_join_before_is_not_left_without_an_answer() -> None:
    world = ShardWorld()
    (leader, _), _ = world.stable_group(2)
    before = world.join(leader)
    world.join(leader)
    assert error(world, before) == ErrorCode.REBALANCE_IN_PROGRESS


def test_an_id_that_was_handed_out_is_not_for_static_members() -> None:
    world = ShardWorld()
    member_id = world.joined(world.join()).member_id
    assert error(world, world.join(member_id, instance_id="i")) == ErrorCode.UNKNOWN_SERVER_ERROR


def test_of_two_protocols_with_one_name_the_first_counts() -> None:
    world = ShardWorld()
    request = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id="",
        protocol_type="consumer",
        protocols=[
            JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=metadata) for metadata in (b"one", b"two")
        ],
    )
    context = RequestContext("client", "/127.0.0.1", 3)
    token = world.park(lambda token: world.shard.join(request, context, token, world.now_ms))
    world.advance(3000)
    assert [one.metadata for one in world.joined(token).members] == [b"one"]


# -- size -------------------------------------------------------------------------------------------------------------


def test_a_full_group_takes_nobody() -> None:
    world = ShardWorld(classic_members_max=2)
    (_leader, other), generation = world.stable_group(2)
    assert error(world, world.join()) == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert world.state() == "Stable"
    assert world.joined(world.join(other)).generation_id == generation


def test_while_a_group_rebalances_the_first_to_come_are_in() -> None:
    world = ShardWorld(classic_members_max=2)
    (leader, other), _ = world.stable_group(2, session_timeout_ms=300_000)
    world.leave((other, None))
    pending = [world.joined(world.join()).member_id for _ in range(2)]
    first = world.join(pending[0])
    again = world.join(leader, session_timeout_ms=300_000)
    assert error(world, world.join(pending[1])) == ErrorCode.GROUP_MAX_SIZE_REACHED
    world.advance(60_000)
    assert [world.joined(token).error_code for token in (first, again)] == [0, 0]


def test_a_group_that_was_loaded_too_large_shrinks() -> None:
    world = ShardWorld()
    members, generation = world.stable_group(3)
    world.settings = GroupSettings(classic_members_max=2)
    world.crash()
    assert world.state() == "PreparingRebalance"
    tokens = [world.join(member_id) for member_id in members]
    assert error(world, tokens[2]) == ErrorCode.GROUP_MAX_SIZE_REACHED
    world.advance(60_000)
    assert [world.joined(token).generation_id for token in tokens[:2]] == [generation + 1] * 2


# -- static members ---------------------------------------------------------------------------------------------------


def static_group(world: ShardWorld, *names: str) -> dict[str, str]:
    """A stable group of static members, by name."""
    tokens = {name: world.join(instance_id=name) for name in names}
    world.advance(6000)
    ids = {name: world.joined(token).member_id for name, token in tokens.items()}
    joins = {ids[name]: token for name, token in tokens.items()}
    for name, member_id in ids.items():
        if world.joined(tokens[name]).leader != member_id:
            world.sync(member_id, 1, instance_id=name)
    leader = world.joined(next(iter(tokens.values()))).leader
    world.sync(leader, 1, {member_id: member_id.encode() for member_id in joins})
    assert world.state() == "Stable"
    return ids


def test_a_static_member_is_named_after_its_instance() -> None:
    world = ShardWorld()
    token = world.join(instance_id="i")
    world.advance(3000)
    assert world.joined(token).member_id == "i-uuid1"
    assert error(world, token) == 0


def test_a_static_member_that_comes_back_changes_nothing_but_its_id() -> None:
    world = ShardWorld()
    ids = static_group(world, "a", "b")
    told = world.joined(world.join(instance_id="b"))
    assert (told.error_code, told.generation_id, told.leader, told.members) == (0, 1, ids["a"], [])
    assert told.member_id != ids["b"]
    assert world.state() == "Stable"
    assert world.heartbeat(ids["b"], 1, instance_id="b") == ErrorCode.FENCED_INSTANCE_ID
    assert world.heartbeat(ids["b"], 1) == ErrorCode.UNKNOWN_MEMBER_ID
    token = world.sync(told.member_id, 1, instance_id="b")
    assert world.synced(token).assignment == ids["b"].encode()
    value = world.log[-1].value
    assert isinstance(value, GroupMetadataValue)
    assert {one.member_id for one in value.members} == {ids["a"], told.member_id}


def test_a_static_leader_that_comes_back_is_told_not_to_assign() -> None:
    world = ShardWorld()
    static_group(world, "a", "b")
    told = world.joined(world.join(instance_id="a", version=9))
    assert (told.leader, told.skip_assignment, len(told.members)) == (told.member_id, True, 2)


def test_before_version_9_the_leader_that_comes_back_is_told_of_another() -> None:
    world = ShardWorld()
    ids = static_group(world, "a", "b")
    told = world.joined(world.join(instance_id="a", version=8))
    assert (told.leader, told.skip_assignment, told.members) == (ids["a"], False, [])


def test_a_static_member_is_told_its_new_id_when_that_is_committed() -> None:
    world = ShardWorld()
    static_group(world, "a")
    world.holds_commits = True
    token = world.join(instance_id="a")
    assert token not in world.answers
    world.commit()
    assert error(world, token) == 0


def test_a_new_id_that_cannot_be_written_is_taken_back() -> None:
    world = ShardWorld()
    ids = static_group(world, "a")
    world.write_error = KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    token = world.join(instance_id="a", session_timeout_ms=20_000)
    assert error(world, token) == ErrorCode.NOT_COORDINATOR
    assert world.heartbeat(ids["a"], 1, instance_id="a") == 0
    world.advance(9_999)
    assert world.state() == "Stable"
    world.advance(1)
    assert world.state() == "Empty"


def test_a_rebalance_in_between_answers_who_came_back() -> None:
    world = ShardWorld()
    static_group(world, "a")
    world.holds_commits = True
    token = world.join(instance_id="a")
    world.join(version=3)
    world.commit()
    assert error(world, token) == 0
    assert world.joined(token).generation_id == 2


def test_a_static_member_that_brings_another_protocol_makes_the_group_rebalance() -> None:
    world = ShardWorld()
    both = {"range": RANGE["range"], "sticky": RANGE["range"]}
    tokens = [world.join(instance_id=name, protocols=both) for name in "ab"]
    world.advance(6000)
    leader, _other = (world.joined(token).member_id for token in tokens)
    chosen = world.joined(tokens[0]).protocol_name
    assert chosen == "range"
    world.sync(leader, 1, {}, instance_id="a")
    token = world.join(instance_id="b", protocols={"sticky": b""})
    assert token not in world.answers
    assert world.state() == "PreparingRebalance"


def test_a_static_member_that_comes_back_during_a_rebalance_fences_the_one_that_waits() -> None:
    world = ShardWorld()
    ids = static_group(world, "a", "b")
    waiting = world.join(ids["a"], instance_id="a")
    assert world.state() == "PreparingRebalance"
    token = world.join(instance_id="a")
    assert error(world, waiting) == ErrorCode.FENCED_INSTANCE_ID
    world.join(ids["b"], instance_id="b")
    assert world.joined(token).generation_id == 2


def test_a_static_member_that_comes_back_while_the_leader_assigns_voids_that() -> None:
    world = ShardWorld()
    tokens = [world.join(instance_id=name) for name in "ab"]
    world.advance(6000)
    _leader, other = (world.joined(token).member_id for token in tokens)
    waiting = world.sync(other, 1, instance_id="b")
    token = world.join(instance_id="b")
    assert world.synced(waiting).error_code == ErrorCode.FENCED_INSTANCE_ID
    assert token not in world.answers
    assert world.state() == "PreparingRebalance"
