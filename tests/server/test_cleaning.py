"""The cleaner by a clock that the test moves, with rewrites in this process that end when the test lets them."""

from __future__ import annotations

import errno
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from ottla.config.broker import BrokerConfig
from ottla.config.loading import load
from ottla.server.cleaning import Cleaner, Limits
from ottla.server.cleaning_messages import CannotStart, CleaningFailed, Order
from ottla.server.partition import Partition
from ottla.storage.cleaner.job import CleanedGroup, CleaningResult
from ottla.storage.cleaner.pace import Pace
from ottla.storage.cleaner.rewrite import rewrite
from ottla.storage.files import OsDisk
from ottla.storage.log_config import LogConfig
from ottla.storage.log_reading import read
from ottla.storage.offset_checkpoint import CLEANER_OFFSETS
from ottla.wire.records import BatchBuilder, iter_batches, iter_records
from tests.server.world import NOW_MS, TOPIC, World, a_world, by_test_clock, pass_time

KEY = (TOPIC, 0)
COMPACTED: dict[str, Any] = {"compact": True, "delete": False, "segment_bytes": 400, "min_cleanable_dirty_ratio": 0.1}
BACKOFF_SECONDS = 15
SECONDS_MAX = 60


class FakeRewriting:
    """A rewrite in this process. It begins when `go` is set, and fails with `error` if there is one."""

    def __init__(self, makers: FakeMaker) -> None:
        self.go = trio.Event()
        self.order: Order | None = None
        self.error: Exception | None = None
        self.is_killed = False
        self._makers = makers

    async def run(self, order: Order, done: Callable[[CleanedGroup], None]) -> CleaningResult:
        self.order = order
        if self._makers.waits:
            await self.go.wait()
        if self._makers.error is not None:
            Path(order.job.directory, "00000000000000000000.log.cleaned").touch()
            raise self._makers.error
        return rewrite(OsDisk(), order.job, done, Pace())

    def kill(self) -> None:
        self.is_killed = True


class FakeMaker:
    """Makes rewrites, and remembers them."""

    def __init__(self, *, waits: bool = False, error: Exception | None = None) -> None:
        self.waits = waits
        self.error = error
        self.made: list[FakeRewriting] = []

    def __call__(self) -> FakeRewriting:
        self.made.append(FakeRewriting(self))
        return self.made[-1]


class Settings:
    """A configuration that can be changed."""

    def __init__(self, **keys: str) -> None:
        self.config: BrokerConfig
        self.set(**keys)

    def set(self, **keys: str) -> None:
        self.config = load({f"log.cleaner.{name.replace('_', '.')}": value for name, value in keys.items()}, {}).config


def a_cleaner(world: World, maker: FakeMaker, settings: Settings | None = None) -> Cleaner:
    settings = settings or Settings()
    cleaner = Cleaner(
        lambda: settings.config, world.directories, lambda: NOW_MS + int(trio.current_time() * 1000), maker
    )
    world.nursery.start_soon(cleaner.run)
    return cleaner


def filled(world: World, index: int = 0, batch_count: int = 30, **config: Any) -> Partition:
    partition = world.partition(index, **(COMPACTED | config))
    put(partition, batch_count)
    return partition


def put(partition: Partition, batch_count: int) -> None:
    for _ in range(batch_count):
        builder = BatchBuilder()
        number = partition.log.end_offset
        builder.append(b"key %d" % (number % 3), b"value %d" % number, timestamp=NOW_MS)
        partition.stage(builder.build(), NOW_MS)
        partition.commit()


def offsets(partition: Partition) -> list[int]:
    found: list[int] = []
    log = partition.log
    offset = log.start_offset
    while offset < log.end_offset:
        part = read(log, offset, bytes_max=10_000, end_offset=log.end_offset)
        if part.file is not None:
            for batch in iter_batches(part.file.read_at(part.position, part.size_bytes)):
                found += [record.offset for record in iter_records(batch, bytes_max=10_000)]
        offset = part.next_offset
    return found


def expected(partition: Partition, cleaned_to: int) -> list[int]:
    """Of every key the last below that offset, and all from there on."""
    return [*range(cleaned_to - 3, cleaned_to), *range(cleaned_to, partition.log.end_offset)]


def checkpoint(world: World) -> int | None:
    return world.directories.directories[0].checkpoints.of(CLEANER_OFFSETS).get(KEY)


async def until(is_so: Callable[[], bool]) -> None:
    """Worker threads take their time; the clock of the test stands still meanwhile."""
    deadline = time.monotonic() + SECONDS_MAX
    while not is_so():
        assert time.monotonic() < deadline, "it will never be so"
        await trio.testing.wait_all_tasks_blocked()


def leftovers(partition: Partition) -> list[str]:
    return [path.name for path in Path(partition.log.directory).glob("*.cleaned")]


@by_test_clock
async def test_a_dirty_log_is_flushed_cleaned_and_noted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with a_world(tmp_path, serves=False) as world:
        partition = filled(world)
        assert partition.log.recovery_point == 0
        cleaner = a_cleaner(world, FakeMaker())
        await until(lambda: cleaner.totals.cleaned_count == 1)
        active = partition.log.segments.active.base_offset
        assert offsets(partition) == expected(partition, active)
        assert checkpoint(world) == active
        assert cleaner.running_count == 0
        assert (cleaner.totals.records_read, cleaner.totals.records_kept) == (active, 3)
        assert cleaner.totals.bytes_read > cleaner.totals.bytes_kept > 0
        assert f"cleaned t-0, from offset 0 to {active}: 3 of {active} records" in caplog.text
        removals = world.directories.directories[0].removals
        assert removals.next_due_ms == NOW_MS + LogConfig().file_delete_delay_ms


@by_test_clock
async def test_the_cleaner_rests_when_nothing_is_due_and_looks_again(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = filled(world, batch_count=1)
        maker = FakeMaker()
        cleaner = a_cleaner(world, maker)
        await pass_time(0)
        put(partition, 30)
        await pass_time(BACKOFF_SECONDS - 1)
        assert maker.made == []
        await pass_time(1)
        await until(lambda: cleaner.totals.cleaned_count == 1)


@by_test_clock
async def test_all_that_is_due_is_cleaned_without_a_rest(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        for index in range(3):
            filled(world, index)
        maker = FakeMaker()
        cleaner = a_cleaner(world, maker)
        await until(lambda: cleaner.totals.cleaned_count == 3)
        assert trio.current_time() == 0.0


@by_test_clock
async def test_as_many_logs_at_once_as_there_are_threads(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        for index in range(3):
            filled(world, index)
        maker = FakeMaker(waits=True)
        cleaner = a_cleaner(world, maker, Settings(threads="2"))
        await until(lambda: [one.order is not None for one in maker.made] == [True, True])
        assert cleaner.running_count == 2
        maker.made[0].go.set()
        await until(lambda: len(maker.made) == 3)
        assert cleaner.totals.cleaned_count == 1


@by_test_clock
async def test_a_log_is_not_retired_while_it_is_cleaned(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        filled(world)
        maker = FakeMaker(waits=True)
        cleaner = a_cleaner(world, maker)
        hosted = world.directories.directories[0].hosted[KEY]
        await until(lambda: bool(maker.made))
        assert hosted.is_being_cleaned
        maker.made[0].go.set()
        await until(lambda: cleaner.totals.cleaned_count == 1)
        assert not hosted.is_being_cleaned


@by_test_clock
async def test_a_rewrite_is_stopped_before_its_log_is_cut_and_begins_anew(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = filled(world)
        maker = FakeMaker(waits=True)
        cleaner = a_cleaner(world, maker)
        await until(lambda: bool(maker.made) and maker.made[0].order is not None)
        Path(partition.log.directory, "00000000000000000000.log.cleaned").touch()
        world.directories.directories[0].truncate_to(KEY, 15, NOW_MS)
        assert maker.made[0].is_killed
        # It has finished in the very moment: nothing of it is taken over.
        maker.made[0].go.set()
        await until(lambda: len(maker.made) == 2)
        assert leftovers(partition) == []
        assert offsets(partition) == list(range(15))
        assert checkpoint(world) is None
        maker.made[1].go.set()
        await until(lambda: cleaner.totals.cleaned_count == 1)
        assert (cleaner.totals.failed_count, cleaner.queue.uncleanable) == (0, {})


@by_test_clock
async def test_a_group_that_came_in_the_moment_of_the_stop_is_not_taken_over(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = filled(world)
        taken: list[int] = []

        class TooLate(FakeRewriting):
            async def run(self, order: Order, done: Callable[[CleanedGroup], None]) -> CleaningResult:
                def late(group: CleanedGroup) -> None:
                    if not taken:
                        world.directories.directories[0].truncate_to(KEY, 15, NOW_MS)
                    taken.append(group.base_offset)
                    done(group)

                return await super().run(order, late)

        maker = FakeMaker()
        cleaner = Cleaner(lambda: Settings().config, world.directories, lambda: NOW_MS, lambda: TooLate(maker))
        world.nursery.start_soon(cleaner.run)
        await until(lambda: cleaner.totals.cleaned_count == 1)
        assert taken[:2] == [0, 0], "the first attempt ends at its first group, the second begins with it"
        assert partition.log.end_offset == 15
        assert offsets(partition)[-1] == 14
        assert leftovers(partition) == []


@by_test_clock
async def test_a_rewrite_ends_with_its_topic_and_touches_nothing_afterwards(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        filled(world)
        maker = FakeMaker(waits=True)
        cleaner = a_cleaner(world, maker)
        await until(lambda: bool(maker.made) and maker.made[0].order is not None)
        world.directories.delete(KEY, "0" * 32, NOW_MS)
        assert maker.made[0].is_killed
        await until(lambda: cleaner.running_count == 0)
        assert cleaner.totals.cleaned_count == 0
        assert checkpoint(world) is None


@by_test_clock
async def test_a_stop_of_the_broker_leaves_nothing_of_a_rewrite_behind(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = filled(world)
        maker = FakeMaker(waits=True)
        cleaner = Cleaner(lambda: Settings().config, world.directories, lambda: NOW_MS, maker)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(cleaner.run)
            await until(lambda: bool(maker.made) and maker.made[0].order is not None)
            Path(partition.log.directory, "00000000000000000000.log.cleaned").touch()
            nursery.cancel_scope.cancel()
        assert (cleaner.running_count, leftovers(partition)) == (0, [])


@pytest.mark.parametrize("error", [CleaningFailed("no batch at byte 7"), ZeroDivisionError("our mistake")])
@by_test_clock
async def test_a_log_that_cannot_be_cleaned_is_left_alone_from_then_on(
    tmp_path: Path, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = filled(world)
        maker = FakeMaker(error=error)
        cleaner = a_cleaner(world, maker)
        await until(lambda: bool(cleaner.queue.uncleanable))
        (why,) = cleaner.queue.uncleanable.values()
        assert str(error) in why
        assert f"t-0 will not be cleaned any more: {why}" in caplog.text
        for _ in range(3):
            await pass_time(BACKOFF_SECONDS)
        assert len(maker.made) == 1
        assert (cleaner.totals.failed_count, leftovers(partition)) == (1, [])
        # The others are cleaned all the same.
        maker.error = None
        filled(world, 1)
        await pass_time(BACKOFF_SECONDS)
        await until(lambda: cleaner.totals.cleaned_count == 1)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device"),
        (CannotStart("too many processes"), "too many processes"),
    ],
)
@by_test_clock
async def test_what_may_pass_is_tried_again_after_a_rest(
    tmp_path: Path, error: Exception, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = filled(world)
        maker = FakeMaker(error=error)
        cleaner = a_cleaner(world, maker)
        await until(lambda: cleaner.totals.failed_count == 1)
        assert said in caplog.text
        assert (cleaner.queue.uncleanable, leftovers(partition)) == ({}, [])
        assert partition.log.failure is None
        await pass_time(BACKOFF_SECONDS - 1)
        assert len(maker.made) == 1
        maker.error = None
        await pass_time(1)
        await until(lambda: cleaner.totals.cleaned_count == 1)


@by_test_clock
async def test_a_disk_that_fails_while_cleaning_takes_its_directory_offline(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        filled(world)
        cleaner = a_cleaner(world, FakeMaker(error=OSError(errno.EIO, "broken")))
        await until(lambda: cleaner.totals.failed_count == 1)
        assert world.directories.online == []


@by_test_clock
async def test_other_limits_take_effect_at_once(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        filled(world)
        maker = FakeMaker(waits=True)
        settings = Settings()
        cleaner = a_cleaner(world, maker, settings)
        await until(lambda: bool(maker.made) and maker.made[0].order is not None)
        cleaner.reconfigured()
        assert not maker.made[0].is_killed, "nothing has changed"
        settings.set(io_max_bytes_per_second="1000", threads="2", dedupe_buffer_size="4194304")
        cleaner.reconfigured()
        assert maker.made[0].is_killed
        await until(lambda: len(maker.made) == 2 and maker.made[1].order is not None)
        order = maker.made[1].order
        assert order is not None
        assert (order.bytes_per_second, order.job.key_map_bytes, order.job.load_factor) == (500.0, 2 << 20, 0.9)


@by_test_clock
async def test_another_rest_takes_effect_at_once(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = filled(world, batch_count=1)
        settings = Settings(backoff_ms="3600000")
        maker = FakeMaker()
        cleaner = a_cleaner(world, maker, settings)
        await pass_time(1)
        settings.set(backoff_ms="2000")
        cleaner.reconfigured()
        await pass_time(1)
        put(partition, 30)
        assert maker.made == []
        await pass_time(1)
        await until(lambda: cleaner.totals.cleaned_count == 1)


@by_test_clock
async def test_a_rewrite_ends_when_its_topic_is_not_compacted_any_more(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = filled(world)
        maker = FakeMaker(waits=True)
        cleaner = a_cleaner(world, maker)
        await until(lambda: bool(maker.made) and maker.made[0].order is not None)
        partition.log.reconfigure(LogConfig(segment_bytes=400))
        cleaner.reconfigured()
        assert maker.made[0].is_killed
        await until(lambda: cleaner.running_count == 0)
        await pass_time(BACKOFF_SECONDS)
        assert len(maker.made) == 1


@by_test_clock
async def test_without_threads_nothing_is_cleaned(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        filled(world)
        maker = FakeMaker()
        a_cleaner(world, maker, Settings(threads="0"))
        await pass_time(BACKOFF_SECONDS)
        assert maker.made == []


def test_limits_are_shared_by_the_processes() -> None:
    usual = Limits.of(load({}, {}).config)
    assert usual == Limits(process_count=1, key_map_bytes=128 << 20, load_factor=0.9, bytes_per_second=None)
    config = {"log.cleaner.threads": "4", "log.cleaner.io.max.bytes.per.second": "8e6"}
    assert Limits.of(load(config, {}).config)[:4:3] == (4, 2e6)
    config = {"log.cleaner.io.max.bytes.per.second": "0", "log.cleaner.dedupe.buffer.size": str(1 << 40)}
    assert Limits.of(load(config, {}).config) == Limits(1, 2**31 - 1, 0.9, 1.0)
