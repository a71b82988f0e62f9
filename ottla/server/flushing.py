"""Group commit: many acknowledgements wait for one sync.

Partitions that must be on the disk before somebody is answered are collected while a sync runs; the next one is for
all of them. Syncs run in a worker thread; logs are touched by the loop alone.
"""

from __future__ import annotations

from collections.abc import Callable

import trio

from ottla.server.partition import Partition
from ottla.storage.flush import Flush
from ottla.storage.log import Log
from ottla.wire.errors import KafkaError

FlushedPartition = tuple[Partition, Flush]


class Flusher:
    def __init__(self, send_answers: Callable[[], None], failed: Callable[[Partition], None]) -> None:
        """`send_answers` is called after each round, `failed` for a partition whose disk did."""
        self._send_answers = send_answers
        self._failed = failed
        self._waiting: dict[Partition, None] = {}
        self._is_wanted = trio.Event()

    def soon(self, partition: Partition) -> None:
        self._waiting[partition] = None
        self._is_wanted.set()

    async def run(self) -> None:
        while True:
            await self._is_wanted.wait()
            self._is_wanted = trio.Event()
            await self.round()

    async def round(self) -> None:
        """One sync for all who wait now."""
        waiting, self._waiting = self._waiting, {}
        jobs: list[FlushedPartition] = []
        for partition in waiting:
            try:
                jobs.append((partition, _begin(partition.log)))
            except KafkaError as refusal:
                self._give_up(partition, refusal)
        outcomes = await trio.to_thread.run_sync(_sync_all, jobs)
        for (partition, job), outcome in zip(jobs, outcomes, strict=True):
            self._finish(partition, job, outcome)
        self._send_answers()

    def _finish(self, partition: Partition, job: Flush, outcome: OSError | None) -> None:
        try:
            if outcome is not None:
                partition.log.fail(outcome)
            partition.log.flushed(job)
        except KafkaError as refusal:
            self._give_up(partition, refusal)
            return
        partition.flushed()
        if partition.awaits_flush:
            self.soon(partition)  # the log was cut while the sync ran, which then counts for nothing

    def _give_up(self, partition: Partition, refusal: KafkaError) -> None:
        """A sync that failed is not tried again: the kernel may have dropped the data (KAFKA-10778)."""
        partition.flushed(refusal)
        self._failed(partition)


def _begin(log: Log) -> Flush:
    try:
        return log.begin_flush()
    except OSError as error:
        log.read_failed(error)


def _sync_all(jobs: list[FlushedPartition]) -> list[OSError | None]:
    """In a worker thread: files only."""
    outcomes: list[OSError | None] = []
    for _, job in jobs:
        try:
            job.run()
            outcomes.append(None)
        except OSError as error:
            outcomes.append(error)
    return outcomes
