"""Replicas move between directories while they serve: nothing is lost, and what fails stays where it is."""

from __future__ import annotations

import errno
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
import trio
import trio.testing

from ottla.config.loading import load
from ottla.server.broker import Broker
from ottla.server.directory_assignments import DirectoryAssignments
from ottla.server.directory_moves import CHOICES_MAX, PIECE_BYTES, DirectoryMoves
from ottla.server.partition import Partition
from ottla.server.replica_fetching import FollowingReplica, ReplicaFetching
from ottla.storage.directory_identity import Identity
from ottla.storage.files import OsDisk
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directories import LogDirectories
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_reading import read
from ottla.wire.errors import ErrorCode, KafkaError
from tests.server.world import NOW_MS, TOPIC, TOPIC_ID, batch, by_test_clock, in_trio, pass_time

KEY = (TOPIC, 0)
LONG_NAME = "n" * 240


class Assignments:
    """A controller that hears of directories, and may be slow."""

    def __init__(self) -> None:
        self.told: list[bytes] = []
        self.while_told: Callable[[], None] = lambda: None

    def soon(self, topic_id: bytes, index: int, directory_id: bytes) -> None:
        assert (topic_id, index) == (TOPIC_ID, 0)
        self.told.append(directory_id)

    async def assign(self, topic_id: bytes, index: int, directory_id: bytes) -> None:
        self.soon(topic_id, index, directory_id)
        await trio.lowlevel.checkpoint()
        self.while_told()


class World:
    def __init__(self, path: Path, nursery: trio.Nursery) -> None:
        self.directories = opened(path)
        self.directories.load(lambda topic: LogConfig(), NOW_MS)
        config = load({"log.dirs": f"{path / 'a'},{path / 'b'}"}, {}).config
        self.broker = Broker(config, "cluster", self.directories, (), nursery)
        self.assignments = Assignments()
        self.moves = DirectoryMoves(self.broker, cast("DirectoryAssignments", self.assignments))

    def partition(self, **config: Any) -> Partition:
        log = self.directories.create(KEY, TOPIC_ID, LogConfig(**config), NOW_MS, is_new=True)
        partition = Partition(TOPIC, TOPIC_ID, 0, log, 0)
        self.broker.lead(partition)
        return partition

    @property
    def here(self) -> LogDirectory:
        directory = self.directories.directory_of(KEY)
        assert directory is not None
        return directory

    @property
    def elsewhere(self) -> LogDirectory:
        (other,) = [one for one in self.directories.directories if one is not self.here]
        return other

    async def arrived(self, target: LogDirectory) -> None:
        while self.here is not target:
            await trio.testing.wait_all_tasks_blocked()

    def throttle(self, bytes_per_second: int) -> None:
        rate = {"replica.alter.log.dirs.io.max.bytes.per.second": str(bytes_per_second)}
        self.broker.config = self.broker.config.overlaid(rate, {})


def opened(path: Path) -> LogDirectories:
    ids = iter((b"directory of one", b"directory of two"))
    return LogDirectories.open(
        OsDisk(), [str(path / "a"), str(path / "b")], Identity("cluster", 1), new_directory_id=lambda: next(ids)
    )


@asynccontextmanager
async def a_world(path: Path, *, runs: bool = True) -> AsyncIterator[World]:
    async with trio.open_nursery() as nursery:
        world = World(path, nursery)
        if runs:
            nursery.start_soon(world.moves.run)
        try:
            yield world
        finally:
            nursery.cancel_scope.cancel()
    world.directories.close(1)


def append(partition: Partition, count: int, value: bytes = b"value") -> None:
    for _ in range(count):
        partition.stage(batch(value), NOW_MS)
        partition.commit()


def content(partition: Partition) -> bytes:
    log, seen, offset = partition.log, b"", partition.log.start_offset
    while offset < log.high_watermark:
        piece = read(log, offset, bytes_max=1 << 20, end_offset=log.high_watermark)
        seen += b"" if piece.file is None else piece.file.read_at(piece.position, piece.size_bytes)
        offset = piece.next_offset
    return seen


@in_trio
async def test_a_replica_moves_with_all_that_it_has_while_more_comes(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        partition = world.partition(segment_bytes=64 * 1024)
        append(partition, 100, b"x" * 10_000)
        source, target = world.here, world.elsewhere
        world.moves.move(KEY, target)
        assert KEY in target.future
        for _ in range(20):
            append(partition, 5, b"y" * 1000)
            await trio.testing.wait_all_tasks_blocked()
        await world.arrived(target)
        assert partition.log is target.hosted[KEY].log
        assert (source.hosted, target.future) == ({}, {})
        assert partition.log.high_watermark == partition.log.end_offset == 200
        assert content(partition).count(b"y" * 1000) == 100
        assert content(partition).count(b"x" * 10_000) == 100
        assert set(world.assignments.told) == {target.meta.directory_id}
        append(partition, 1)
        assert partition.log.high_watermark == 201


@in_trio
async def test_what_comes_while_the_controller_is_told_is_copied_too(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        partition = world.partition()
        append(partition, 3)
        world.assignments.while_told = lambda: append(partition, 2)
        world.moves.move(KEY, target := world.elsewhere)
        await world.arrived(target)
        assert partition.log.high_watermark == 5


@in_trio
async def test_more_than_a_piece_that_comes_meanwhile_is_copied_in_the_background(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        partition = world.partition()
        append(partition, 1)

        def much() -> None:
            world.assignments.while_told = lambda: None
            append(partition, 4, b"z" * PIECE_BYTES)

        world.assignments.while_told = much
        world.moves.move(KEY, target := world.elsewhere)
        await world.arrived(target)
        assert len(world.assignments.told) == 2
        assert partition.log.high_watermark == 5


@in_trio
async def test_what_was_on_the_disk_is_on_the_disk(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        partition = world.partition()

        def more() -> None:
            append(partition, 1)
            partition.log.flush()

        append(partition, 1)
        world.assignments.while_told = more
        world.moves.move(KEY, target := world.elsewhere)
        await world.arrived(target)
        assert partition.log.recovery_point == 2


@by_test_clock
async def test_a_move_takes_its_time_and_the_pace_may_change(tmp_path: Path) -> None:
    async with a_world(tmp_path, runs=False) as world:
        partition = world.partition()
        append(partition, 4, b"x" * (PIECE_BYTES - 100))
        world.throttle(PIECE_BYTES // 10)
        world.moves.move(KEY, target := world.elsewhere)
        world.broker.start_soon(world.moves.run)
        copy = target.future[KEY].log
        await piece_is_there(copy, 1)
        await pass_time(5)
        assert copy.end_offset == 1
        await pass_time(5)
        await piece_is_there(copy, 2)
        world.throttle(1 << 60)
        await pass_time(1)
        await piece_is_there(copy, 4)


async def piece_is_there(copy: Any, end_offset: int) -> None:
    """Threads know nothing of the clock."""
    while copy.end_offset < end_offset:
        await trio.testing.wait_all_tasks_blocked()


@by_test_clock
async def test_a_move_is_given_up_where_the_replica_is_wanted_where_it_is(tmp_path: Path) -> None:
    async with a_world(tmp_path, runs=False) as world:
        append(world.partition(), 1)
        target = world.elsewhere
        world.moves.move(KEY, target)
        world.moves.move(KEY, target)
        assert len(target.future) == 1
        world.moves.move(KEY, world.here)
        assert target.future == {}
        assert world.assignments.told == [world.here.meta.directory_id], "it may have heard of the other already"


@in_trio
async def test_a_replica_that_goes_takes_its_copy_along(tmp_path: Path) -> None:
    async with a_world(tmp_path, runs=False) as world:
        world.partition()
        target = world.elsewhere
        world.moves.move(KEY, target)
        world.moves.pause(KEY)
        assert target.future
        world.moves.forget(KEY)
        world.moves.forget(KEY)
        assert target.future == {}
        assert world.assignments.told == []


@in_trio
async def test_a_restart_goes_on_with_a_copy(tmp_path: Path) -> None:
    async with a_world(tmp_path, runs=False) as world:
        append(world.partition(), 3)
        world.moves.move(KEY, world.elsewhere)
    async with a_world(tmp_path) as world:
        target = world.elsewhere
        log = world.directories.logs[KEY]
        world.moves.resume(Partition(TOPIC, TOPIC_ID, 0, log, 1))
        await world.arrived(target)
        assert world.directories.logs[KEY].end_offset == 3


@in_trio
async def test_a_copy_of_an_earlier_topic_goes(tmp_path: Path) -> None:
    async with a_world(tmp_path, runs=False) as world:
        partition = world.partition()
        target = world.elsewhere
        world.moves.move(KEY, target)
        world.moves._moves.clear()
        target.future[KEY].topic_id = b"another topic id"
        world.moves.resume(partition)
        assert target.future == {}


@in_trio
async def test_a_disk_that_fails_leaves_the_replica_where_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with a_world(tmp_path) as world:
        partition = world.partition()
        append(partition, 3)
        source, target = world.here, world.elsewhere
        world.moves.move(KEY, target)
        target.future[KEY].log.failure = OSError(errno.EIO, "the disk is gone")
        while target.offline is None:
            await trio.testing.wait_all_tasks_blocked()
        await trio.testing.wait_all_tasks_blocked()
        assert world.here is source
        append(partition, 1)
        assert partition.log.high_watermark == 4
        assert any("cannot be moved" in message for message in caplog.messages)


@in_trio
async def test_a_log_that_was_cut_is_copied_anew(tmp_path: Path) -> None:
    async with a_world(tmp_path, runs=False) as world:
        partition = world.partition()
        append(partition, 3)
        target = world.elsewhere
        world.moves.move(KEY, target)
        (move,) = world.moves._moves.values()
        await world.moves._step(move)
        assert target.future[KEY].log.end_offset == 3
        world.here.truncate_to(KEY, 1, NOW_MS)
        await world.moves._step(move)
        assert target.future[KEY].log.end_offset == 0
        world.broker.start_soon(world.moves.run)
        await world.arrived(target)
        assert partition.log.end_offset == 1


def code_of(world: World, key: tuple[str, int], target: LogDirectory) -> ErrorCode:
    with pytest.raises(KafkaError) as refused:
        world.moves.move(key, target)
    return refused.value.code


@in_trio
async def test_what_cannot_be_moved_is_refused(tmp_path: Path) -> None:
    async with a_world(tmp_path, runs=False) as world:
        world.partition()
        target = world.elsewhere
        assert code_of(world, (LONG_NAME, 0), target) is ErrorCode.INVALID_TOPIC_EXCEPTION
        world.directories.dead["/c"] = OSError(errno.EIO, "gone")
        assert code_of(world, KEY, target) is ErrorCode.KAFKA_STORAGE_ERROR
        world.directories.dead.clear()
        target.offline = OSError(errno.EIO, "gone")
        assert code_of(world, KEY, target) is ErrorCode.KAFKA_STORAGE_ERROR
        target.offline = None
        assert target.future == {}


@in_trio
async def test_a_directory_is_chosen_for_a_replica_that_comes_later(tmp_path: Path) -> None:
    async with a_world(tmp_path, runs=False) as world:
        first, second = world.directories.directories
        assert code_of(world, ("later", 0), first) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert code_of(world, ("later", 0), second) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert world.moves.chosen(("later", 0)) == second.meta.directory_id
        assert world.moves.chosen(("later", 0)) is None, "once"
        for index in range(CHOICES_MAX + 1):
            code_of(world, ("later", index), first)
        assert world.moves.chosen(("later", 0)) is None, "the oldest goes"
        first.offline = OSError(errno.EIO, "gone")
        assert world.moves.chosen(("later", 1)) is None
        first.offline = None


# Followers


def following(world: World, count: int = 0) -> FollowingReplica:
    """A replica here that another broker leads, with so many records."""
    log = world.directories.create(KEY, TOPIC_ID, LogConfig(), NOW_MS, is_new=True)
    replica = FollowingReplica(TOPIC, TOPIC_ID, 0, log, 2, 5)
    fetched(replica, count)
    world.moves.fetching = ReplicaFetching(world.broker, lambda: 7)
    world.moves.fetching.follow(replica)
    return replica


def fetched(replica: FollowingReplica, count: int, value: bytes = b"value", epoch: int = 5) -> None:
    for _ in range(count):
        replica.log.append(batch(value), leader_epoch=epoch, now_ms=NOW_MS)
    replica.log.advance_high_watermark(replica.log.end_offset)


@pytest.mark.parametrize("flush_messages", [1, 1 << 62])
def test_a_follower_moves_and_fetches_on_in_its_new_place(tmp_path: Path, flush_messages: int) -> None:
    @in_trio
    async def story() -> None:
        async with a_world(tmp_path) as world:
            replica = following(world, 3)
            replica.log.reconfigure(LogConfig(flush_messages=flush_messages))
            world.assignments.while_told = lambda: fetched(replica, 2)
            source = world.here
            world.moves.move(KEY, target := world.elsewhere)
            await world.arrived(target)
            assert replica.log is target.hosted[KEY].log
            assert (replica.log.end_offset, replica.log.high_watermark, replica.log.epochs.latest_epoch) == (5, 5, 5)
            assert source.hosted == {}
            assert flush_messages > 1 or replica.log.recovery_point == 5
            fetched(replica, 1)
            assert replica.log.end_offset == 6

    story()


@by_test_clock
async def test_what_a_follower_cuts_and_gets_anew_is_what_its_copy_has(tmp_path: Path) -> None:
    """By its offsets alone, a copy with the old records would pass for the beginning of the new log."""
    async with a_world(tmp_path, runs=False) as world:
        replica = following(world)
        fetched(replica, 4, b"old" + b"x" * (PIECE_BYTES - 100), epoch=3)
        world.throttle(PIECE_BYTES // 10)
        world.moves.move(KEY, target := world.elsewhere)
        world.broker.start_soon(world.moves.run)
        copy = target.future[KEY].log
        while copy.end_offset < 3:
            await pass_time(1)
        world.here.truncate_to(KEY, 1, NOW_MS)
        world.moves.cut(KEY, 1)
        assert copy.end_offset == 1
        fetched(replica, 5, b"new", epoch=5)
        world.throttle(1 << 60)
        while world.here is not target:
            await pass_time(1)
        assert replica.log.end_offset == 6
        assert [(one.epoch, one.start_offset) for one in replica.log.epochs.entries] == [(3, 0), (5, 1)]


@in_trio
async def test_a_move_goes_on_whoever_leads(tmp_path: Path) -> None:
    async with a_world(tmp_path, runs=False) as world:
        replica = following(world, 3)
        world.moves.move(KEY, target := world.elsewhere)
        world.moves.resume(replica)
        partition = Partition(TOPIC, TOPIC_ID, 0, replica.log, 6)
        world.broker.lead(partition)
        world.moves.resume(partition)
        world.broker.start_soon(world.moves.run)
        await world.arrived(target)
        assert partition.log is target.hosted[KEY].log
        assert replica.log is not partition.log
