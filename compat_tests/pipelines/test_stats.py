"""`ottla pipeline stats` on a real Spark: every number is that of a plain count in Python."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from compat_tests.pipelines.filled_topics import batch_rows, create, fill
from compat_tests.side_by_side import Side
from tests.commands.command_line import CommandLine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.jvm


@pytest.fixture(params=["ottla", "kafka"])
def side(request: pytest.FixtureRequest) -> Side:
    found: Side = request.getfixturevalue(f"{request.param}_side")
    return found


def milliseconds(row: Any) -> int:
    return round(row.timestamp.timestamp() * 1000)


def size(row: Any) -> int:
    return len(row.key or b"") + len(row.value or b"")


def lateness(rows: list[Any]) -> list[int]:
    """By how much each is behind the highest before it in its partition."""
    found = []
    for _, partition in itertools.groupby(rows, key=lambda row: row.partition):
        highest = None
        for row in partition:
            at_ms = milliseconds(row)
            found.append(0 if highest is None else max(0, highest - at_ms))
            highest = at_ms if highest is None else max(highest, at_ms)
    return found


def test_the_numbers_are_those_of_a_plain_count(spark: SparkSession, side: Side, tmp_path: Path) -> None:
    topic, empty = "counted.full", "counted.empty"
    create(side.bootstrap, topic, partitions=4)
    create(side.bootstrap, empty, partitions=2)
    fill(side.bootstrap, topic, range(200), partitions=3)
    rows = batch_rows(spark, side.bootstrap, topic)
    plot = tmp_path / "drawn.html"
    ottla = CommandLine(side.bootstrap)
    nothing, told = ottla.ok("pipeline", "stats", topic, empty, "--keys", "3", "--json", "--plot", str(plot)).rows
    assert nothing == {"topic": empty, "partitions": 2, "records": 0}
    late = lateness(rows)
    times = [milliseconds(row) for row in rows]
    assert (told["records"], told["bytes"]) == (200, sum(map(size, rows)))
    assert (told["firstTimestamp"], told["lastTimestamp"]) == (min(times), max(times))
    assert told["recordsPerSecond"] == round(200_000 / (max(times) - min(times)), 3)
    assert told["size"]["max"] == max(map(size, rows))
    assert told["size"]["p50"] == sorted(map(size, rows))[99]
    assert (told["late"], told["lateness"]["max"]) == (sum(one > 0 for one in late), max(late))
    assert told["late"] > 0
    keys = Counter(bytes(row.key) for row in rows if row.key is not None)
    assert (told["distinctKeys"], told["withoutKey"]) == (len(keys), 200 - keys.total())
    frequent = sorted(keys.items(), key=lambda item: (-item[1], item[0]))[:3]
    assert [(row["key"].encode(), row["records"]) for row in told["byKey"]] == frequent
    by_partition = Counter(row.partition for row in rows)
    assert {row["partition"]: row["records"] for row in told["byPartition"]} == by_partition
    assert told["partitionSkew"] == round(max(by_partition.values()) * 4 / 200, 3)
    assert plot.read_text(encoding="utf-8").count("<svg") == 1


def test_tables_are_for_people_and_a_topic_that_is_not_there_is_told(
    spark: SparkSession, ottla_side: Side, tmp_path: Path
) -> None:
    topic = "tabled"
    create(ottla_side.bootstrap, topic, partitions=1)
    fill(ottla_side.bootstrap, topic, range(20), partitions=1)
    ottla = CommandLine(ottla_side.bootstrap)
    plot = tmp_path / "drawn.png"
    lines = ottla.ok("pipeline", "stats", "--pattern", "tabl.d", "--plot", str(plot)).lines
    assert lines[0].startswith("TOPIC")
    assert lines[1].split()[:2] == [topic, "20"]
    assert plot.read_bytes().startswith(b"\x89PNG")
    told = ottla("pipeline", "stats", "tables")
    assert (told.status, told.err) == (1, "ottla: there is no topic tables; did you mean tabled?\n")
    assert ottla("pipeline", "stats", "--pattern", "none-such").status == 1
