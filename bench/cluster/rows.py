"""The table of rows: what is measured of three nodes, and what is to be reached.

Three replicas of everything, acknowledged by all who are in sync, at least two. CPU and memory are those of all three
nodes. "must" is what Ottla promises, "goal" what it would like.
"""

from __future__ import annotations

from bench.broker.figures import Figure, at_least, at_most
from bench.broker.loads import EndToEnd, JavaProduce, LibrdkafkaProduce, LoadedMemory, Row, Start
from bench.cluster.fail_over import FailOver, java, librdkafka

KB = 1024
# Kafka on three nodes and two cores takes five to ten thousand of them a second.
RECORD_COUNT = 80_000
LATENCY_RATE = 200
LATENCY_COUNT = 4_000
PARTITIONS = 12
FAIL_OVER_SECONDS_MAX = 2
MEMORY_MAX = 1 / 8

NO_WORSE = at_most(1.0)
THROUGHPUT = (
    Figure("rate", "records/s", must=at_least(1.5)),
    Figure("cpu", "CPU s/million", goal=NO_WORSE),
)
LATENCY = (Figure("p50", "p50 ms", goal=NO_WORSE), Figure("p99", "p99 ms", must=NO_WORSE))
FAIL_OVER = (Figure("seconds", "s until acknowledged", must=at_most(FAIL_OVER_SECONDS_MAX, "s")),)
# librdkafka looks once in a second where partitions have gone, and needs a second look where a broker has gone too.
LOOKING = (Figure("seconds", "s until acknowledged", goal=at_most(FAIL_OVER_SECONDS_MAX, "s")),)
MEMORY = Figure("memory", "MB of three", must=at_most(MEMORY_MAX))


def all_rows() -> list[Row]:
    """Who is killed comes last: a node that has just come back is not as warm as the others."""
    return [
        Start("start to all answer, idle", (Figure("start", "s", goal=NO_WORSE), MEMORY)),
        EndToEnd(f"end to end at {LATENCY_RATE} records/s", LATENCY, LATENCY_RATE, LATENCY_COUNT),
        JavaProduce("produce 1 KB", THROUGHPUT, KB, RECORD_COUNT),
        JavaProduce(f"produce 1 KB, {PARTITIONS} partitions", THROUGHPUT, KB, RECORD_COUNT, partitions=PARTITIONS),
        LibrdkafkaProduce("librdkafka produce 1 KB", THROUGHPUT, KB, RECORD_COUNT),
        LoadedMemory("after load", (MEMORY,), KB, RECORD_COUNT),
        FailOver("leader killed", FAIL_OVER, java),
        FailOver("leader and controller killed", FAIL_OVER, java, is_controller=True),
        FailOver("leader killed, librdkafka", LOOKING, librdkafka),
    ]
