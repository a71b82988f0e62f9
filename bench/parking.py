"""What waiting costs: 100,000 Fetches and as many other answers, parked at once, against a bare heap of deadlines.

The Fetches go through their handler and wait for one of 100 partitions; the others are answers that somebody else is
to complete, as those of a Produce. Half are answered in time, half expire. CPU time, since machines are busy.

    python -m bench.parking [--count N]
"""

from __future__ import annotations

import argparse
import gc
import heapq
import random
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import trio

from ottla.server.handlers.fetch import fetch
from ottla.server.parking import Deadlines, Pending
from tests.server.world import FETCH, World, a_world, fetching

PARTITIONS = 100
WAIT_MS = 3_600_000


class Place:
    def fill(self, reply: Any) -> None: ...


def measured(what: str, count: int, work: Callable[[], object]) -> None:
    """Print microseconds and bytes for each of so many; the bytes come from a second run."""
    gc.collect()
    started = time.process_time()
    kept = work()
    seconds = time.process_time() - started
    print(f"| {what} | {seconds / count * 1e6:.2f} | {bytes_of(work, count):.0f} |", flush=True)
    del kept


def bytes_of(work: Callable[[], object], count: int) -> float:
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = work()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del kept
    return (after - before) / count


def bare_heap(deadlines: list[float]) -> list[tuple[float, int]]:
    heap: list[tuple[float, int]] = []
    for number, deadline in enumerate(deadlines):
        heapq.heappush(heap, (deadline, number))
    return heap


def parked(deadlines: list[float]) -> Deadlines:
    ours = Deadlines(lambda: None)
    for deadline in deadlines:
        pending = Pending(stops_line=False, expire=lambda: None)
        pending.place = Place()
        ours.add(deadline, pending)
    return ours


async def fetches(count: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        async with a_world(Path(directory), serves=False) as world:
            for index in range(PARTITIONS):
                world.partition(index)
            connection, _ = world.local_connection()
            context = world.context(FETCH, connection)

            def park() -> list[Pending]:
                found = []
                for number in range(count):
                    pending = fetch(context, fetching(indexes=[number % PARTITIONS], wait_ms=WAIT_MS))
                    assert isinstance(pending, Pending)
                    pending.place = Place()
                    found.append(pending)
                return found

            measured("park a Fetch, request and reading included", count, park)
            answer_and_expire(world, park(), count)


def answer_and_expire(world: World, waiting: list[Pending], count: int) -> None:
    started = time.process_time()
    for index in range(PARTITIONS // 2):
        world.append(world.broker.partition("t", index))
    answered = sum(pending.is_complete for pending in waiting)
    seconds = time.process_time() - started
    print(f"| answer a Fetch that waits | {seconds / answered * 1e6:.2f} | |")
    started = time.process_time()
    world.broker.deadlines.expire_until(float("inf"))
    seconds = time.process_time() - started
    assert all(pending.is_complete for pending in waiting)
    print(f"| let a Fetch expire | {seconds / (len(waiting) - answered) * 1e6:.2f} | |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000)
    count = parser.parse_args().count
    rng = random.Random(1)
    deadlines = [rng.random() for _ in range(count)]
    print(f"{count} at once\n\n| what | microseconds each | bytes each |\n|---|---|---|")
    measured("push to a bare heap", count, lambda: bare_heap(deadlines))
    measured("park an answer with a deadline", count, lambda: parked(deadlines))
    full = parked(deadlines)
    started = time.process_time()
    full.expire_until(1.0)
    print(f"| let it expire | {(time.process_time() - started) / count * 1e6:.2f} | |")
    trio.run(fetches, count)


if __name__ == "__main__":
    main()
