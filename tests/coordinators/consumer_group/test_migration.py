"""Live groups go up and down."""

from __future__ import annotations

from ottla.coordinators import embedded
from ottla.wire.errors import ErrorCode, KafkaError
from tests.coordinators.consumer_group.test_classic_members import subscription
from tests.coordinators.consumer_group.world import ORDERS, ConsumerWorld, assigned


def classic_world(**settings: object) -> tuple[ConsumerWorld, str]:
    """A stable classic group of one member with all partitions."""
    world = ConsumerWorld(classic_initial_rebalance_delay_ms=0, **settings)
    member_id, token = world.new_member(protocols=subscription("orders"))
    world.advance(0)
    everything = embedded.assignment_bytes({"orders": range(4)}, 1)
    world.sync(member_id, world.joined(token).generation_id, {member_id: everything})
    assert world.state() == "Stable"
    return world, member_id


def test_the_first_member_of_the_new_protocol_makes_it_a_consumer_group() -> None:
    world, classic = classic_world()
    response = world.enter("z")
    assert world.group.state_text == "Reconciling"
    assert (response.member_epoch, assigned(response)) == (2, {})
    assert world.held(classic) == {ORDERS: [0, 1, 2, 3]}
    assert world.heartbeat(classic, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    world.crash()
    assert sorted(world.group.members) == sorted([classic, "z"])


def test_sessions_of_classic_members_go_on() -> None:
    world, classic = classic_world()
    world.enter("z")
    world.advance(9_999)
    assert classic in world.group.members
    world.advance(1)
    assert classic not in world.group.members


def test_whoever_waits_in_the_classic_group_is_called_back() -> None:
    world, _ = classic_world()
    newcomer, token = world.new_member(protocols=subscription("orders"))
    assert token not in world.answers
    world.enter("z")
    assert world.joined(token).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert newcomer in world.group.members
    assert world.joined(world.join(newcomer, protocols=subscription("orders"))).error_code == 0


def test_groups_that_may_not_or_cannot_go_up() -> None:
    for settings in ({"consumer_migration_policy": "Downgrade"}, {"consumer_members_max": 0}):
        world, _ = classic_world(**settings)
        written = len(world.log)
        refused = world.beat("z", topics=["orders"], owned={}, timeout_ms=1)
        assert world.refused(refused) is ErrorCode.GROUP_ID_NOT_FOUND
        assert (world.state(), len(world.log)) == ("Stable", written)


def test_when_the_last_one_of_the_new_protocol_leaves_the_rest_is_a_classic_group() -> None:
    world, classic = classic_world()
    world.enter("z")
    world.good(world.beat("z", -1))
    assert list(world.classic_group.members) == [classic]
    assert world.state() == "PreparingRebalance"
    assert world.heartbeat(classic, 2) == ErrorCode.REBALANCE_IN_PROGRESS
    joined = world.joined(world.join(classic, protocols=subscription("orders")))
    assert (joined.error_code, joined.generation_id, joined.leader) == (0, 3, classic)
    world.crash()
    assert list(world.classic_group.members) == [classic]


def test_when_its_session_ends_too() -> None:
    world, classic = classic_world()
    world.enter("z")
    for _ in range(9):
        world.advance(5_000)
        world.heartbeat(classic, 1)
    assert list(world.classic_group.members) == [classic]


def test_a_static_classic_member_in_the_place_of_the_last_new_one_makes_a_classic_group() -> None:
    world, classic = classic_world(consumer_assignors=("range",))
    world.enter("z", instance_id="x")
    world.join(classic, protocols=subscription("orders", owned=[0, 1, 2, 3]))
    world.join(classic, protocols=subscription("orders", owned=[2, 3]))
    world.settle("z", rounds=2)
    answer = world.joined(world.join(instance_id="x", protocols=subscription("orders")))
    assert answer.error_code == 0
    assert sorted(world.classic_group.members) == sorted([classic, answer.member_id])
    assert world.state() == "Stable"
    token = world.sync(answer.member_id, answer.generation_id, instance_id="x")
    assert world.synced(token).assignment == embedded.assignment_bytes({"orders": [0, 1]}, 1)
    world.crash()
    assert sorted(world.classic_group.members) == sorted([classic, answer.member_id])


def test_groups_that_may_not_or_cannot_go_down() -> None:
    for settings in ({"consumer_migration_policy": "upgrade"}, {"classic_members_max": 1}):
        world, _ = classic_world(**settings)
        world.enter("y")
        world.advance(2_000)
        world.join("d", protocols=subscription("orders"))
        world.good(world.beat("y", -1))
        assert world.group.classic_count == len(world.group.members) == 2


def test_a_way_down_that_cannot_be_written_is_taken_back() -> None:
    world, classic = classic_world()
    world.enter("z")
    world.write_error = KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)
    world.beat("z", -1)
    assert sorted(world.group.members) == sorted([classic, "z"])
    world.advance(44_999)
    world.good(world.beat("z", 2))
    assert classic in world.group.members
    world.advance(1)
    assert list(world.group.members) == ["z"]


def test_who_waited_in_the_group_that_was_taken_back_is_told() -> None:
    world, classic = classic_world()
    world.enter("z")
    world.holds_commits = True
    outcome = world.shard.consumer._leaving.fence(world.group, [world.group.members["z"]], None, world.now_ms)
    assert outcome.then is not None
    token = world.join("", protocols=subscription("orders"), version=3)
    undone = outcome.then(KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER), world.now_ms)
    assert [(answer.token, answer.response.error_code) for answer in undone.answers] == [  # type: ignore[attr-defined]
        (token, ErrorCode.NOT_COORDINATOR)
    ]
    assert sorted(world.group.members) == sorted([classic, "z"])


def test_one_that_wants_something_else_makes_the_classic_group_rebalance() -> None:
    world, classic = classic_world()
    world.enter("z", instance_id="x")
    answer = world.joined(world.join(instance_id="x", protocols=subscription("bills")))
    assert sorted(world.classic_group.members) == sorted([classic, answer.member_id])
    assert world.state() == "PreparingRebalance"
