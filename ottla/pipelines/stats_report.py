"""From what Spark has counted to what a person wants to know: rates, means, shares, and how skewed it all is.

Skew is the largest over the mean: 1.0 where all partitions, or keys, have equally many records. A rate is over the
time from the first to the last timestamp; there is none where they are the same. Pure: rows in, rows out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ottla.commands.terminal import Column, Row
from ottla.commands.text_form import bytes_json, shown, time_text

KEY_WIDTH = 32
NICE_MS = (1, 10, 100, 1_000, 10_000, 60_000, 600_000, 3_600_000, 86_400_000, 7 * 86_400_000)


def measured_row(counted: Mapping[str, Any]) -> Row:
    """What topics, partitions and keys have in common."""
    span_ms = counted["last_ms"] - counted["first_ms"]
    records = counted["records"]
    return {
        "records": records,
        "bytes": counted["bytes"],
        "firstTimestamp": counted["first_ms"],
        "lastTimestamp": counted["last_ms"],
        "recordsPerSecond": per_second(records, span_ms),
        "bytesPerSecond": per_second(counted["bytes"], span_ms),
        "size": {
            "mean": round(counted["bytes"] / records, 1),
            "p50": counted["sizes"][0],
            "p99": counted["sizes"][1],
            "max": counted["size_max"],
        },
        "late": counted["late"],
        "lateness": {
            "p50": counted["latenesses"][0],
            "p99": counted["latenesses"][1],
            "max": counted["late_max"],
        },
    }


def per_second(count: int, span_ms: int) -> float | None:
    return round(count * 1000 / span_ms, 3) if span_ms > 0 else None


def skew(counts: Iterable[int], holder_count: int | None = None) -> float | None:
    """The largest over the mean of so many; None where there is nothing."""
    known = list(counts)
    number = len(known) if holder_count is None else max(holder_count, len(known))
    total = sum(known)
    return round(max(known) * number / total, 3) if total else None


def partition_report(counted: Mapping[str, Any], records_in_topic: int) -> Row:
    share = round(counted["records"] / records_in_topic, 4)
    return {"partition": counted["partition"], "share": share, **measured_row(counted)}


def key_report(counted: Mapping[str, Any], records_in_topic: int) -> Row:
    share = round(counted["records"] / records_in_topic, 4)
    return {"key": bytes_json(bytes(counted["key"])), "share": share, **measured_row(counted)}


def topic_reports(
    topics: Sequence[Mapping[str, Any]],
    partitions: Sequence[Mapping[str, Any]],
    keys: Sequence[Mapping[str, Any]],
    partition_counts: Mapping[str, int],
) -> list[Row]:
    """A report for each topic, those without records as well."""
    found = {str(row["topic"]): row for row in topics}
    return [
        {"topic": topic, "partitions": partition_counts[topic], "records": 0}
        if topic not in found
        else _report(
            found[topic],
            [row for row in partitions if row["topic"] == topic],
            [row for row in keys if row["topic"] == topic],
            partition_counts[topic],
        )
        for topic in sorted(partition_counts)
    ]


def _report(
    topic: Mapping[str, Any],
    partitions: Sequence[Mapping[str, Any]],
    keys: Sequence[Mapping[str, Any]],
    partition_count: int,
) -> Row:
    records, keyed, key_count = topic["records"], topic["keyed"], topic["keys"]
    most = max((row["records"] for row in keys), default=0)
    return {
        "topic": topic["topic"],
        "partitions": partition_count,
        **measured_row(topic),
        "partitionSkew": skew((row["records"] for row in partitions), partition_count),
        "withoutKey": records - keyed,
        "distinctKeys": key_count,
        "keySkew": round(most * key_count / keyed, 3) if keyed and keys else None,
        "byPartition": [partition_report(row, records) for row in partitions],
        "byKey": [key_report(row, records) for row in keys],
    }


def bucket_ms(first_ms: int, last_ms: int, bucket_count: int) -> int:
    """How long a stretch of time is, so that about so many cover all, as a length that people use."""
    wanted = max(1, (last_ms - first_ms) // bucket_count)
    return next((nice for nice in NICE_MS if nice >= wanted), wanted)


def _number(value: float | None, digits: int = 0) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def _duration(milliseconds: int) -> str:
    return f"{milliseconds:,} ms" if milliseconds < 10_000 else f"{milliseconds / 1000:,.1f} s"


def _of(name: str) -> tuple[Column, ...]:
    """Columns that topics, partitions and keys share, after the one that names them."""
    return (
        Column(name.upper(), lambda row: _name_text(row, name), is_number=name == "partition"),
        Column("RECORDS", lambda row: _number(row["records"]), is_number=True),
        Column("BYTES", lambda row: _number(row["bytes"]), is_number=True),
        Column("RECORDS/S", lambda row: _number(row["recordsPerSecond"], 1), is_number=True),
        Column("SIZE P50", lambda row: _number(row["size"]["p50"]), is_number=True),
        Column("P99", lambda row: _number(row["size"]["p99"]), is_number=True),
        Column("MAX", lambda row: _number(row["size"]["max"]), is_number=True),
        Column("LATE", lambda row: _number(row["late"]), is_number=True),
        Column("BY P99", lambda row: _duration(row["lateness"]["p99"]), is_number=True),
        Column("BY MAX", lambda row: _duration(row["lateness"]["max"]), is_number=True),
    )


def _name_text(row: Row, name: str) -> str:
    return shown(row["key"], KEY_WIDTH) if name == "key" else str(row[name])


_SHARE = Column("SHARE", lambda row: f"{row['share']:.1%}", is_number=True)
TOPIC_COLUMNS = (
    *_of("topic"),
    Column("PARTITION SKEW", lambda row: _number(row["partitionSkew"], 2), True, lambda row: _is_skewed(row)),
    Column("KEYS", lambda row: _number(row["distinctKeys"]), is_number=True),
    Column("KEY SKEW", lambda row: _number(row["keySkew"], 2), is_number=True),
)
PARTITION_COLUMNS = (*_of("partition"), _SHARE)
KEY_COLUMNS = (*_of("key"), _SHARE)
SKEWED_FROM = 2.0


def _is_skewed(row: Row) -> bool:
    return row["partitionSkew"] is not None and row["partitionSkew"] >= SKEWED_FROM


def span_text(row: Row) -> str:
    return f"{time_text(row['firstTimestamp'])} to {time_text(row['lastTimestamp'])}"
