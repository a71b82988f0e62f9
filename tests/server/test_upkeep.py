"""Chores are done by the clock, each at its own pace, and one that fails stops nobody."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from ottla.config.broker import BrokerConfig
from ottla.config.loading import load
from ottla.server.upkeep import Upkeep
from ottla.storage import directory_upkeep
from ottla.wire.errors import ErrorCode, KafkaError
from tests.server.world import NOW_MS, World, a_world, batch, by_test_clock, pass_time

HOUR_MS = 3_600_000


def config(**keys: str) -> BrokerConfig:
    return load({name.replace("_", "."): value for name, value in keys.items()}, {}).config


def upkeep_of(world: World, **keys: str) -> Upkeep:
    """Upkeep whose wall clock is trio's."""
    upkeep = Upkeep(config(**keys), world.directories, lambda: NOW_MS + int(trio.current_time() * 1000))
    world.nursery.start_soon(upkeep.run)
    return upkeep


async def threads_are_done(is_so: Any) -> None:
    while not is_so():
        await trio.testing.wait_all_tasks_blocked()


@by_test_clock
async def test_a_log_is_flushed_when_its_time_has_come(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = world.partition(flush_ms=5000)
        world.append(partition)
        upkeep_of(world, log_flush_scheduler_interval_ms="1000")
        await pass_time(1)
        assert partition.log.recovery_point == 0
        for _ in range(5):
            await pass_time(1)
        await threads_are_done(lambda: partition.log.recovery_point == 1)


@by_test_clock
async def test_what_is_too_old_is_retired_and_its_files_go_later(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = world.partition(retention_ms=HOUR_MS, file_delete_delay_ms=60_000)
        world.append(partition)
        upkeep_of(world, log_retention_check_interval_ms="300000")
        await pass_time(300)
        assert partition.log.start_offset == 0
        await pass_time(3600)
        await threads_are_done(lambda: partition.log.start_offset == 1)
        directory = Path(partition.log.directory)
        assert list(directory.glob("*.deleted"))
        await pass_time(50)
        assert list(directory.glob("*.deleted"))
        await pass_time(10)
        await pass_time(1)
        await threads_are_done(lambda: not list(directory.glob("*.deleted")))


@by_test_clock
async def test_checkpoints_are_written_and_idle_producers_forgotten(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = world.partition(producer_id_expiration_ms=1000)
        records = batch(producer_id=5, producer_epoch=0, base_sequence=0)
        partition.stage(records, NOW_MS)
        partition.commit()
        partition.log.flush()
        upkeep_of(world, producer_id_expiration_check_interval_ms="90000")
        await pass_time(60)
        written = Path(world.directories.directories[0].path) / "recovery-point-offset-checkpoint"
        assert "t 0 1" in written.read_text()
        assert len(partition.log.producers.producers) == 1
        await pass_time(30)
        assert not partition.log.producers.producers


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "the disk is broken"), "the disk is broken"),
        (ZeroDivisionError("ours"), "upkeep failed"),
    ],
)
@by_test_clock
async def test_a_chore_that_fails_is_done_again_next_time(
    tmp_path: Path, failure: Exception, said: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[Any] = []

    def write_checkpoints(directory: Any) -> bool:
        calls.append(directory)
        raise failure

    monkeypatch.setattr(directory_upkeep, "write_checkpoints", write_checkpoints)
    async with a_world(tmp_path, serves=False) as world:
        upkeep_of(world)
        await pass_time(60)
        await pass_time(60)
        assert len(calls) == 2
        assert said in caplog.text


@by_test_clock
async def test_a_directory_that_is_offline_is_left_alone(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = world.partition()
        world.append(partition)
        world.directories.directories[0].fail(OSError(errno.EIO, "broken"))
        upkeep = upkeep_of(world)
        await pass_time(700)
        assert world.directories.online == []
        with pytest.raises(KafkaError):
            partition.log.refuse()
        assert upkeep is not None
