"""A follower's replica as consumers read it: what is committed, who waits for more, and when it is over."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from ottla.cluster.image import ConfigType
from ottla.config.topic import log_config
from ottla.server.followed_partitions import FollowedPartition
from ottla.server.parking import Pending
from ottla.storage.log import Log
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.fetch import FetchRequest, FetchResponse
from ottla.wire.stored.metadata_records import PartitionChangeRecord
from tests.server.handler_world import LEADER_EPOCH, NODE_ID, NOW_MS, Caught, World, a_world
from tests.server.handlers.test_fetch import ask
from tests.server.world import batch, fetching, values_of

LEADER = 2
KEY = ("t", 0)
HOUR_MS = 3_600_000
TOOL = -2


def followed(world: World, *values: bytes, committed: int | None = None) -> tuple[bytes, Log]:
    """A topic that another broker leads, with a replica here that has these records."""
    world.register(LEADER)
    topic_id = world.topic("t", replicas=[LEADER, NODE_ID], leader=LEADER)
    config = log_config(world.broker.image.config_overrides(ConfigType.TOPIC, "t"), world.broker.config)
    log = world.broker.directories.create(KEY, topic_id, config, NOW_MS, is_new=True)
    for value in values:
        log.append(batch(value), leader_epoch=LEADER_EPOCH, now_ms=NOW_MS)
    log.advance_high_watermark(len(values) if committed is None else committed)
    return topic_id, log


@pytest.mark.parametrize("version", [11, 12, 13, 18])
def test_a_consumer_reads_from_a_follower_what_that_knows_to_be_committed(world: World, version: int) -> None:
    topic_id, _ = followed(world, b"a", b"b", b"c", committed=2)
    part = ask(world, fetching(topic_id=topic_id, rack_id="r"), version)[0]
    assert (part.error_code, part.high_watermark, part.last_stable_offset) == (0, 2, 2)
    assert values_of(part.records) == [b"a", b"b"]
    assert part.preferred_read_replica == -1


def test_who_cannot_be_sent_to_a_follower_is_not_served_by_one(world: World) -> None:
    followed(world, b"a")
    for version in (4, 10):
        assert ask(world, fetching(), version)[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    other = ask(world, fetching(replica_id=3))[0]
    assert other.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER, "followers follow leaders"


@pytest.mark.parametrize("version", [4, 12])
def test_a_tool_reads_all_that_a_follower_has(world: World, version: int) -> None:
    followed(world, b"a", b"b", b"c", committed=1)
    part = ask(world, fetching(replica_id=TOOL), version)[0]
    assert values_of(part.records) == [b"a", b"b", b"c"]


def test_an_offset_that_is_not_committed_yet_is_no_error_and_one_behind_the_log_is(world: World) -> None:
    followed(world, b"a", b"b", committed=1)
    assert (ask(world, fetching(2))[0].error_code, ask(world, fetching(2))[0].records) == (0, b"")
    assert ask(world, fetching(3))[0].error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_epochs_are_checked_as_by_a_leader(world: World) -> None:
    _, log = followed(world)
    for epoch in (LEADER_EPOCH - 2, LEADER_EPOCH):
        log.append(batch(), leader_epoch=epoch, now_ms=NOW_MS)
    assert ask(world, fetching(leader_epoch=LEADER_EPOCH - 1))[0].error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert ask(world, fetching(leader_epoch=LEADER_EPOCH + 1))[0].error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    request = fetching(2)
    request.topics[0].partitions[0].last_fetched_epoch = LEADER_EPOCH - 1
    diverging = ask(world, request)[0].diverging_epoch
    assert (diverging.epoch, diverging.end_offset) == (LEADER_EPOCH - 2, 1)


def test_a_replica_whose_disk_has_failed_says_so(world: World) -> None:
    followed(world, b"a")
    directory = world.broker.directories.directory_of(KEY)
    assert directory is not None
    directory.offline = OSError(5, "broken")
    assert ask(world, fetching())[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR


def parked(world: World, request: FetchRequest, version: int = 12) -> Caught:
    reply = world.serving[1].handler(world.context(version), request)
    assert isinstance(reply, Pending)
    caught = Caught()
    reply.place = caught
    return caught


def test_who_waits_is_answered_when_the_follower_hears_of_a_new_high_watermark(tmp_path: Path) -> None:
    async def story() -> None:
        with a_world(tmp_path, {}) as world:
            _, log = followed(world, b"a", b"b", committed=1)
            waiting = parked(world, fetching(1, wait_ms=HOUR_MS))
            patient = parked(world, fetching(1, wait_ms=HOUR_MS, min_bytes=1 << 20))
            world.broker.followed.moved(("other", 0))
            assert not waiting.is_filled
            log.advance_high_watermark(2)
            world.broker.followed.moved(KEY)
            assert waiting.is_filled
            assert not patient.is_filled, "it wants more"
            (topic,) = waiting.reply.responses
            assert topic.partitions[0].high_watermark == 2
            assert world.broker.metrics.topic("t").fetch_count == 1

    trio.run(story)


@pytest.mark.parametrize("leader", [NODE_ID, LEADER])
def test_who_waits_is_told_when_another_leader_or_epoch_comes(tmp_path: Path, leader: int) -> None:
    async def story() -> None:
        with a_world(tmp_path, {}) as world:
            topic_id, _ = followed(world, b"a")
            waiting = parked(world, fetching(1, leader_epoch=LEADER_EPOCH, wait_ms=HOUR_MS))
            if leader == NODE_ID:
                world.broker.followed.forget(KEY)
            else:
                world.broker.followed.follow(KEY, LEADER_EPOCH)
                assert not waiting.is_filled, "nothing is new"
                world.replay(PartitionChangeRecord(partition_id=0, topic_id=topic_id, leader=LEADER))
                world.broker.followed.follow(KEY, LEADER_EPOCH + 1)
            assert waiting.is_filled
            assert isinstance(waiting.reply, FetchResponse)

    trio.run(story)


def test_what_is_known_of_a_replica_is_good_for_one_epoch(world: World) -> None:
    topic_id, log = followed(world, b"a")
    first = world.broker.followed.find(*KEY)
    assert isinstance(first, FollowedPartition)
    assert world.broker.followed.find(*KEY) is first
    world.replay(PartitionChangeRecord(partition_id=0, topic_id=topic_id, leader=LEADER))
    second = world.broker.followed.find(*KEY)
    assert second is not first
    assert second is not None
    assert (second.leader_epoch, second.log) == (LEADER_EPOCH + 1, log)
    assert str(second) == "t-0"


def test_only_replicas_of_this_broker_are_found(world: World) -> None:
    world.topic("led")
    world.register(LEADER)
    world.topic("elsewhere", replicas=[LEADER], leader=LEADER)
    world.topic("to-be-made", replicas=[LEADER, NODE_ID], leader=LEADER)
    for topic in ("led", "elsewhere", "to-be-made", "none"):
        assert world.broker.followed.find(topic, 0) is None


def test_traffic_is_counted_as_long_as_any_partition_is_read_here(world: World) -> None:
    followed(world, b"a")
    ask(world, fetching())
    traffic = world.broker.metrics.topic("t")
    assert traffic.bytes_out > 0
    world.broker.followed.forget(KEY)
    world.broker.followed.forget(KEY)
    assert world.broker.metrics.topic("t") is not traffic
