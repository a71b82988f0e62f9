"""Constructors: by keyword, with defaults that are nobody else's."""

from __future__ import annotations

import os

import pytest
from mypy import api as mypy

from ottla.wire.construction import blank, message_of
from ottla.wire.messages.fetch import FetchRequest
from ottla.wire.schema import Struct
from tests.wire.parcel import Empty, Note, Parcel


class Orphan(Struct):
    name: str


def test_defaults_are_filled_in() -> None:
    parcel = Parcel(sender="x")
    assert (parcel.zone, parcel.sealed, parcel.receipt, parcel.deadline_ms) == (0, False, None, -1)
    assert parcel.stamp == Parcel.Stamp(cents=5, serial=bytes(16))
    assert parcel.unknown_tags == ()


def test_defaults_that_can_be_changed_are_fresh_each_time() -> None:
    one, other = Parcel(sender="x"), Parcel(sender="x")
    one.items.append(Parcel.Item(name="book"))
    one.stamp.cents = 99
    assert other.items == []
    assert other.stamp.cents == 5
    assert Parcel(sender="x") == other


def test_a_given_list_is_kept_and_not_copied() -> None:
    items = [Parcel.Item(name="book")]
    assert Parcel(sender="x", items=items).items is items


def test_a_missing_name_is_refused() -> None:
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'sender'"):
        Parcel()  # type: ignore[call-arg]


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'colr'"):
        Parcel(sender="x", colr="blue")  # type: ignore[call-arg]


def test_values_go_by_name_only() -> None:
    with pytest.raises(TypeError, match="positional argument"):
        Note("x")  # type: ignore[call-arg]


def test_a_message_without_fields_is_constructed_from_nothing() -> None:
    assert repr(Empty()) == "Empty()"


def test_a_blank_struct_has_even_the_defaults_that_must_be_given() -> None:
    made = blank(Parcel)
    assert made.sender == ""
    assert made.items == []
    assert made.tag_stamp == Parcel.Stamp()
    assert made.spare_stamp is None


def test_a_struct_finds_the_message_it_is_nested_in() -> None:
    assert message_of(FetchRequest.FetchPartition) is FetchRequest
    assert message_of(FetchRequest) is FetchRequest


def test_a_struct_outside_a_message_is_our_mistake() -> None:
    with pytest.raises(AssertionError, match="Orphan is not nested in a message"):
        Orphan(name="x")


SNIPPET = """
from ottla.wire.messages.classic_groups import HeartbeatRequest
HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
HeartbeatRequest(group_id="g", generation_id="1", member_id="m")
HeartbeatRequest(group_id="g", member_id="m")
HeartbeatRequest(group_id="g", generation_id=1, member_id="m", topic="t")
reveal_type(HeartbeatRequest.decode(b"", 0).group_instance_id)
"""


def test_the_type_checker_sees_the_constructor() -> None:
    # Without a cache: what is remembered from the last time is told with more words.
    told, complaint, _ = mypy.run(
        ["--config-file=", f"--cache-dir={os.devnull}", "--strict", "--no-error-summary", "-c", SNIPPET]
    )
    assert complaint == ""
    assert [line.split(": ", 2)[::2] for line in told.splitlines()] == [
        [
            "<string>:4",
            'Argument "generation_id" to "HeartbeatRequest" has incompatible type "str"; expected "int"  [arg-type]',
        ],
        ["<string>:5", 'Missing named argument "generation_id" for "HeartbeatRequest"  [call-arg]'],
        ["<string>:6", 'Unexpected keyword argument "topic" for "HeartbeatRequest"  [call-arg]'],
        ["<string>:7", 'Revealed type is "str | None"'],
    ]
