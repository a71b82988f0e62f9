"""Source under construction: indentation, names, and that a traceback shows the generated line."""

from __future__ import annotations

import traceback

import pytest

from ottla.wire.encoder import EncodeError
from ottla.wire.source import Source
from tests.wire.parcel import full_parcel


def test_blocks_indent_and_become_a_function() -> None:
    source = Source("sample")
    with source.block("def double(x)"):
        with source.block("if x"):
            source.lines("y = x * factor", "return y")
        source.lines("return 0")
    double = source.compile("double", {"factor": 2})
    assert (double(4), double(0)) == (8, 0)


def test_fresh_names_never_repeat() -> None:
    source = Source("sample")
    assert len({source.fresh("x"), source.fresh("x"), source.fresh("y")}) == 3


def test_an_object_has_one_name() -> None:
    source = Source("sample")
    value = object()
    assert source.constant(int) == "int"
    assert source.constant(value, "thing") == "thing"
    assert source.constant(value) == "thing"
    assert source.constant(object()) in source.constants


def test_two_objects_do_not_share_a_name() -> None:
    source = Source("sample")
    source.constant(object(), "thing")
    with pytest.raises(AssertionError, match="two constants are called thing"):
        source.constant(object(), "thing")


def test_a_shared_constant_is_offered_again_without_harm() -> None:
    source = Source("sample")
    assert source.shared("pack_?h", 1) == source.shared("pack_?h", 2) == "pack_oh"
    assert source.constants == {"pack_oh": 1}


def test_a_traceback_shows_the_generated_line() -> None:
    source = Source("failing sample")
    with source.block("def fail(x)"):
        source.lines("return 1 / x")
    with pytest.raises(ZeroDivisionError) as failed:
        source.compile("fail", {})(0)
    shown = "".join(traceback.format_exception(failed.value))
    assert '"<ottla failing sample>", line 2, in fail' in shown
    assert "return 1 / x" in shown


def test_a_traceback_through_a_codec_names_message_version_and_field() -> None:
    with pytest.raises(EncodeError) as failed:
        full_parcel(zone="north").encode(3)
    shown = "".join(traceback.format_exception(failed.value))
    assert '"<ottla Parcel v3 encoder>"' in shown
    assert "message.zone" in shown
