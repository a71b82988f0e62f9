"""The table of rows: what is measured, and what is to be reached.

"must" is what Ottla promises, "goal" what it would like. CPU is the broker's alone, in seconds for a million records.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.broker.figures import Figure, Target, at_least, at_most
from bench.broker.loads import (
    EndToEnd,
    GroupConsume,
    JavaConsume,
    JavaProduce,
    LibrdkafkaConsume,
    LibrdkafkaProduce,
    LoadedMemory,
    ManyPartitions,
    OneRecordRequests,
    Row,
    Start,
)

KB = 1024
# Records that a run sends, and that a run reads, how often: two to four seconds of Kafka's time on two cores.
RECORD_COUNTS = {100: 600_000, KB: 150_000, 10 * KB: 15_000}
READ_COUNTS = {100: 2_000_000, KB: 400_000, 10 * KB: 40_000}
PASSES = 4
# Where a consumer joins a group first, it reads as much in one go: what it waits for by its own clock, a tenth of a
# second once or twice between being told its partitions and asking for records, must not decide about the broker.
GROUP_READ_COUNTS = {size: count * PASSES for size, count in READ_COUNTS.items()}
LIBRDKAFKA_RECORD_COUNTS = {100: 2_000_000, KB: 1_000_000}
RATE_GOALS = {100: 1.2, KB: 1.5, 10 * KB: 1.8}
NAMES = {100: "100 B", KB: "1 KB", 10 * KB: "10 KB"}

PRODUCE_CPU_MAX = 0.6
CONSUME_CPU_MAX = 0.85


def transfer_figures(goal: float | None, cpu_max: float, unit: str = "records/s") -> tuple[Figure, ...]:
    wish = None if goal is None else at_least(goal)
    return (
        Figure("rate", unit, must=at_least(1.0), goal=wish),
        Figure("cpu", "CPU s/million", must=at_most(cpu_max)),
    )


def memory(must: Target | None = None) -> Figure:
    return Figure("memory", "MB", must=must)


def java_rows() -> Iterator[Row]:
    for codec in ("none", "lz4"):
        for acks in ("1", "all"):
            for size, count in RECORD_COUNTS.items():
                name = f"produce {NAMES[size]}, acks={acks}, {codec}"
                figures = transfer_figures(RATE_GOALS[size], PRODUCE_CPU_MAX)
                yield JavaProduce(name, figures, size, count, acks=acks, codec=codec)
    for codec in ("none", "lz4"):
        for size, count in READ_COUNTS.items():
            figures = transfer_figures(RATE_GOALS[size], CONSUME_CPU_MAX)
            yield JavaConsume(f"consume {NAMES[size]}, {codec}", figures, size, count, codec=codec, passes=PASSES)


def group_rows() -> Iterator[Row]:
    """The rate as ConsumerPerformance prints it, and without its joining, which is what others call consuming."""
    for protocol, name in (("classic", "classic"), ("consumer", "consumer protocol")):
        for size, count in GROUP_READ_COUNTS.items():
            figures = (
                *transfer_figures(None, CONSUME_CPU_MAX),
                Figure("whole_rate", "records/s with joining", goal=at_least(1.0)),
            )
            row = f"ConsumerPerformance {name}, {NAMES[size]}"
            yield GroupConsume(row, figures, size, count, protocol=protocol)


def partition_rows() -> Iterator[Row]:
    count = RECORD_COUNTS[KB]
    producing, consuming = (transfer_figures(None, limit) for limit in (PRODUCE_CPU_MAX, CONSUME_CPU_MAX))
    yield JavaProduce("produce 1 KB, 100 partitions", producing, KB, count, partitions=100)
    yield JavaConsume("consume 1 KB, 100 partitions", consuming, KB, READ_COUNTS[KB], partitions=100, passes=PASSES)
    yield JavaProduce("produce 1 KB, 2000 partitions", producing, KB, count, partitions=2000)


def librdkafka_rows() -> Iterator[Row]:
    for size, codec in ((100, "none"), (KB, "none"), (KB, "lz4")):
        count = LIBRDKAFKA_RECORD_COUNTS[size]
        producing, consuming = (
            transfer_figures(RATE_GOALS[size], limit) for limit in (PRODUCE_CPU_MAX, CONSUME_CPU_MAX)
        )
        name = f"{NAMES[size]}, {codec}"
        yield LibrdkafkaProduce(f"librdkafka produce {name}", producing, size, count, codec=codec)
        yield LibrdkafkaConsume(f"librdkafka consume {name}", consuming, size, count, codec=codec)


def small_rows() -> Iterator[Row]:
    for in_flight, goal in ((1, None), (10, 4.0), (100, 10.0)):
        figures = transfer_figures(goal, PRODUCE_CPU_MAX, "requests/s")
        yield OneRecordRequests(f"one-record requests, {in_flight} in flight", figures, in_flight)
    no_worse = at_most(1.0)
    yield EndToEnd(
        "end to end at 1000 records/s", (Figure("p50", "p50 ms", goal=no_worse), Figure("p99", "p99 ms", goal=no_worse))
    )


def all_rows() -> list[Row]:
    """Many partitions come last, so that the memory after load is not theirs."""
    start = Start("start to first answer, idle", (Figure("start", "s", must=at_most(1 / 8)), memory()))
    many = ManyPartitions("2000 partitions on a new broker", (memory(at_most(150, "MB")),), 2000)
    after = LoadedMemory("after load", (memory(at_most(0.1)),), KB, RECORD_COUNTS[KB])
    return [start, many, *small_rows(), *java_rows(), *group_rows(), *librdkafka_rows(), after, *partition_rows()]
