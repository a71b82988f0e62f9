"""The node's own log: what it looks like, what it never shows, and that nobody else can write into it."""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.config.broker import BrokerConfig
from ottla.config.loading import load
from ottla.config.values import Password
from ottla.server.logs import (
    ITEMS_MAX,
    TEXT_CHARS_MAX,
    TRACEBACK_CHARS_MAX,
    Handler,
    JsonFormatter,
    TextFormatter,
    set_up,
)
from ottla.wire.catalog import messages
from ottla.wire.construction import blank
from ottla.wire.schema import Struct, StructType

MOMENT = 1_800_000_000.5
STAMP = "2027-01-15T08:00:00.500Z"
log = logging.getLogger("ottla.server.sample")


def config(**settings: str) -> BrokerConfig:
    return load({"node.id": "7", **{f"ottla.log.{name}": text for name, text in settings.items()}}, {}).config


@contextmanager
def written(**settings: str) -> Iterator[io.StringIO]:
    """What is logged in the block, at DEBUG unless said otherwise."""
    stream = io.StringIO()
    with set_up(config(**{"level": "DEBUG", **settings}), stream):
        yield stream


def record(message: object, *args: object, level: int = logging.INFO, **more: Any) -> logging.LogRecord:
    made = log.makeRecord(log.name, level, "sample.py", 12, message, args, more.pop("exc_info", None), **more)
    made.created = MOMENT
    return made


def as_text(message: object, *args: object, **more: Any) -> str:
    return TextFormatter().format(record(message, *args, **more))


def as_json(message: object, *args: object, **more: Any) -> dict[str, Any]:
    line = JsonFormatter(7).format(record(message, *args, **more))
    assert line.isascii()
    assert line.isprintable()
    fields: dict[str, Any] = json.loads(line)
    return fields


def raised(error: Exception) -> Any:
    try:
        raise error
    except Exception:
        return sys.exc_info()


# -- what it looks like -----------------------------------------------------------------------------------------------


def test_a_line_for_people_is_time_level_place_and_sentence() -> None:
    assert as_text("%s has %d records", "t-0", 5) == f"{STAMP} INFO  ottla.server.sample: t-0 has 5 records"


def test_a_json_line_has_the_same_and_the_node() -> None:
    assert as_json("%s has %d records", "t-0", 5) == {
        "time": STAMP,
        "level": "INFO",
        "node_id": 7,
        "logger": "ottla.server.sample",
        "message": "t-0 has 5 records",
    }


@pytest.mark.parametrize(
    ("level", "name"),
    [
        (logging.DEBUG, "DEBUG"),
        (logging.INFO, "INFO"),
        (logging.WARNING, "WARN"),
        (logging.ERROR, "ERROR"),
        (logging.CRITICAL, "ERROR"),
    ],
)
def test_levels_have_kafkas_names(level: int, name: str) -> None:
    assert as_json("x", level=level)["level"] == name


def test_named_arguments_are_filled_in() -> None:
    assert as_json("%(topic)s and %(size)d", {"topic": "t", "size": 3})["message"] == "t and 3"


def test_a_percent_sign_without_arguments_is_itself() -> None:
    assert as_json("100 %")["message"] == "100 %"


def test_extra_fields_are_fields_of_the_object_and_no_matter_for_people() -> None:
    extra = {"topic": "t", "size_bytes": 5, "ratio": 0.5, "is_new": True, "leader": None}
    fields = as_json("sentence", extra=extra)
    assert {name: fields[name] for name in extra} == extra
    assert as_text("sentence", extra=extra).endswith(": sentence")


def test_extra_fields_that_json_does_not_have_become_text() -> None:
    fields = as_json("sentence", extra={"far": float("inf"), "who": ["a", b"xyz"], "failure": OSError("gone")})
    assert (fields["far"], fields["who"], fields["failure"]) == ("inf", "['a', <3 bytes>]", "gone")


def test_extra_fields_do_not_take_the_place_of_ours() -> None:
    assert as_json("sentence", extra={"level": "none", "node_id": 99, "traceback": "?"}) == {
        **as_json("sentence"),
        "traceback": "?",
    }


def test_an_exception_is_set_in_below_its_line() -> None:
    first, *below = as_text("it failed", exc_info=raised(OSError("no\n2027 INFO forged"))).splitlines()
    assert first.endswith(": it failed")
    assert below[0] == "    Traceback (most recent call last):"
    assert below[-2:] == ["    OSError: no", "    2027 INFO forged"]
    assert all(line.startswith("    ") for line in below)


def test_an_exception_is_one_field_of_the_object() -> None:
    traceback = as_json("it failed", exc_info=raised(OSError("no")))["traceback"]
    assert traceback.startswith("Traceback (most recent call last):\n")
    assert traceback.endswith("OSError: no")


def test_where_there_is_no_exception_none_is_shown() -> None:
    assert "traceback" not in as_json("x", exc_info=(None, None, None))


def test_a_stack_is_shown_where_one_is_asked_for() -> None:
    assert as_json("x", sinfo="Stack (most recent call last):\n  here")["traceback"].endswith("here")


# -- the process ------------------------------------------------------------------------------------------------------


def test_everything_of_the_process_is_written_until_the_end_of_the_block() -> None:
    level, handlers = logging.root.level, list(logging.root.handlers)
    with written() as stream:
        log.debug("ours")
        logging.getLogger("trio.serve_listeners").error("another's")
    log.error("later")
    assert [line.split(": ")[1] for line in stream.getvalue().splitlines()] == ["ours", "another's"]
    assert (logging.root.level, logging.root.handlers) == (level, handlers)


@pytest.mark.parametrize(("level", "count"), [("DEBUG", 4), ("INFO", 3), ("WARN", 2), ("ERROR", 1)])
def test_the_level_of_the_configuration_holds(level: str, count: int) -> None:
    with written(level=level) as stream:
        log.debug("x")
        log.info("x")
        log.warning("x")
        log.error("x")
    assert len(stream.getvalue().splitlines()) == count


def test_the_format_of_the_configuration_holds() -> None:
    with written(format="json") as stream:
        log.info("x")
    assert json.loads(stream.getvalue())["node_id"] == 7


def test_standard_error_is_written_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    with set_up(config()):
        log.info("x")
    assert capsys.readouterr().err.endswith("INFO  ottla.server.sample: x\n")


def test_a_stream_that_is_gone_fails_nobody() -> None:
    with written() as stream:
        stream.close()
        log.info("x")


def test_a_line_that_cannot_be_formatted_is_named_without_its_arguments() -> None:
    stream = io.StringIO()
    handler = Handler(stream)
    handler.setFormatter(TextFormatter())
    handler.handle(record("%d records", "hunter2"))
    assert stream.getvalue() == "a line of ottla.server.sample:12 could not be written\n"


# -- what peers can do ------------------------------------------------------------------------------------------------


@given(text=st.text(st.characters()))
def test_nothing_that_a_peer_sent_makes_another_line(text: str) -> None:
    assert as_text("client %s", text).isprintable()
    assert as_json("client %s", text, extra={"client": text})["logger"] == log.name


def test_what_does_not_print_is_escaped() -> None:
    assert as_text("%s", "a\nb\x1b[2J\u202e\u2028é").endswith(r": a\nb\x1b[2J\u202e\u2028é")


def test_a_long_text_is_cut() -> None:
    text = "x" * (TEXT_CHARS_MAX + 5)
    assert as_json("%s", text)["message"] == "x" * TEXT_CHARS_MAX + "... and 5 characters more"
    assert len(as_json("x", extra={"y": text})["y"]) < TEXT_CHARS_MAX + 50


def test_of_a_long_traceback_the_end_is_shown() -> None:
    traceback = as_json("x", exc_info=raised(OSError("y" * TRACEBACK_CHARS_MAX + "end")))["traceback"]
    assert len(traceback) == TRACEBACK_CHARS_MAX
    assert traceback.endswith("yend")


def test_of_a_long_list_the_beginning_is_shown() -> None:
    assert as_json("%s", list(range(1_000_000)))["message"].count(",") == ITEMS_MAX


# -- secrets ----------------------------------------------------------------------------------------------------------

SECRET = "hunter2"


class Pair(NamedTuple):
    name: str
    content: bytes


class Spelled(NamedTuple):
    name: str

    def __str__(self) -> str:
        return f"it is {self.name}"


def structs_with_secrets() -> list[StructType]:
    """Every message, and every struct inside one, that declares a secret field."""
    found: list[StructType] = []
    for message in messages().values():
        inner = [value for value in vars(message).values() if isinstance(value, StructType)]
        structs: list[StructType] = [message, *inner]
        found += [struct for struct in structs if any(field.secret for field in struct.fields)]
    return found


def with_secrets(struct: StructType) -> Struct:
    made: Struct = blank(struct)
    for field in struct.fields:
        if field.secret:
            setattr(made, field.name, SECRET.encode() if "bytes" in field.annotation else SECRET)
    return made


@pytest.mark.parametrize("struct", structs_with_secrets(), ids=lambda struct: struct.__qualname__)
@pytest.mark.parametrize("form", ["text", "json"])
def test_failure_class_15_no_secret_of_a_message_is_logged(struct: StructType, form: str) -> None:
    value = with_secrets(struct)
    with written(format=form) as stream:
        log.debug("got %s, %r", value, value, extra={"request": value, "requests": [value]})
        log.debug("got %(it)s", {"it": [value, {"inside": value}]})
        log.debug(value)
    assert stream.getvalue().count("[hidden]") >= 5
    assert SECRET not in stream.getvalue()


def test_failure_class_15_looks_at_the_messages_that_carry_secrets() -> None:
    names = {struct.__qualname__ for struct in structs_with_secrets()}
    assert {
        "SaslAuthenticateRequest",
        "SaslAuthenticateResponse",
        "EnvelopeRequest",
        "UserScramCredentialRecord",
        "CreateDelegationTokenResponse",
    } <= names
    assert any(name.startswith("IncrementalAlterConfigsRequest.") for name in names)
    assert any(name.startswith("AlterUserScramCredentialsRequest.") for name in names)


@pytest.mark.parametrize(
    "value",
    [
        SECRET.encode(),
        bytearray(SECRET.encode()),
        memoryview(SECRET.encode()),
        memoryview(SECRET.encode()).cast("b"),
        [SECRET.encode()],
        (1, (SECRET.encode(),)),
        {"key": SECRET.encode()},
        {SECRET.encode()},
        frozenset([SECRET.encode()]),
        Pair("name", SECRET.encode()),
        [Pair("name", SECRET.encode())],
    ],
    ids=lambda value: type(value).__name__,
)
def test_failure_class_15_raw_bytes_are_but_a_number(value: object) -> None:
    fields = as_json("%s %r", value, value, extra={"value": value})
    assert fields["message"].count("<7 bytes>") == 2
    assert "<7 bytes>" in fields["value"]
    assert SECRET not in str(fields)


def test_failure_class_15_passwords_of_the_configuration_hide_themselves() -> None:
    fields = as_json("%s %r", Password(SECRET), [Password(SECRET)], extra={"value": Password(SECRET)})
    assert (fields["message"], fields["value"]) == ("[hidden] [[hidden]]", "[hidden]")


def test_what_knows_how_to_be_shown_is_shown_so() -> None:
    assert as_json("%s", Spelled("x"))["message"] == "it is x"
    assert as_json("%s", [Spelled("x")])["message"] == "[Spelled(name='x')]"
