"""When snapshots are taken, what they hold, and that a node goes on from one."""

from __future__ import annotations

import logging

import pytest
import trio

from ottla.cluster.image import EMPTY
from ottla.cluster.image.snapshot_file import SnapshotId
from ottla.config.loading import load
from ottla.server.metadata_store import MetadataStore
from ottla.server.snapshotting import Snapshots, latest_image
from tests.server.metadata_world import HOME, NODE_ID, NOW_MS, MetadataWorld, a_quorum, format_home, setting
from tests.server.world import by_test_clock, in_trio, pass_time, until
from tests.storage.fake_disk import FakeDisk

BYTES = "metadata.log.max.record.bytes.between.snapshots"
INTERVAL = "metadata.log.max.snapshot.interval.ms"


def following(world: MetadataWorld, **settings: str) -> Snapshots:
    texts = {"log.dirs": HOME, **{key.replace("_", "."): value for key, value in settings.items()}}
    snapshots = Snapshots(world.quorum, world.store, load(texts, {}).config, lambda: world.now_ms)
    world.quorum.follow(snapshots)
    return snapshots


def latest_offset(world: MetadataWorld) -> int:
    latest = world.store.latest_snapshot()
    assert latest is not None
    return latest.offset


def test_a_formatted_node_starts_from_nothing() -> None:
    disk = FakeDisk()
    format_home(disk)
    assert latest_image(MetadataStore(disk, HOME, NOW_MS)) is EMPTY


@in_trio
async def test_a_snapshot_is_the_image_with_voters_and_version_of_the_quorum() -> None:
    disk = FakeDisk()
    async with a_quorum(disk) as world:
        world.change(setting("1"))
        await world.settle()
        await following(world).take()
        image = world.quorum.image
        loaded = world.store.load_snapshot()
        assert loaded is not None
        assert loaded[0] == SnapshotId(image.offset + 1, image.epoch)
        assert loaded[1].kraft_version == 1
        assert loaded[1].voters is not None
        assert [voter.voter_id for voter in loaded[1].voters.voters] == [NODE_ID]
        assert latest_image(world.store) == image
        world.change(setting("2"))
        await world.settle()
    async with a_quorum(disk) as world:
        assert world.quorum.image.config_overrides(2, "topic") == {"retention.ms": "2"}
        assert world.quorum.raft.voters.ids == [NODE_ID]
        assert world.quorum.raft.kraft_version == 1


@in_trio
async def test_a_node_goes_on_from_a_snapshot_without_the_log_before_it() -> None:
    disk = FakeDisk()
    for life in range(3):
        async with a_quorum(disk, segment_bytes=300) as world:
            world.change(setting(str(life)))
            await world.settle()
            await following(world, metadata_max_retention_bytes="0").take()
            assert world.store.start_offset == latest_offset(world) == world.quorum.applied_offset
            image = world.quorum.image
        disk.crash()
        assert latest_image(MetadataStore(disk, HOME, NOW_MS)) == image


@in_trio
async def test_a_snapshot_is_taken_after_so_many_bytes_and_not_before() -> None:
    async with a_quorum(FakeDisk()) as world, trio.open_nursery() as nursery:
        snapshots = following(world, **{BYTES: "2000", INTERVAL: "0"})
        nursery.start_soon(snapshots.run)
        while world.quorum.applied_bytes < 2000:
            assert latest_offset(world) == 0
            world.change(setting("1"))
            await world.settle()
        await until(lambda: latest_offset(world) == world.quorum.applied_offset)
        taken = latest_offset(world)
        world.change(setting("2"))
        await world.settle()
        await trio.testing.wait_all_tasks_blocked()
        assert latest_offset(world) == taken, "the count begins anew"
        nursery.cancel_scope.cancel()


@by_test_clock
async def test_a_snapshot_is_taken_after_a_while_if_there_is_something_new() -> None:
    async with a_quorum(FakeDisk()) as world, trio.open_nursery() as nursery:
        nursery.start_soon(following(world, **{INTERVAL: "5000"}).run)
        world.change(setting("1"))
        await world.settle()
        await pass_time(4.9)
        assert latest_offset(world) == 0
        await pass_time(0.2)
        await until(lambda: latest_offset(world) == world.quorum.applied_offset)
        before = list(world.disk.journal)
        await pass_time(5.1)
        assert list(world.disk.journal) == before, "nothing is new"
        nursery.cancel_scope.cancel()


@in_trio
async def test_a_snapshot_that_cannot_be_written_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    async with a_quorum(FakeDisk()) as world, trio.open_nursery() as nursery:
        nursery.start_soon(following(world, **{BYTES: "1"}).run)
        world.disk.fail("write", "*.checkpoint*")
        with caplog.at_level(logging.ERROR):
            world.change(setting("1"))
            await until(lambda: "no snapshot of the metadata can be written" in caplog.text)
        assert latest_offset(world) == 0
        world.change(setting("2"))
        await until(lambda: latest_offset(world) > 0)
        nursery.cancel_scope.cancel()
