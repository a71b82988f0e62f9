"""A disk fails under a broker of three: others lead what was there, the rest goes on, and it comes back."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from ottla.client import produce as client_produce
from ottla.config.loading import load
from ottla.server.directory_failures import DirectoriesLost, DirectoryFailures
from ottla.server.registration import RETRY_SECONDS
from ottla.storage.files import OsFile
from ottla.storage.log_directory import LogDirectory
from ottla.wire.errors import ErrorCode, KafkaError
from tests.server.cluster_world import ClusterNode, RunningCluster, a_cluster, until
from tests.server.test_cluster import TOPIC, in_trio
from tests.server.world import World, a_world, batch, by_test_clock, pass_time

BROKEN = OSError(errno.EIO, "Input/output error")
# Enough for each broker to lead some in each directory.
PARTITION_COUNT = 12


def isr(cluster: RunningCluster, index: int) -> set[int]:
    placed = cluster.placed(TOPIC, index)
    assert placed is not None
    return set(placed.isr)


def in_directory(node: ClusterNode, directory: LogDirectory) -> set[int]:
    return {index for topic, index in directory.hosted if topic == TOPIC}


def leading_in_the_second(cluster: RunningCluster) -> list[ClusterNode]:
    """The nodes that lead something in their second directory; who was slow for a moment leads nothing."""
    found = []
    for node in cluster.nodes:
        second = in_directory(node, node.broker.directories.directories[1])
        if any(cluster.leader(TOPIC, index) is node for index in second):
            found.append(node)
    return found


async def write_to_all(cluster: RunningCluster) -> None:
    async with cluster.client() as client:
        for index in range(PARTITION_COUNT):
            await client_produce.produce(client, TOPIC, index, batch())


@in_trio
async def test_what_lies_on_a_broken_disk_is_led_by_others_and_the_rest_goes_on(tmp_path: Path) -> None:
    # Nobody is out of sync before the test is over because it is slow.
    async with a_cluster(tmp_path, 3, directory_count=2, replica_lag_time_max_ms="300000") as cluster:
        await cluster.create(TOPIC, partitions=PARTITION_COUNT, replicas=3, min_insync_replicas="2")
        await write_to_all(cluster)
        victim = (await until(lambda: leading_in_the_second(cluster)))[0]
        directory = victim.broker.directories.directories[1]
        lost = in_directory(victim, directory)
        kept = set(range(PARTITION_COUNT)) - lost
        assert kept
        with pytest.MonkeyPatch.context() as patch:
            break_writes(patch, directory.path)
            await write_to_all(cluster)
            await until(lambda: all(isr(cluster, index) == {1, 2, 3} - {victim.id} for index in lost))
        assert all(isr(cluster, index) == {1, 2, 3} for index in kept)
        assert all(cluster.leader(TOPIC, index) is not victim for index in lost)
        assert victim.is_up
        await victim.stop()
        await victim.start()
        await until(lambda: all(isr(cluster, index) == {1, 2, 3} for index in range(PARTITION_COUNT)))


def break_writes(patch: pytest.MonkeyPatch, path: str) -> None:
    """Nothing can be appended to the files in a directory."""
    write_at = OsFile.write_at

    def broken(file: OsFile, position: int, *rest: Any) -> Any:
        if file.path.startswith(path + "/"):
            raise BROKEN
        return write_at(file, position, *rest)

    patch.setattr(OsFile, "write_at", broken)


# One broker


class Channel:
    """Heartbeats, as far as somebody takes them."""

    def __init__(self, *refusals: KafkaError) -> None:
        self.refusals = list(refusals)
        self.beats = 0

    async def beat(self) -> None:
        await trio.lowlevel.checkpoint()
        self.beats += 1
        if self.refusals:
            raise self.refusals.pop(0)


def refusal() -> KafkaError:
    return KafkaError(ErrorCode.NOT_CONTROLLER, "nobody is there")


def failures_of(world: World, channel: Any) -> DirectoryFailures:
    return DirectoryFailures(load({"log.dirs": "/unused"}, {}).config, world.directories, channel)


@contextmanager
def another_directory(world: World) -> Iterator[LogDirectory]:
    first = world.directories.directories[0]
    second = LogDirectory(first.disk, "/second", first._lock, first.meta, first.open_files)
    world.directories.directories.append(second)
    yield second
    world.directories.directories.remove(second)


@by_test_clock
async def test_the_controller_is_told_again_until_it_has_heard(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world, trio.open_nursery() as nursery:
        with another_directory(world) as second:
            channel = Channel(refusal(), refusal())
            nursery.start_soon(failures_of(world, channel).run)
            await trio.testing.wait_all_tasks_blocked()
            assert channel.beats == 0
            second.fail(BROKEN)
            second.fail(BROKEN)
            for _ in range(5):
                await pass_time(RETRY_SECONDS)
            assert channel.beats == 3
        nursery.cancel_scope.cancel()


@by_test_clock
async def test_a_broker_that_cannot_tell_stops_in_time(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        with another_directory(world) as second:
            failures = failures_of(world, Channel(*(refusal() for _ in range(10_000))))
            second.fail(BROKEN)
            trio.lowlevel.current_clock().autojump_threshold = 0  # type: ignore[attr-defined]
            began = trio.current_time()
            with pytest.raises(DirectoriesLost, match="30000 ms"):
                await failures.run()
            assert trio.current_time() - began == pytest.approx(30)


@pytest.mark.parametrize("refusals", [0, 1])
def test_a_broker_without_any_directory_stops_at_once(tmp_path: Path, refusals: int) -> None:
    @by_test_clock
    async def story() -> None:
        async with a_world(tmp_path, serves=False) as world:
            channel = Channel(*(refusal() for _ in range(refusals)))
            failures = failures_of(world, channel)
            world.directories.directories[0].fail(BROKEN)
            with pytest.raises(DirectoriesLost, match="every log directory has failed"):
                await failures.run()
            assert channel.beats == 1

    story()
