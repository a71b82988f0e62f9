"""A partition lets readers see what they may see, and tells those who wait for it, exactly once."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from ottla.server.partition import Partition
from ottla.wire.errors import ErrorCode, KafkaError
from tests.server.world import LEADER_EPOCH, NOW_MS, a_world, batch, in_trio


class Watcher:
    """Waits for so many bytes."""

    def __init__(self, wanted_bytes: int = 1) -> None:
        self.wanted_bytes = wanted_bytes
        self.seen: list[int] = []
        self.gone_count = 0

    def moved(self, partition: Partition, added_bytes: int) -> bool:
        self.seen.append(added_bytes)
        return sum(self.seen) >= self.wanted_bytes

    def gone(self) -> None:
        self.gone_count += 1


class Jealous(Watcher):
    """Takes others away while it is told."""

    def __init__(self, others: list[Watcher]) -> None:
        super().__init__()
        self.others = others

    def moved(self, partition: Partition, added_bytes: int) -> bool:
        for other in self.others:
            partition.forget(other)
        return super().moved(partition, added_bytes)


def append(partition: Partition, count: int = 1) -> int:
    size_bytes = 0
    for _ in range(count):
        size_bytes += len(batch())
        partition.stage(batch(), NOW_MS)
    partition.commit()
    return size_bytes


@in_trio
async def test_watchers_are_told_once_for_each_commit_until_they_have_enough(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = world.partition()
        one, two = Watcher(), Watcher(300)
        partition.watch(one)
        partition.watch(two)
        first = append(partition, 3)
        second = append(partition, 2)
        append(partition)
        assert one.seen == [first]
        assert two.seen == [first, second]
        assert partition.log.high_watermark == 6
        assert repr(partition) == "t-0"


@in_trio
async def test_a_watcher_may_go_while_others_are_told(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = world.partition()
        before, after = Watcher(10_000), Watcher(10_000)
        jealous = Jealous([before, after])
        for watcher in (before, jealous, after):
            partition.watch(watcher)
        append(partition)
        append(partition)
        partition.forget(before)
        assert (len(before.seen), len(jealous.seen), len(after.seen)) == (1, 1, 1)


@in_trio
async def test_where_every_record_is_flushed_nobody_sees_what_is_not(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = world.partition(flush_messages=1)
        watcher, told = Watcher(), []
        partition.watch(watcher)
        first = append(partition)
        second = append(partition)
        partition.when_flushed(1, told.append)
        partition.when_flushed(2, told.append)
        assert partition.must_flush_first
        assert (partition.log.high_watermark, watcher.seen, told) == (0, [], [])
        job = partition.log.begin_flush()
        append(partition)
        partition.when_flushed(3, told.append)
        job.run()
        partition.log.flushed(job)
        partition.flushed()
        assert (partition.log.high_watermark, told) == (2, [None, None])
        assert watcher.seen == [first + second + first]  # an estimate: who is told, looks
        assert partition.awaits_flush


@in_trio
async def test_a_commit_that_fails_leaves_its_error_until_the_next(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = world.partition()
        watcher = Watcher()
        partition.watch(watcher)
        partition.stage(batch(), NOW_MS)
        partition.log._lost = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "no space")
        partition.commit()
        assert partition.commit_error is not None
        assert (watcher.seen, watcher.gone_count) == ([], 0)
        append(partition)
        assert partition.commit_error is None
        assert partition.log.end_offset == 1


@in_trio
async def test_who_watches_is_told_when_the_disk_fails_or_the_leader_goes(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = world.partition()
        watchers = [Watcher() for _ in range(3)]
        partition.watch(watchers[0])
        partition.resigned()
        partition.watch(watchers[1])
        partition.stage(batch(), NOW_MS)
        partition.log.failure = OSError(errno.EIO, "broken")
        partition.log._lost = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "broken")
        partition.commit()
        partition.watch(watchers[2])
        partition.flushed(KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "broken"))
        assert [watcher.gone_count for watcher in watchers] == [1, 1, 1]


@in_trio
async def test_whoever_waits_for_a_flush_hears_how_it_ended(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = world.partition(flush_messages=1)
        append(partition)
        told: list[KafkaError | None] = []
        partition.when_flushed(1, told.append)
        partition.when_flushed(99, told.append)  # of a batch that was cut away since
        partition.flushed()
        assert [error and error.code for error in told] == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
        assert partition.awaits_flush
        partition.flushed(KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "full"))
        assert [error and error.code for error in told][1:] == [ErrorCode.KAFKA_STORAGE_ERROR]
        partition.when_flushed(1, told.append)
        partition.resigned()
        assert [error and error.code for error in told][2:] == [ErrorCode.NOT_LEADER_OR_FOLLOWER]


@in_trio
async def test_batches_carry_the_epoch_of_their_leader(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = world.partition()
        append(partition)
        assert partition.log.epochs.latest_epoch == LEADER_EPOCH
        with pytest.raises(KafkaError):
            partition.stage(b"nothing that could be a batch", NOW_MS)
        assert partition.staged_bytes == 0


@in_trio
async def test_what_was_staged_before_an_epoch_belongs_to_the_one_before(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = world.partition()
        assert partition.log.epochs.entries == [(LEADER_EPOCH, 0)], "known before the first batch"
        partition.stage(batch(), NOW_MS)
        partition.lead_in(LEADER_EPOCH + 2)
        append(partition)
        assert partition.log.epochs.entries == [(LEADER_EPOCH, 0), (LEADER_EPOCH + 2, 1)]
        assert partition.log.epochs.written_epoch == LEADER_EPOCH + 2
