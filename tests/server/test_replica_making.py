"""Many replicas are made a few at a time, where they are wanted, and only those that still are."""

from __future__ import annotations

import errno
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
import trio.testing

from ottla.server.replica_making import SLICE_SIZE, ReplicaMaking
from ottla.storage.directory_identity import Identity
from ottla.storage.files import OsDisk
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directories import LogDirectories
from ottla.storage.offset_checkpoint import TopicPartition
from ottla.storage.partition_metadata import read_topic_id
from ottla.wire.errors import ErrorCode, KafkaError
from tests.server.world import NOW_MS, in_trio

ONE, TWO = b"directory of one", b"directory of two"
OLD_ID, NEW_ID = b"the older topic!", b"the newer topic!"


class World:
    def __init__(self, path: Path) -> None:
        ids = iter((ONE, TWO))
        self.directories = LogDirectories.open(
            OsDisk(), [str(path / "a"), str(path / "b")], Identity("cluster", 1), new_directory_id=lambda: next(ids)
        )
        self.directories.load(lambda topic: LogConfig(), NOW_MS)
        self.making = ReplicaMaking(self.directories, self.wanted_in, self.make)
        self.places: dict[TopicPartition, bytes] = {}
        self.unwanted: set[TopicPartition] = set()
        self.topic_id = OLD_ID
        self.made: list[tuple[TopicPartition, bytes]] = []
        self.before_make: Callable[[TopicPartition], None] = lambda key: None

    def wanted_in(self, key: TopicPartition, topic_id: bytes) -> bytes | None:
        if key in self.unwanted:
            raise KeyError(key)
        return self.places.get(key)

    def make(self, key: TopicPartition, directory_id: bytes) -> None:
        self.before_make(key)
        self.directories.create(
            key, self.topic_id, LogConfig(), NOW_MS, is_new=True, directory_id=directory_id, is_prepared=True
        )
        self.made.append((key, directory_id))

    async def done(self) -> None:
        while self.making._waiting or self.making._preparing or not self.made:
            await trio.testing.wait_all_tasks_blocked()
        await trio.testing.wait_all_tasks_blocked()


@asynccontextmanager
async def a_world(path: Path) -> AsyncIterator[World]:
    world = World(path)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(world.making.run)
        try:
            yield world
        finally:
            nursery.cancel_scope.cancel()
    world.directories.close(1)


@in_trio
async def test_all_are_made_and_spread_over_the_directories(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        count = 2 * SLICE_SIZE + 4
        for index in range(count):
            world.making.soon(("t", index), OLD_ID)
        assert ("t", 0) in world.making
        await world.done()
        assert {key for key, _ in world.made} == {("t", index) for index in range(count)}
        assert [len(one.hosted) for one in world.directories.directories] == [count // 2, count // 2]
        assert (tmp_path / "a").exists()
        found = {path.parent.name: path.read_text() for path in tmp_path.glob("*/*/partition.metadata")}
        assert len(found) == count
        assert ("t", 0) not in world.making


@in_trio
async def test_one_is_made_where_it_is_wanted_and_not_if_it_is_not(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.places = {("t", index): TWO for index in range(3)}
        world.unwanted = {("t", 1)}
        for index in range(3):
            world.making.soon(("t", index), OLD_ID)
        await world.done()
        assert world.made == [(("t", 0), TWO), (("t", 2), TWO)]
        assert not (tmp_path / "b" / "t-1").exists()


@in_trio
async def test_one_that_is_wanted_anew_meanwhile_is_made_once_and_with_its_new_id(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.making.soon(("t", 0), OLD_ID)
        world.making.soon(("t", 1), OLD_ID)

        def anew(key: TopicPartition) -> None:
            world.before_make = lambda key: None
            world.making.soon(("t", 1), NEW_ID)

        world.before_make = anew
        await world.done()
        assert [key for key, _ in world.made] == [("t", 0), ("t", 1)]
        (metadata,) = tmp_path.glob("*/t-1/partition.metadata")
        assert read_topic_id(OsDisk(), str(metadata.parent)) == NEW_ID


@in_trio
async def test_a_disk_that_fails_is_said_so_and_others_go_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with a_world(tmp_path) as world:
        first, second = world.directories.directories
        world.places = {("t", 0): ONE, ("t", 1): TWO, ("t", 2): b"a directory else"}
        (tmp_path / "a" / "t-0").write_bytes(b"a file in the way")
        for key in world.places:
            world.making.soon(key, OLD_ID)
        await world.done()
        assert world.made == [(("t", 1), TWO)]
        assert first.offline is not None
        assert first.offline.errno in (errno.EEXIST, errno.ENOTDIR)
        assert second.offline is None
        assert "replicas cannot be made" in caplog.text
        assert "t-2 cannot be made: its log directory is offline" in caplog.text


@in_trio
async def test_one_that_cannot_be_led_is_said_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with a_world(tmp_path) as world:

        def refuse(key: TopicPartition) -> None:
            if key == ("t", 0):
                raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "the disk is gone")

        world.before_make = refuse
        world.making.soon(("t", 0), OLD_ID)
        world.making.soon(("t", 1), OLD_ID)
        await world.done()
        assert [key for key, _ in world.made] == [("t", 1)]
        assert "t-0 cannot be made: the disk is gone" in caplog.text
