"""The active controller fences who is silent, one by one, and does nothing while it is not active."""

from __future__ import annotations

import trio

from ottla.config.listeners import Listener
from ottla.server.controller_duties import SECONDS_BETWEEN_LOOKS, ControllerDuties
from ottla.server.registration import Registration
from tests.server.metadata_world import CLUSTER_ID, DIRECTORY_ID, FEATURES, NODE_ID, MetadataWorld, a_quorum
from tests.server.world import by_test_clock, pass_time
from tests.storage.fake_disk import FakeDisk


async def register(world: MetadataWorld) -> None:
    protocol = world.config.broker_listeners[0].protocol
    registration = Registration(world.config, CLUSTER_ID, world.channel, world.quorum, FEATURES)
    await registration.register((Listener("PLAINTEXT", "host", 9092, protocol),), [DIRECTORY_ID], None)


@by_test_clock
async def test_a_broker_that_is_silent_for_too_long_is_fenced() -> None:
    async with a_quorum(FakeDisk()) as world, trio.open_nursery() as nursery:
        await register(world)
        nursery.start_soon(ControllerDuties(lambda: world.config, world.channel).run)
        world.now_ms += world.config.broker_session_timeout_ms
        await pass_time(SECONDS_BETWEEN_LOOKS)
        assert not world.quorum.image.brokers.by_id[NODE_ID].fenced
        world.now_ms += 1
        await pass_time(SECONDS_BETWEEN_LOOKS)
        await world.settle()
        assert world.quorum.image.brokers.by_id[NODE_ID].fenced
        nursery.cancel_scope.cancel()


@by_test_clock
async def test_one_that_is_not_active_fences_nobody() -> None:
    async with a_quorum(FakeDisk()) as world, trio.open_nursery() as nursery:
        await register(world)
        nursery.start_soon(ControllerDuties(lambda: world.config, world.channel).run)
        world.controller.deactivated()
        world.now_ms += 10 * world.config.broker_session_timeout_ms
        await pass_time(SECONDS_BETWEEN_LOOKS)
        assert not world.quorum.image.brokers.by_id[NODE_ID].fenced
        nursery.cancel_scope.cancel()
