"""What counts as a difference, and how it is told."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.pipelines.verify_rows import (
    COLUMNS,
    WRONG,
    checksum_text,
    difference_rows,
    empty,
    field_text,
    finished,
    verdict,
)


def row(partition: int = 0, *, allow_behind: bool = False, **found: Any) -> dict[str, Any]:
    return finished(empty("a", partition) | found, allow_behind=allow_behind)


def test_nothing_is_equal_to_nothing() -> None:
    assert row()["equal"]
    assert checksum_text(row()) == "0000000000000000"


@pytest.mark.parametrize("name", WRONG)
def test_one_record_that_is_wrong_is_enough(name: str) -> None:
    assert not row(**{name: 1})["equal"]
    assert not row(**{name: 1}, allow_behind=True)["equal"]


def test_who_is_behind_is_different_unless_that_is_allowed() -> None:
    assert not row(behind=1)["equal"]
    assert row(behind=1, allow_behind=True)["equal"]
    assert row(expired=5, new=7)["equal"]


def test_checksums_are_sixteen_digits_whatever_their_sign() -> None:
    found = row(sourceChecksum=-1, targetChecksum=255)
    assert (found["sourceChecksum"], found["targetChecksum"]) == ("f" * 16, "00000000000000ff")
    assert checksum_text(found) == "ffffffffffffffff / 00000000000000ff"
    assert row(sourceChecksum=None)["sourceChecksum"] == "0" * 16


def test_every_column_can_be_shown() -> None:
    shown = {column.title: column.show(row(source=1234, missing=1)) for column in COLUMNS}
    assert (shown["TOPIC"], shown["FIRST"], shown["MISSING"]) == ("a", "1,234", "1")
    remarkable = [one.title for one in COLUMNS if one.is_remarkable and one.is_remarkable(row(missing=1, new=1))]
    assert remarkable == ["MISSING", "CHECKSUM"]


def record(**fields: Any) -> dict[str, Any]:
    return {"timestamp": 1_700_000_000_000, "key": b"k", "value": b"v", "headers": []} | fields


def test_fields_that_differ_are_shown_side_by_side() -> None:
    header = {"key": "h", "value": bytearray(b"\xff")}
    found = difference_rows(record(), record(value=None, headers=[header], timestamp=-1))
    assert found == [
        {"field": "timestamp", "first": "2023-11-14T22:13:20.000Z", "second": "-"},
        {"field": "value", "first": "v", "second": None},
        {"field": "headers", "first": [], "second": [["h", {"hex": "ff"}]]},
    ]
    texts = [(field_text(one, "first"), field_text(one, "second")) for one in found]
    assert texts == [("2023-11-14T22:13:20.000Z", "-"), ('"v"', "null"), ("none", "h=0xff")]


def test_of_a_record_that_is_on_one_side_only_all_is_shown() -> None:
    found = difference_rows(record(), None)
    assert [one["field"] for one in found] == ["timestamp", "key", "value", "headers"]
    assert [one["second"] for one in found] == [None] * 4
    assert field_text(found[3], "second") == "null"
    assert difference_rows(record(), record()) == []


def test_the_verdict_is_one_sentence() -> None:
    assert verdict([row(source=1500), row(1, source=10)]) == "equal: 1,510 records in 2 partitions"
    late = row(source=15, behind=5, allow_behind=True)
    assert verdict([late]) == "equal: 10 records in 1 partition, 5 not copied yet"
    wrong = [row(number, missing=1) for number in range(5)]
    assert verdict([row(9), *wrong]) == "different: a-0, a-1, a-2 and 2 more"
    assert verdict(wrong[:1]) == "different: a-0"
