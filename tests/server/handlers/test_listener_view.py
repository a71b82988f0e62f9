"""The cluster as it looks from one listener."""

from __future__ import annotations

from ottla.server.handlers.listener_view import ListenerView
from ottla.wire.errors import ErrorCode
from tests.server.handler_world import INTERNAL, PLAIN, World


def test_a_leader_counts_where_it_can_be_reached(world: World) -> None:
    world.register(2, listeners=[PLAIN])
    world.topic("a", replicas=[2, 1], leader=2)
    partition = world.broker.image.topics.by_name["a"].partitions[0]
    here, there = (ListenerView(world.broker.image, name) for name in (PLAIN, INTERNAL))
    assert (here.leader(partition), there.leader(partition)) == (2, -1)
    assert (here.is_alive(2), there.is_alive(2)) == (True, False)
    assert (here.offline_replicas(partition), there.offline_replicas(partition)) == ([], [2])
    assert there.why_no_leader(partition) is ErrorCode.LISTENER_NOT_FOUND


def test_a_leader_that_nobody_knows_is_not_available(world: World) -> None:
    world.topic("a", replicas=[9], leader=9)
    partition = world.broker.image.topics.by_name["a"].partitions[0]
    assert ListenerView(world.broker.image, PLAIN).why_no_leader(partition) is ErrorCode.LEADER_NOT_AVAILABLE


def test_the_preferred_broker_is_named_while_it_lives_and_else_any(world: World) -> None:
    world.register(2)
    view = ListenerView(world.broker.image, PLAIN)
    assert (view.a_broker(2), view.a_broker(7)) == (2, 1)
    assert ListenerView(world.broker.image, "NOWHERE").a_broker(1) == -1
