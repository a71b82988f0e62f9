"""A broker makes itself known, is counted on, and keeps being heard of."""

from __future__ import annotations

import logging
from typing import Any, cast

import pytest
import trio

from ottla.cluster.features import CONTROLLER_REGISTRATION_SINCE
from ottla.cluster.image import NO_LEADER
from ottla.config.listeners import Listener
from ottla.server.controller_channel import ControllerChannel
from ottla.server.registration import Registration
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.controller import BrokerHeartbeatRequest, ControllerRegistrationRequest
from ottla.wire.schema import Request
from ottla.wire.stored.metadata_records import FeatureLevelRecord, PartitionRecord, TopicRecord
from tests.server.metadata_world import CLUSTER_ID, DIRECTORY_ID, FEATURES, NODE_ID, MetadataWorld, a_quorum
from tests.server.world import by_test_clock, in_trio, pass_time
from tests.storage.fake_disk import FakeDisk


def registration_of(world: MetadataWorld, cluster_id: str = CLUSTER_ID) -> Registration:
    return Registration(world.config, cluster_id, world.channel, world.quorum, FEATURES)


async def register(world: MetadataWorld, last_epoch: int | None = None) -> Registration:
    registration = registration_of(world)
    protocol = world.config.broker_listeners[0].protocol
    await registration.register((Listener("PLAINTEXT", "host", 9092, protocol),), [DIRECTORY_ID], last_epoch)
    return registration


@in_trio
async def test_a_broker_that_registered_is_counted_on() -> None:
    async with a_quorum(FakeDisk()) as world:
        registration = await register(world)
        broker = world.quorum.image.brokers.by_id[NODE_ID]
        assert broker.epoch == registration.broker_epoch
        assert not broker.fenced
        assert [(one.name, one.host, one.port) for one in broker.listeners.values()] == [("PLAINTEXT", "host", 9092)]


@in_trio
async def test_a_second_life_takes_the_place_of_the_first_at_once() -> None:
    """Nobody waits for a session to run out: the directories are locked, so the first is dead."""
    disk = FakeDisk()
    async with a_quorum(disk) as world:
        first = (await register(world)).broker_epoch
    async with a_quorum(disk) as world:
        second = (await register(world, last_epoch=first)).broker_epoch
        assert second > first
        assert world.quorum.image.brokers.by_id[NODE_ID].epoch == second


@in_trio
async def test_a_controller_says_where_it_listens_and_what_it_supports() -> None:
    async with a_quorum(FakeDisk()) as world:
        protocol = world.config.broker_listeners[0].protocol
        await registration_of(world).register_controller((Listener("CONTROLLER", "host", 9093, protocol),))
        controller = world.quorum.image.controllers[NODE_ID]
        assert [(one.name, one.host, one.port) for one in controller.end_points] == [("CONTROLLER", "host", 9093)]
        assert {one.name: one.max_supported_version for one in controller.features} == {
            name: levels.high for name, levels in FEATURES.items()
        }


@in_trio
async def test_a_controller_of_an_old_cluster_does_not_register() -> None:
    """There is no record for it below KIP-919's metadata.version, and the node must start all the same."""
    async with a_quorum(FakeDisk()) as world:
        old = FeatureLevelRecord(name="metadata.version", feature_level=CONTROLLER_REGISTRATION_SINCE - 1)
        world.change(old)
        await world.settle()
        await registration_of(world).register_controller(())
        assert world.quorum.image.controllers == {}


@in_trio
async def test_a_registration_that_is_refused_is_an_error() -> None:
    async with a_quorum(FakeDisk()) as world:
        with pytest.raises(KafkaError) as refused:
            await registration_of(world, "another cluster").register((), [DIRECTORY_ID], None)
        assert refused.value.code == ErrorCode.INCONSISTENT_CLUSTER_ID


@by_test_clock
async def test_heartbeats_keep_a_broker_in_the_cluster() -> None:
    async with a_quorum(FakeDisk()) as world, trio.open_nursery() as nursery:
        registration = await register(world)
        nursery.start_soon(registration.run)
        for _ in range(10):
            world.now_ms += 2000
            await pass_time(2.0)
        assert not world.quorum.image.brokers.by_id[NODE_ID].fenced
        nursery.cancel_scope.cancel()


@by_test_clock
async def test_a_heartbeat_that_is_not_taken_is_not_the_end(caplog: pytest.LogCaptureFixture) -> None:
    async with a_quorum(FakeDisk()) as world, trio.open_nursery() as nursery:
        registration = await register(world)
        nursery.start_soon(registration.run)
        world.controller.deactivated()
        with caplog.at_level(logging.WARNING):
            for _ in range(50):  # it is tried again until the next is due
                await pass_time(0.1)
        assert "did not take a heartbeat" in caplog.text
        world.controller.activated(world.quorum.raft.epoch)
        caplog.clear()
        await pass_time(2.0)
        assert not caplog.text
        nursery.cancel_scope.cancel()


@in_trio
async def test_a_broker_that_asks_to_be_let_go_is_fenced_and_leads_nothing() -> None:
    """Controlled shutdown: whoever comes next under this id need not wait for a session to end."""
    topic_id = bytes(range(16))
    async with a_quorum(FakeDisk()) as world:
        registration = await register(world)
        world.change(
            TopicRecord(name="topic", topic_id=topic_id),
            PartitionRecord(
                partition_id=0,
                topic_id=topic_id,
                replicas=[NODE_ID],
                isr=[NODE_ID],
                removing_replicas=[],
                adding_replicas=[],
                leader=NODE_ID,
                leader_epoch=0,
                partition_epoch=0,
                directories=[DIRECTORY_ID],
            ),
        )
        await world.settle()
        await registration.leave()
        image = world.quorum.image
        assert image.brokers.by_id[NODE_ID].fenced
        partition = image.topics.partition_by_id(topic_id, 0)
        assert partition is not None
        assert partition.leader == NO_LEADER


@by_test_clock
async def test_a_broker_that_leaves_does_not_come_back_by_its_heartbeats() -> None:
    async with a_quorum(FakeDisk()) as world, trio.open_nursery() as nursery:
        registration = await register(world)
        nursery.start_soon(registration.run)
        await registration.leave()
        for _ in range(3):
            await pass_time(2.0)
        assert world.quorum.image.brokers.by_id[NODE_ID].fenced
        nursery.cancel_scope.cancel()


@by_test_clock
async def test_a_broker_that_is_not_let_go_goes_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    async with a_quorum(FakeDisk()) as world, trio.open_nursery() as nursery:
        registration = await register(world)
        world.controller.deactivated()
        nursery.start_soon(registration.leave)
        with caplog.at_level(logging.WARNING):
            for _ in range(50):
                await pass_time(0.1)
        assert "did not let this broker go" in caplog.text


class Moving:
    """A channel that loses its controller before the first heartbeat, and finds one again."""

    def __init__(self, channel: ControllerChannel, *failing: type[Request]) -> None:
        self._channel = channel
        self._failing = list(failing)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._channel, name)

    async def request(self, request: Request, **options: Any) -> Any:
        if type(request) in self._failing:
            self._failing.remove(type(request))
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, "the controller is silent")
        return await self._channel.request(request, **options)


@in_trio
async def test_a_controller_that_moves_while_a_node_starts_does_not_end_it() -> None:
    async with a_quorum(FakeDisk()) as world:
        failing = (BrokerHeartbeatRequest, ControllerRegistrationRequest)
        world.channel = cast("ControllerChannel", Moving(world.channel, *failing))
        await registration_of(world).register_controller(())
        assert NODE_ID in world.quorum.image.controllers
        await register(world)
        assert not world.quorum.image.brokers.by_id[NODE_ID].fenced


@in_trio
async def test_a_directory_that_failed_is_told_of_with_the_next_heartbeat() -> None:
    """Else what it holds would be led here for good, and nobody could write to it (KIP-858)."""
    topic_id, failed = bytes(range(16)), b"another that is."
    async with a_quorum(FakeDisk()) as world:
        offline: list[bytes] = []
        registration = Registration(
            world.config, CLUSTER_ID, world.channel, world.quorum, FEATURES, offline_directories=lambda: offline
        )
        listener = Listener("PLAINTEXT", "host", 9092, world.config.broker_listeners[0].protocol)
        await registration.register((listener,), [DIRECTORY_ID, failed], None)
        world.change(
            TopicRecord(name="topic", topic_id=topic_id),
            *(
                PartitionRecord(
                    partition_id=index,
                    topic_id=topic_id,
                    replicas=[NODE_ID],
                    isr=[NODE_ID],
                    removing_replicas=[],
                    adding_replicas=[],
                    leader=NODE_ID,
                    leader_epoch=0,
                    partition_epoch=0,
                    directories=[directory],
                )
                for index, directory in enumerate((DIRECTORY_ID, failed))
            ),
        )
        await world.settle()
        offline.append(failed)
        await registration.beat()
        partitions = world.quorum.image.topics.by_id[topic_id].partitions
        assert [partitions[index].leader for index in (0, 1)] == [NODE_ID, NO_LEADER]
        assert world.quorum.image.brokers.by_id[NODE_ID].log_dirs == (DIRECTORY_ID,)
