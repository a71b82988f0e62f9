"""Who leads a partition, and where that one is reached by the listener of who asks."""

from __future__ import annotations

from ottla.server.handlers.current_leader import current_leader
from tests.server.handler_world import LEADER_EPOCH, World


def test_the_leader_is_found_by_the_name_of_a_topic_or_by_its_id(world: World) -> None:
    world.register(2)
    topic_id = world.topic("t", replicas=[2], leader=2)
    by_name = current_leader(world.context(12), "t", bytes(16), 0)
    by_id = current_leader(world.context(13), "", topic_id, 0)
    assert by_name == by_id
    assert by_name is not None
    assert (by_name.leader_id, by_name.leader_epoch, by_name.address("INTERNAL")) == (2, LEADER_EPOCH, ("host-2", 9093))


def test_what_is_not_there_has_no_leader(world: World) -> None:
    topic_id = world.topic("t")
    for topic, id, index in (("none", bytes(16), 0), ("", bytes(16), 0), ("t", topic_id, 1), ("", topic_id, 1)):
        assert current_leader(world.context(12), topic, id, index) is None
