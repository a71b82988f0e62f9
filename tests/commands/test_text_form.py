"""Numbers, times and bytes as people read and write them."""

from __future__ import annotations

import pytest

from ottla.commands.text_form import (
    bytes_json,
    compact_json,
    count_text,
    parse_time,
    printable,
    range_text,
    shown,
    time_text,
)


@pytest.mark.parametrize(
    ("timestamp", "text"),
    [
        (1_700_000_000_123, "2023-11-14T22:13:20.123Z"),
        (0, "1970-01-01T00:00:00.000Z"),
        (-2, "1969-12-31T23:59:59.998Z"),
        (-1, "-"),
        (None, "-"),
        (2**62, "4611686018427387904 ms"),
    ],
)
def test_a_timestamp_is_shown_in_utc(timestamp: int | None, text: str) -> None:
    assert time_text(timestamp) == text


@pytest.mark.parametrize(
    ("text", "timestamp"),
    [
        ("1700000000123", 1_700_000_000_123),
        ("2023-11-14T22:13:20.123Z", 1_700_000_000_123),
        ("2023-11-14T22:13:20.123", 1_700_000_000_123),
        ("2023-11-14T23:13:20+01:00", 1_700_000_000_000),
        ("2023-11-14", 1_699_920_000_000),
    ],
)
def test_a_time_is_read_from_milliseconds_or_iso_8601(text: str, timestamp: int) -> None:
    assert parse_time(text) == timestamp


@pytest.mark.parametrize("text", ["yesterday", "-5", "9999999999999999999", "1969-12-31", ""])
def test_what_is_no_time_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_time(text)


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (None, None),
        (b"", ""),
        ("größer\n".encode(), "größer\n"),
        (b"\xff", {"hex": "ff"}),
        (b"\x1b[2J", {"hex": "1b5b324a"}),
        ("\u202e".encode(), {"hex": "e280ae"}),
    ],
)
def test_bytes_are_text_only_if_a_terminal_can_bear_it(data: bytes | None, value: object) -> None:
    assert bytes_json(data) == value


@pytest.mark.parametrize(
    ("value", "width", "text"),
    [
        (None, 10, "null"),
        ("short", 10, '"short"'),
        ("a\nb", 10, r'"a\nb"'),
        ("0123456789", 8, '"01234…" (10 bytes)'),
        ("0123\n6789", 8, '"0123…" (9 bytes)'),
        ("0123456789", 0, '"0123456789"'),
        ({"hex": "ff00"}, 10, "0xff00"),
        ({"hex": "ff00ff00"}, 6, "0xff0… (4 bytes)"),
    ],
)
def test_values_are_cut_at_a_width_and_say_how_long_they_were(value: object, width: int, text: str) -> None:
    assert shown(value, width) == text


def test_json_is_ascii_where_a_terminal_could_be_harmed() -> None:
    assert compact_json({"name": "größer", "n": 1}) == '{"name":"größer","n":1}'
    assert compact_json({"name": "\u009b2J"}) == r'{"name":"\u009b2J"}'


def test_counts_and_ranges_are_readable() -> None:
    assert [count_text(1, "byte"), count_text(1234, "byte"), count_text(0, "entry", "entries")] == [
        "1 byte",
        "1,234 bytes",
        "0 entries",
    ]
    assert [range_text(7, 7), range_text(7, 9)] == ["7", "7-9"]


def test_what_a_terminal_might_obey_is_escaped() -> None:
    assert printable("orders übrig 订单") == "orders übrig 订单"
    assert printable("a\033[2J\n\u202e") == r"a\x1b[2J\n\u202e"
