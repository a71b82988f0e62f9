"""The catalog: every declared message under its name, and the source of its codecs."""

from __future__ import annotations

import pytest

from ottla import wire
from ottla.wire.catalog import STORED, codec_source, messages
from ottla.wire.messages import FAMILIES
from ottla.wire.schema import Message


def test_every_module_of_declarations_is_in_the_catalog() -> None:
    modules = {message.__module__ for message in messages().values()}
    expected = {f"ottla.wire.messages.{name}" for name in ("headers", *FAMILIES)}
    expected |= {f"ottla.wire.stored.{name}" for name in STORED}
    assert modules == expected


def test_a_message_stands_under_its_own_name() -> None:
    assert messages()["FetchRequest"].__name__ == "FetchRequest"
    assert all(issubclass(message, Message) for message in messages().values())


def test_names_are_sorted_for_people() -> None:
    names = wire.message_names()
    assert names == sorted(messages())
    assert "OffsetCommitKey" in names


def test_a_codec_is_described_by_source_that_compiles() -> None:
    described = wire.describe_codec("FetchRequest", 17)
    assert "def encode(message):" in described
    assert "def decode(data, position, end):" in described
    compile(described, "described", "exec")


def test_an_unknown_name_or_version_is_a_lookup_error() -> None:
    with pytest.raises(LookupError, match="no message is called FetchRequst"):
        codec_source("FetchRequst", 17)
    with pytest.raises(LookupError, match="FetchRequest has versions 4-18, not 3"):
        codec_source("FetchRequest", 3)
