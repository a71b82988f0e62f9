"""Records as lines; nothing in one can harm a terminal."""

from __future__ import annotations

import json

import pytest

from ottla.commands.record_form import json_form, raw_form, template_form, terminal_form, unescaped
from ottla.wire.records import Record
from tests.commands.sample_logs import plain

FULL = Record(7, 1_700_000_000_000, b"key", b"value", ((b"h", b"1"), (b"n", None)))
BARE = Record(8, 1_700_000_000_000, None, None, ())
WILD = Record(9, 1_700_000_000_000, b"\xff", b"\033[31mred\n", ())


def test_raw_is_the_value_as_it_is() -> None:
    assert [raw_form(0, record) for record in (FULL, BARE, WILD)] == [b"value\n", b"null\n", b"\033[31mred\n\n"]


def test_json_loses_nothing() -> None:
    form = json_form("t")
    assert json.loads(form(1, FULL)) == {
        "topic": "t",
        "partition": 1,
        "offset": 7,
        "timestamp": 1_700_000_000_000,
        "key": "key",
        "value": "value",
        "headers": [{"key": "h", "value": "1"}, {"key": "n", "value": None}],
    }
    assert json.loads(form(1, WILD))["key"] == {"hex": "ff"}
    assert (json.loads(form(1, BARE))["key"], json.loads(form(1, BARE))["value"]) == (None, None)


def test_a_terminal_is_shown_text_and_nothing_else() -> None:
    form = terminal_form(plain()[0])
    assert form(1, FULL) == b"1:7 2023-11-14T22:13:20.000Z key value h=1 n=null\n"
    assert form(1, BARE) == b"1:8 2023-11-14T22:13:20.000Z null\n"
    assert form(1, WILD) == b"1:9 2023-11-14T22:13:20.000Z 0xff 0x1b5b33316d7265640a\n"
    assert b"\033" not in form(1, WILD)
    coloured = terminal_form(plain(colours=True)[0])
    assert b"\033[32mkey\033[0m" in coloured(1, FULL)


def test_a_template_has_every_field() -> None:
    form = template_form("t", r"{topic} {partition} {offset} {timestamp} {time} {key} {value} {headers}\n")
    assert form(1, FULL) == b"t 1 7 1700000000000 2023-11-14T22:13:20.000Z key value h=1,n=null\n\n"
    assert form(1, BARE) == b"t 1 8 1700000000000 2023-11-14T22:13:20.000Z null null \n\n"


def test_a_template_is_safe_on_a_terminal_and_exact_elsewhere() -> None:
    assert template_form("t", r"\t{value}")(1, WILD) == b"\t\033[31mred\n\n"
    assert template_form("t", r"\t{value}", is_terminal=True)(1, WILD) == b"\t0x1b5b33316d7265640a\n"
    assert template_form("t", "{value}", is_terminal=True)(1, FULL) == b"value\n"


@pytest.mark.parametrize("template", ["{nothing}", "{key.x}", "{0}", "{}", "{key!r}", "{offset:>9}", "{key"])
def test_what_is_no_template_is_an_error(template: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        template_form("t", template)


def test_escapes_are_read_once() -> None:
    assert unescaped(r"\t\n\\n\x") == "\t\n\\n\\x"
