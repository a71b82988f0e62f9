"""Shards come and go with their partitions, are loaded in turns, and are called when their time has come."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from ottla.cluster.image import ConfigType
from ottla.cluster.image.loader import Change, MetadataLoader
from ottla.coordinators.contract import Outcome, Record
from ottla.server.coordinating import CONSUMER_OFFSETS, GroupCoordinator
from ottla.server.partition import Partition
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import BatchBuilder
from ottla.wire.schema import StoredRecord
from ottla.wire.stored.classic_group_records import OffsetCommitKey, OffsetCommitValue
from ottla.wire.stored.metadata_records import ConfigRecord, RemoveTopicRecord
from tests.server.handler_world import NOW_MS, World, a_world
from tests.server.handlers.group_world import SETTINGS, GroupWorld
from tests.server.world import by_test_clock, pass_time

COMMIT = Record(
    OffsetCommitKey(group="g", topic="orders", partition=0),
    OffsetCommitValue(offset=7, metadata="", commit_timestamp=NOW_MS),
    4,
)


@pytest.fixture
def groups(tmp_path: Path) -> Iterator[GroupWorld]:
    with a_world(tmp_path, SETTINGS) as world:
        # The clock that a test turns.
        world.broker.groups = GroupCoordinator(world.broker, now_ms, lambda: "uuid")
        yield GroupWorld(world)


def now_ms() -> int:
    try:
        return NOW_MS + round(trio.current_time() * 1000)
    except RuntimeError:
        return NOW_MS


@asynccontextmanager
async def running(coordinator: GroupCoordinator) -> AsyncIterator[None]:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(coordinator.run)
        await trio.testing.wait_all_tasks_blocked()
        yield
        nursery.cancel_scope.cancel()


def state(coordinator: GroupCoordinator, group_id: str = "g") -> Any:
    """The group's state, or the error of whoever should know it."""
    told: list[Any] = []
    try:
        coordinator.ask(group_id, lambda shard, token, now_ms: shard.describe_groups([group_id], 6), told.append)
    except KafkaError as error:
        return error.code
    return told[0].code if isinstance(told[0], KafkaError) else told[0][0].group_state


def another_coordinator(world: World) -> GroupCoordinator:
    """As after a restart: it knows what the logs hold."""
    coordinator = world.broker.groups = GroupCoordinator(world.broker, now_ms, lambda: "uuid")
    coordinator.start(world.broker.image)
    return coordinator


def change(world: World, *records: StoredRecord) -> Change:
    """Records that were committed, as a follower of the quorum hears of them."""
    loader = MetadataLoader(world.broker.image)
    (found,) = loader.load(
        records, base_offset=loader.image.offset + 1, last_offset=loader.image.offset + 1, epoch=1, timestamp_ms=NOW_MS
    )
    world.broker.image = found.image
    return found


@by_test_clock
async def test_sessions_end_by_themselves(groups: GroupWorld) -> None:
    coordinator = groups.world.broker.groups
    async with running(coordinator):
        waiting = groups.join(groups.joined(groups.join()).member_id)
        await trio.testing.wait_all_tasks_blocked()
        member_id = groups.joined(waiting).member_id
        groups.sync(member_id, 1)
        assert state(coordinator) == "Stable"
        await pass_time(9.9)
        assert state(coordinator) == "Stable"
        await pass_time(0.2)
        assert state(coordinator) == "Empty"


@by_test_clock
async def test_nobody_waits_for_ever_for_a_commit(groups: GroupWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Partition, "update_high_watermark", lambda partition, added_bytes: None)
    coordinator = groups.world.broker.groups
    told: list[Any] = []
    async with running(coordinator):
        coordinator.ask("g", lambda shard, token, now_ms: Outcome("done", [COMMIT]), told.append)
        await pass_time(groups.world.broker.config.offsets_commit_timeout_ms / 1000 - 0.1)
        assert told == []
        await pass_time(0.2)
        assert [error.code for error in told] == [ErrorCode.COORDINATOR_NOT_AVAILABLE]


def test_what_is_due_at_once_is_done_at_once(groups: GroupWorld) -> None:
    """A rebalance without delay needs no turn of the task, which does not run here."""
    waiting = groups.join(groups.joined(groups.join()).member_id)
    assert groups.joined(waiting).generation_id == 1


@by_test_clock
async def test_a_mistake_in_one_shard_stops_nobody(groups: GroupWorld, caplog: pytest.LogCaptureFixture) -> None:
    coordinator = groups.world.broker.groups

    def broken(now_ms: int) -> Outcome[None]:
        raise RuntimeError("a mistake")

    for shard in coordinator.shards():
        shard.shard.state.timers.schedule("broken", now_ms() + 1000, broken)
    async with running(coordinator):
        with caplog.at_level(logging.CRITICAL, "ottla.server.coordinating"):
            await pass_time(2)
        waiting = groups.join(groups.joined(groups.join()).member_id)
        await trio.testing.wait_all_tasks_blocked()
        assert groups.joined(waiting).generation_id == 1


@by_test_clock
async def test_what_the_log_holds_is_loaded_meanwhile(groups: GroupWorld) -> None:
    groups.stable_member()
    groups.commit(7, group_id="keeper")
    coordinator = another_coordinator(groups.world)
    assert state(coordinator) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    with pytest.raises(KafkaError):
        coordinator.shards()
    async with running(coordinator):
        assert state(coordinator) == "Stable"
        assert state(coordinator, "keeper") == "Empty"
        assert len(coordinator.shards()) == 3
        await pass_time(10)
        assert state(coordinator) == "Empty"


@by_test_clock
async def test_a_log_that_cannot_be_read_has_no_coordinator(
    groups: GroupWorld, caplog: pytest.LogCaptureFixture
) -> None:
    place = groups.world.broker.groups.place_of("g")
    assert place is not None
    builder = BatchBuilder()
    builder.append(b"\0\1no key of ours", b"value", timestamp=NOW_MS)
    partition = groups.world.partition(CONSUMER_OFFSETS, place)
    partition.stage(builder.build(), NOW_MS)
    partition.commit()
    coordinator = another_coordinator(groups.world)
    async with running(coordinator):
        assert state(coordinator) is ErrorCode.NOT_COORDINATOR
        assert len(coordinator.shards()) == 2
    assert "cannot be read" in caplog.text


@by_test_clock
async def test_a_shard_that_is_lost_while_it_is_loaded_is_let_go(groups: GroupWorld) -> None:
    groups.commit(7)
    world = groups.world
    topic = world.broker.image.topics.by_name[CONSUMER_OFFSETS]
    place = world.broker.groups.place_of("g")
    assert place is not None
    coordinator = another_coordinator(world)
    world.broker.resign(CONSUMER_OFFSETS, topic.id, place)
    async with running(coordinator):
        assert state(coordinator) is ErrorCode.NOT_COORDINATOR


@by_test_clock
async def test_a_partition_that_comes_back_brings_its_groups(groups: GroupWorld) -> None:
    groups.commit(7)
    world = groups.world
    coordinator = world.broker.groups
    place = coordinator.place_of("g")
    assert place is not None
    partition = world.partition(CONSUMER_OFFSETS, place)
    world.broker.resign(CONSUMER_OFFSETS, partition.topic_id, place)
    assert state(coordinator) is ErrorCode.NOT_COORDINATOR
    async with running(coordinator):
        world.broker.lead(partition)
        coordinator.start(world.broker.image)
        await trio.testing.wait_all_tasks_blocked()
        assert state(coordinator) == "Empty"


def test_offsets_of_a_deleted_topic_are_forgotten(groups: GroupWorld) -> None:
    groups.commit(7)
    coordinator = groups.world.broker.groups
    shard = coordinator._shard_of("g")
    assert shard.shard.state.offsets.of_group("g")
    coordinator.committed(change(groups.world, RemoveTopicRecord(topic_id=groups.orders_id)))
    assert not shard.shard.state.offsets.of_group("g")
    assert shard.shard.state.topics.by_name("orders") is None


def test_what_is_set_for_all_brokers_reaches_the_shards(groups: GroupWorld) -> None:
    world = groups.world
    coordinator = world.broker.groups
    record = ConfigRecord(
        resource_type=ConfigType.BROKER, resource_name="", name="group.consumer.assignment.interval.ms", value="7"
    )
    found = change(world, record)
    world.broker.config = world.broker.config.overlaid({"group.consumer.assignment.interval.ms": "7"}, {})
    coordinator.committed(found)
    assert coordinator.settings.consumer_assignment_interval_ms == 7
    assert {shard.shard.state.settings.consumer_assignment_interval_ms for shard in coordinator.shards()} == {7}


def test_before_it_is_started_it_follows_nobody(tmp_path: Path) -> None:
    with a_world(tmp_path, {}) as world:
        coordinator = GroupCoordinator(world.broker, now_ms, lambda: "uuid")
        world.topic(CONSUMER_OFFSETS)
        record = ConfigRecord(resource_type=ConfigType.TOPIC, resource_name="t", name="k", value="v")
        coordinator.committed(change(world, record))
        assert coordinator.shards() == []
