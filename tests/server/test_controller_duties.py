"""The active controller fences who is silent, one by one, and does nothing while it is not active."""

from __future__ import annotations

import trio
import trio.testing

from ottla.config.listeners import Listener
from ottla.server.controller_duties import LATE_SECONDS, SECONDS_BETWEEN_LOOKS, ControllerDuties
from ottla.server.registration import Registration
from ottla.wire.messages.controller import BrokerHeartbeatRequest, BrokerRegistrationRequest
from ottla.wire.stored.metadata_records import ConfigRecord, PartitionRecord, TopicRecord
from tests.server.metadata_world import CLUSTER_ID, DIRECTORY_ID, FEATURES, NODE_ID, MetadataWorld, a_quorum
from tests.server.world import by_test_clock, pass_time
from tests.storage.fake_disk import FakeDisk


async def register(world: MetadataWorld) -> None:
    protocol = world.config.broker_listeners[0].protocol
    registration = Registration(world.config, CLUSTER_ID, world.channel, world.quorum, FEATURES)
    await registration.register((Listener("PLAINTEXT", "host", 9092, protocol),), [DIRECTORY_ID], None)


OTHER = 99


async def register_other(world: MetadataWorld) -> None:
    """A broker that is not in this process."""
    request = BrokerRegistrationRequest(
        broker_id=OTHER,
        cluster_id=CLUSTER_ID,
        incarnation_id=b"another process!",
        listeners=[],
        features=[
            BrokerRegistrationRequest.Feature(name=name, min_supported_version=one.low, max_supported_version=one.high)
            for name, one in FEATURES.items()
        ],
        rack=None,
        log_dirs=[b"another director"],
    )
    epoch = (await world.channel.request(request)).broker_epoch
    beat = BrokerHeartbeatRequest(
        broker_id=OTHER,
        broker_epoch=epoch,
        current_metadata_offset=world.quorum.image.offset,
        want_fence=False,
        want_shut_down=False,
    )
    await world.channel.request(beat)
    assert not world.quorum.image.brokers.by_id[OTHER].fenced


@by_test_clock
async def test_a_broker_that_is_silent_for_too_long_is_fenced_and_our_own_is_not() -> None:
    async with a_quorum(FakeDisk()) as world, trio.open_nursery() as nursery:
        await register(world)
        await register_other(world)
        nursery.start_soon(ControllerDuties(lambda: world.config, world.channel).run)
        await trio.testing.wait_all_tasks_blocked()
        world.now_ms += world.config.broker_session_timeout_ms
        await pass_time(SECONDS_BETWEEN_LOOKS)
        assert not world.quorum.image.brokers.by_id[OTHER].fenced
        world.now_ms += 1
        await pass_time(SECONDS_BETWEEN_LOOKS)
        await world.settle()
        assert world.quorum.image.brokers.by_id[OTHER].fenced
        assert not world.quorum.image.brokers.by_id[NODE_ID].fenced
        nursery.cancel_scope.cancel()


@by_test_clock
async def test_one_that_was_held_up_listens_first() -> None:
    async with a_quorum(FakeDisk()) as world, trio.open_nursery() as nursery:
        await register(world)
        await register_other(world)
        nursery.start_soon(ControllerDuties(lambda: world.config, world.channel).run)
        await trio.testing.wait_all_tasks_blocked()
        world.now_ms += 2 * world.config.broker_session_timeout_ms
        await pass_time(SECONDS_BETWEEN_LOOKS + 2 * LATE_SECONDS)
        assert not world.quorum.image.brokers.by_id[OTHER].fenced
        await pass_time(SECONDS_BETWEEN_LOOKS)
        await world.settle()
        assert world.quorum.image.brokers.by_id[OTHER].fenced, "it has had its time to speak"
        nursery.cancel_scope.cancel()


@by_test_clock
async def test_one_that_is_not_active_fences_nobody() -> None:
    async with a_quorum(FakeDisk()) as world, trio.open_nursery() as nursery:
        await register_other(world)
        nursery.start_soon(ControllerDuties(lambda: world.config, world.channel).run)
        world.controller.deactivated()
        world.now_ms += 10 * world.config.broker_session_timeout_ms
        await pass_time(SECONDS_BETWEEN_LOOKS)
        assert not world.quorum.image.brokers.by_id[OTHER].fenced
        nursery.cancel_scope.cancel()


@by_test_clock
async def test_what_nobody_leads_gets_a_leader_where_a_topic_comes_to_allow_it() -> None:
    async with a_quorum(FakeDisk()) as world, trio.open_nursery() as nursery:
        await register_other(world)
        topic_id = b"the id of topic!"
        world.change(
            TopicRecord(name="t", topic_id=topic_id),
            PartitionRecord(
                partition_id=0,
                topic_id=topic_id,
                replicas=[OTHER, 7],
                isr=[7],
                removing_replicas=[],
                adding_replicas=[],
                leader=-1,
                leader_epoch=0,
                partition_epoch=0,
            ),
        )
        await world.settle()
        nursery.start_soon(ControllerDuties(lambda: world.config, world.channel).run)
        interval_seconds = world.config.unclean_leader_election_interval_ms / 1000

        async def look_again() -> int:
            """The interval passes, and nobody is silent meanwhile."""
            await trio.testing.wait_all_tasks_blocked()
            for _ in range(round(interval_seconds / SECONDS_BETWEEN_LOOKS) + 1):
                await pass_time(SECONDS_BETWEEN_LOOKS)
            await world.settle()
            placed = world.quorum.image.topics.partition("t", 0)
            assert placed is not None
            return placed.leader

        assert await look_again() == -1
        world.change(
            ConfigRecord(resource_type=2, resource_name="t", name="unclean.leader.election.enable", value="true")
        )
        assert await look_again() == OTHER
        nursery.cancel_scope.cancel()
