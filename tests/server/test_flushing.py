"""Many acknowledgements share one sync, none is given before it, and one that fails is an error for all of them."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from ottla.server.connection import LINE_LENGTH_MAX
from ottla.storage.files import OsDisk, OsFile
from ottla.storage.log_trimming import truncate_to
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.fetch import FetchRequest
from ottla.wire.messages.produce import ProduceRequest
from tests.server.world import FETCH, NOW_MS, PRODUCE, a_world, batch, fetched, fetching, in_trio, producing, until


class Disk(OsDisk):
    """Counts syncs of log files, and fails them if told to."""

    def __init__(self) -> None:
        self.sync_count = 0
        self.error: OSError | None = None

    def open(self, path: str, *, create: bool = False, writable: bool = True) -> OsFile:
        opened = super().open(path, create=create, writable=writable)
        made = CountedFile(self, path, opened._fd)
        opened._fd = -1
        return made


class CountedFile(OsFile):
    __slots__ = ("_disk",)

    def __init__(self, disk: Disk, path: str, fd: int) -> None:
        super().__init__(path, fd)
        self._disk = disk

    def sync(self) -> None:
        if self.path.endswith(".log"):
            self._disk.sync_count += 1
            if self._disk.error is not None:
                raise self._disk.error
        super().sync()


@in_trio
async def test_many_requests_share_one_sync_and_none_is_answered_before_it(tmp_path: Path) -> None:
    disk = Disk()
    async with a_world(tmp_path, serves=False, disk=disk) as world:
        partition = world.partition(flush_messages=1)
        count = min(100, LINE_LENGTH_MAX)
        clients = []
        for _ in range(3):
            connection, client = world.local_connection()
            world.nursery.start_soon(connection.serve)
            await client.send(*[(producing(batch()), PRODUCE)] * count)
            clients.append(client)
        await trio.testing.wait_all_tasks_blocked()
        assert (partition.log.end_offset, disk.sync_count) == (3 * count, 0)
        assert partition.log.high_watermark == 0
        await world.broker.flusher.round()
        assert disk.sync_count == 1
        assert partition.log.high_watermark == 3 * count
        for client in clients:
            for number in range(count):
                assert (await client.receive(ProduceRequest, PRODUCE))[0] == number + 1


@in_trio
async def test_a_flusher_runs_by_itself_and_readers_see_what_it_has_synced(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.partition(flush_messages=1)
        reader, writer = await world.connect(), await world.connect()
        await reader.send((fetching(wait_ms=3_600_000), FETCH))
        for acks in (1, 0, -1):
            await writer.send((producing(batch(), acks=acks), PRODUCE))
        await reader.receive(FetchRequest, FETCH)
        assert [(await writer.receive(ProduceRequest, PRODUCE))[0] for _ in range(2)] == [1, 3]
        await until(lambda: world.broker.partition("t", 0).log.high_watermark == 3)


@in_trio
async def test_a_sync_that_fails_is_never_a_success(tmp_path: Path) -> None:
    disk = Disk()
    async with a_world(tmp_path, disk=disk) as world:
        world.partition(0, flush_messages=1)
        world.partition(1)
        client, reader = await world.connect(), await world.connect()
        assert (await client.produce()).error_code == 0
        await reader.send((fetching(1, wait_ms=3_600_000), FETCH))
        await trio.testing.wait_all_tasks_blocked()
        disk.error = OSError(errno.EIO, "the disk is broken")
        answer = await client.produce()
        assert (answer.error_code, answer.base_offset) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)
        _, response = await reader.receive(FetchRequest, FETCH)
        assert fetched(response)[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
        disk.error = None
        assert (await client.produce()).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        # One log that found its disk broken speaks for all of the directory.
        assert (await client.produce(index=1)).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert world.directories.online == []


@pytest.mark.parametrize(
    ("error", "is_offline"), [(OSError(errno.EMFILE, "no descriptors"), False), (OSError(errno.EIO, "broken"), True)]
)
@in_trio
async def test_a_sync_that_cannot_begin_is_an_error_for_those_who_wait(
    tmp_path: Path, error: OSError, is_offline: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = world.partition(flush_messages=1)
        told: list[KafkaError | None] = []
        world.append(partition)
        partition.when_flushed(1, told.append)

        def begin_flush() -> Any:
            raise error

        monkeypatch.setattr(type(partition.log), "begin_flush", lambda self: begin_flush())
        await world.broker.flusher.round()
        assert [one and one.code for one in told] == [ErrorCode.KAFKA_STORAGE_ERROR]
        assert (world.directories.online == []) == is_offline


@in_trio
async def test_a_sync_whose_end_cannot_be_noted_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = world.partition(flush_messages=1)
        told: list[KafkaError | None] = []
        world.append(partition)
        partition.when_flushed(1, told.append)

        def flushed(self: Any, job: Any) -> None:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "an index cannot be synced")

        monkeypatch.setattr(type(partition.log), "flushed", flushed)
        await world.broker.flusher.round()
        assert [one and one.message for one in told] == ["an index cannot be synced"]


@in_trio
async def test_who_waits_for_more_than_a_cut_log_has_is_told_and_others_wait_for_the_next_sync(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = world.partition(flush_messages=1)
        told: list[str] = []
        for _ in range(3):
            world.append(partition)
        partition.when_flushed(2, lambda error: told.append(f"second {error and error.code.name}"))
        partition.when_flushed(3, lambda error: told.append(f"third {error and error.code.name}"))
        job = partition.log.begin_flush()
        truncate_to(partition.log, 2, 0)  # as a follower does, while the sync runs
        world.broker.flusher._finish(partition, job, None)
        assert told == ["third NOT_LEADER_OR_FOLLOWER"]
        await world.broker.flusher.round()
        assert told == ["third NOT_LEADER_OR_FOLLOWER", "second None"]


@in_trio
async def test_what_was_recovered_is_synced_before_it_is_shown(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = world.partition(flush_messages=1)
        partition.log.append(batch(), leader_epoch=1, now_ms=NOW_MS)
        world.broker.lead(partition)
        await world.broker.flusher.round()
        assert partition.log.high_watermark == 1
