"""What a leader gives to followers: not more than a throttle allows, and news of the high watermark at once."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from ottla.cluster.image import ConfigType
from ottla.server.in_sync_keeping import InSyncKeeping
from ottla.server.parking import Pending
from ottla.server.partition import Partition
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.fetch import FetchRequest, FetchResponse
from tests.server.handler_world import NODE_ID, NOW_MS, Caught, World, a_world
from tests.server.handlers.test_fetch import ask
from tests.server.world import batch, fetching, values_of

A, B = 2, 3
HOUR_MS = 3_600_000
SELECTOR = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}
THROTTLED = {"leader.replication.throttled.replicas": "*"}


def led(world: World, *, isr: tuple[int, ...] = (NODE_ID, A, B)) -> Partition:
    """A topic that is led here, with followers on two others."""
    for id, rack in ((NODE_ID, "here"), (A, "a"), (B, "b")):
        world.register(id, rack=rack)
    world.topic("t", replicas=[NODE_ID, A, B], isr=isr, configs=THROTTLED)
    world.broker.in_sync = InSyncKeeping(world.broker, world.broker.channel, lambda: 1, lambda: NOW_MS)
    partition = world.partition("t")
    placed = world.broker.image.topics.partition("t", 0)
    assert placed is not None
    world.broker.in_sync.lead(partition, placed)
    return partition


def write(partition: Partition, value: bytes = b"value") -> None:
    partition.stage(batch(value), NOW_MS)
    partition.commit()


def by(id: int, offset: int, **more: int) -> FetchRequest:
    return fetching(offset, replica_id=id, **more)


def of(response: FetchResponse) -> FetchResponse.PartitionData:
    return response.responses[0].partitions[0]


# Throttles


@pytest.fixture
def throttled(world: World) -> World:
    led(world, isr=(NODE_ID, A))
    write(world.partition("t"), bytes(1000))
    world.set_config(ConfigType.BROKER, str(NODE_ID), "leader.replication.throttled.rate", "100")
    config = world.broker.config
    world.broker.config = config.overlaid({}, {"leader.replication.throttled.rate": "100"})
    world.broker.throttles.configure(world.broker.image)
    return world


def test_one_that_is_not_in_sync_gets_nothing_while_the_rate_is_exceeded(throttled: World) -> None:
    assert ask(throttled, by(B, 0))[0].records, "nothing was sent before"
    write(throttled.partition("t"))
    held_up = ask(throttled, by(B, 1))[0]
    assert (held_up.error_code, held_up.records, held_up.log_start_offset) == (0, b"", 0)
    assert ask(throttled, by(A, 0))[0].records, "one in sync is never held up"


def test_what_those_in_sync_get_counts(throttled: World) -> None:
    assert ask(throttled, by(A, 0))[0].records
    assert not ask(throttled, by(B, 0))[0].records
    throttled.broker.throttles.leader.throttled = {}
    assert ask(throttled, by(B, 0))[0].records, "it is not throttled any more"


def test_consumers_are_not_throttled(throttled: World) -> None:
    ask(throttled, by(A, 0))
    throttled.partition("t").log.advance_high_watermark(1)
    assert values_of(ask(throttled, fetching())[0].records) == [bytes(1000)]


# High watermarks


def parked(world: World, request: FetchRequest) -> Caught:
    reply = world.serving[1].handler(world.context(12), request)
    assert isinstance(reply, Pending), "there is something to tell it"
    caught = Caught()
    reply.place = caught
    return caught


def test_followers_hear_at_once_of_a_high_watermark_where_consumers_are_sent_to_them(tmp_path: Path) -> None:
    async def story() -> None:
        with a_world(tmp_path, SELECTOR) as world:
            partition = led(world)
            write(partition)
            first = world.answer(by(A, 1, wait_ms=HOUR_MS), 12)
            assert of(first).high_watermark == 0, "it has heard of none before"
            waiting = parked(world, by(A, 1, wait_ms=HOUR_MS))
            second = world.answer(by(B, 1, wait_ms=HOUR_MS), 12)
            assert of(second).high_watermark == 1, "its own Fetch has moved it"
            assert of(waiting.reply).high_watermark == 1
            nothing_new = [parked(world, by(id, 1, wait_ms=HOUR_MS)) for id in (A, B)]
            write(partition)
            assert all(of(one.reply).records for one in nothing_new), "records are as good a reason as ever"

    trio.run(story)


def test_without_a_selector_they_hear_with_their_next_records(tmp_path: Path) -> None:
    async def story() -> None:
        with a_world(tmp_path, {}) as world:
            partition = led(world)
            write(partition)
            waiting = [parked(world, by(id, 1, wait_ms=HOUR_MS)) for id in (A, B)]
            assert partition.log.high_watermark == 1
            assert not any(one.is_filled for one in waiting)

    trio.run(story)


# Strangers


def test_one_that_is_no_follower_asks_again_if_it_knows_the_epoch(world: World) -> None:
    partition = led(world)
    known = fetching(0, replica_id=9, leader_epoch=partition.leader_epoch)
    assert ask(world, known)[0].error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert ask(world, by(9, 0))[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


# The nearest replica


@pytest.mark.parametrize("world", [SELECTOR], indirect=True)
@pytest.mark.parametrize("version", [11, 12])
def test_a_consumer_is_sent_to_the_follower_in_its_rack_instead_of_records(world: World, version: int) -> None:
    partition = led(world)
    write(partition)
    for id in (A, B):
        ask(world, by(id, 1))
    part = ask(world, fetching(0, rack_id="b", wait_ms=HOUR_MS), version)[0]
    assert (part.error_code, part.preferred_read_replica, part.records) == (0, B, b"")
    assert (part.high_watermark, part.last_stable_offset, part.aborted_transactions) == (1, 1, None)
    for rack in ("here", "nowhere", ""):
        part = ask(world, fetching(0, rack_id=rack), version)[0]
        assert (part.preferred_read_replica, values_of(part.records)) == (-1, [b"value"])


@pytest.mark.parametrize("world", [SELECTOR], indirect=True)
def test_it_is_sent_to_none_that_it_cannot_reach(world: World) -> None:
    partition = led(world)
    write(partition)
    for id in (A, B):
        ask(world, by(id, 1))
    world.register(A, rack="a", fenced=True)
    world.register(B, rack="b", listeners=("INTERNAL",))
    for rack in ("a", "b"):
        assert ask(world, fetching(0, rack_id=rack))[0].preferred_read_replica == -1


def test_without_a_selector_everybody_reads_from_the_leader(world: World) -> None:
    partition = led(world)
    write(partition)
    for id in (A, B):
        ask(world, by(id, 1))
    assert values_of(ask(world, fetching(0, rack_id="b"))[0].records) == [b"value"]
