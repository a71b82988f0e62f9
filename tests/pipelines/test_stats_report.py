"""Rates, shares and skew from what was counted, and the tables that show them."""

from __future__ import annotations

import io

import pytest

from ottla.commands.terminal import Terminal, show
from ottla.pipelines.stats_report import (
    KEY_COLUMNS,
    PARTITION_COLUMNS,
    TOPIC_COLUMNS,
    bucket_ms,
    measured_row,
    per_second,
    skew,
    span_text,
    topic_reports,
)
from tests.pipelines.counted_rows import counted


def test_rates_are_over_the_time_between_timestamps() -> None:
    row = measured_row(counted(100))
    assert (row["recordsPerSecond"], row["bytesPerSecond"]) == (10.0, 100.0)
    assert row["size"] == {"mean": 10.0, "p50": 9, "p99": 20, "max": 30}
    assert (row["late"], row["lateness"]) == (50, {"p50": 0, "p99": 900, "max": 12_000})
    assert per_second(5, 0) is None


@pytest.mark.parametrize(
    ("counts", "holders", "expected"),
    [([5, 5, 5], None, 1.0), ([9, 3, 3], None, 1.8), ([10], 4, 4.0), ([], None, None), ([0, 0], None, None)],
)
def test_skew_is_the_largest_over_the_mean(counts: list[int], holders: int | None, expected: float | None) -> None:
    assert skew(counts, holders) == expected


def test_a_topic_has_its_partitions_and_keys_and_an_empty_one_is_named() -> None:
    partitions = [counted(90, partition=0), counted(10, partition=2), counted(7, topic="other", partition=0)]
    keys = [counted(60, key=bytearray(b"k1")), counted(20, key=bytearray(b"\xff"))]
    first, second = topic_reports([counted(100, keyed=80)], partitions, keys, {"orders": 4, "empty": 1})
    assert first == {"topic": "empty", "partitions": 1, "records": 0}
    assert (second["topic"], second["partitions"], second["records"]) == ("orders", 4, 100)
    assert second["partitionSkew"] == 3.6, "90 of 100, over four partitions of which two are empty"
    assert (second["withoutKey"], second["distinctKeys"], second["keySkew"]) == (20, 4, 3.0)
    assert [(row["partition"], row["share"]) for row in second["byPartition"]] == [(0, 0.9), (2, 0.1)]
    assert [(row["key"], row["share"]) for row in second["byKey"]] == [("k1", 0.6), ({"hex": "ff"}, 0.2)]


def test_a_topic_without_keys_has_no_skew_of_them() -> None:
    (report,) = topic_reports([counted(10, keyed=0, keys=0)], [counted(10, partition=0)], [], {"orders": 1})
    assert (report["keySkew"], report["withoutKey"]) == (None, 10)


def test_tables_show_all_of_it() -> None:
    keys = [counted(60, key=bytearray(b"k\n1"))]
    (report,) = topic_reports([counted(100)], [counted(100, partition=0)], keys, {"orders": 3})
    stream = io.StringIO()
    terminal = Terminal(stream, colours=False)
    show(terminal, TOPIC_COLUMNS, [report], as_json=False)
    show(terminal, PARTITION_COLUMNS, report["byPartition"], as_json=False)
    show(terminal, KEY_COLUMNS, report["byKey"], as_json=False)
    lines = stream.getvalue().splitlines()
    assert lines[0].split()[:4] == ["TOPIC", "RECORDS", "BYTES", "RECORDS/S"]
    assert " ".join(lines[1].split()) == "orders 100 1,000 10.0 9 20 30 50 900 ms 12.0 s 3.00 4 2.40"
    assert lines[3].split()[0] == "0"
    assert lines[3].endswith("100.0%")
    assert lines[5].startswith('"k\\n1"  ')
    assert span_text(report) == "2023-11-14T22:13:20.000Z to 2023-11-14T22:13:30.000Z"


@pytest.mark.parametrize(
    ("last_ms", "count", "expected"),
    [(0, 100, 1), (99_999, 100, 1_000), (86_400_000, 100, 3_600_000), (10**15, 10, 10**14)],
)
def test_stretches_of_time_have_lengths_that_people_use(last_ms: int, count: int, expected: int) -> None:
    assert bucket_ms(0, last_ms, count) == expected
