"""What a comparison found of each partition: what counts as a difference, and how it is told. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ottla.commands.terminal import Column, Row
from ottla.commands.text_form import bytes_json, count_text, shown, time_text

# Each is a number of records, and wrong unless it is 0.
WRONG = ("missing", "extra", "duplicates", "different", "disordered", "foreign")
VALUE_WIDTH = 60


def _number(title: str, name: str) -> Column:
    is_wrong = name in WRONG or name == "behind"
    return Column(
        title,
        lambda row: f"{row[name]:,}",
        is_number=True,
        is_remarkable=(lambda row: bool(row[name])) if is_wrong else None,
    )


COLUMNS = (
    Column("TOPIC", lambda row: str(row["topic"])),
    Column("PARTITION", lambda row: str(row["partition"]), is_number=True),
    _number("FIRST", "source"),
    _number("SECOND", "target"),
    _number("MISSING", "missing"),
    _number("EXTRA", "extra"),
    _number("TWICE", "duplicates"),
    _number("DIFFERENT", "different"),
    _number("DISORDER", "disordered"),
    _number("FOREIGN", "foreign"),
    _number("BEHIND", "behind"),
    _number("EXPIRED", "expired"),
    _number("NEW", "new"),
    Column("CHECKSUM", lambda row: checksum_text(row), is_remarkable=lambda row: not row["equal"]),
)


def finished(found: Mapping[str, Any], *, allow_behind: bool) -> Row:
    """A row of Spark's with its verdict and readable checksums."""
    row = dict(found)
    for name in ("sourceChecksum", "targetChecksum"):
        row[name] = f"{(row[name] or 0) & 0xFFFF_FFFF_FFFF_FFFF:016x}"
    row["equal"] = not any(row[name] for name in WRONG) and (allow_behind or not row["behind"])
    return row


def empty(topic: str, partition: int) -> dict[str, Any]:
    """What is found of a partition that has no record on either side."""
    counts = dict.fromkeys(("source", "target", *WRONG, "behind", "expired", "new"), 0)
    return {
        "topic": topic,
        "partition": partition,
        **counts,
        "sourceChecksum": 0,
        "targetChecksum": 0,
        "firstDifference": None,
    }


def checksum_text(row: Row) -> str:
    if row["sourceChecksum"] == row["targetChecksum"]:
        return str(row["sourceChecksum"])
    return f"{row['sourceChecksum']} / {row['targetChecksum']}"


def difference_rows(one: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> list[Row]:
    """Field by field, where two records differ; all of one where the other is not there."""
    fields = ("timestamp", "key", "value", "headers")
    found = []
    for name in fields:
        left, right = (None if record is None else field_json(name, record[name]) for record in (one, other))
        if left != right or one is None or other is None:
            found.append({"field": name, "first": left, "second": right})
    return found


def field_json(name: str, value: Any) -> Any:
    if name == "timestamp":
        return time_text(value)
    if name == "headers":
        return [[header["key"], bytes_json(_bytes(header["value"]))] for header in value or ()]
    return bytes_json(_bytes(value))


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)


def field_text(row: Row, side: str) -> str:
    value = row[side]
    if row["field"] == "headers" and value is not None:
        return ", ".join(f"{key}={shown(one, VALUE_WIDTH)}" for key, one in value) or "none"
    return str(value) if row["field"] == "timestamp" else shown(value, VALUE_WIDTH)


def verdict(rows: Sequence[Row]) -> str:
    different = [row for row in rows if not row["equal"]]
    if different:
        names = ", ".join(f"{row['topic']}-{row['partition']}" for row in different[:3])
        more = f" and {len(different) - 3} more" if len(different) > 3 else ""
        return f"different: {names}{more}"
    total = sum(row["source"] for row in rows)
    behind = sum(row["behind"] for row in rows)
    late = f", {behind:,} not copied yet" if behind else ""
    return f"equal: {count_text(total - behind, 'record')} in {count_text(len(rows), 'partition')}{late}"
