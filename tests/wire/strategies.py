"""Hypothesis strategies for messages, derived from the layout of each version.

A drawn message is one that its version can carry: fields that the version lacks hold their default, null stands only
where it may. Unknown tags begin at 1000, where no declared tag is. Sizes are small but cross the lengths at which the
compact form takes a second byte. Knows nothing of bytes on the wire.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from ottla.wire.layout import RECORDS, TEXT, Array, Fixed, Nested, Slot, Type, Variable, layout
from ottla.wire.schema import Message, StructType
from tests.wire.defaults import default_value

UNKNOWN_TAG_MIN = 1000

_INTEGERS = {"int8": (8, True), "int16": (16, True), "uint16": (16, False), "int32": (32, True)}
_INTEGERS |= {"uint32": (32, False), "int64": (64, True)}

_TEXT = st.one_of(st.text(max_size=8), st.sampled_from(["x" * 126, "y" * 127, "z" * 128, "\N{SNOWMAN}" * 100]))
_BLOB = st.one_of(st.binary(max_size=8), st.sampled_from([bytes(126), bytes(127), bytes(300)]))

_UNKNOWN_TAGS = st.one_of(
    st.just(()),
    st.dictionaries(st.integers(UNKNOWN_TAG_MIN, 2**31 - 1), st.binary(max_size=4), max_size=2).map(
        lambda tags: tuple(sorted(tags.items()))
    ),
)


def messages(message: type[Message], version: int) -> st.SearchStrategy[Any]:
    """Messages of one type that can be encoded at one version."""
    return _structs(message, message, version)


@cache
def _structs(struct: StructType, message: type[Message], version: int) -> st.SearchStrategy[Any]:
    at = layout(struct, message, version)
    carried = (*at.present, *at.tagged)
    names = [slot.name for slot in carried]
    tags = _UNKNOWN_TAGS if at.flexible else st.just(())

    def build(drawn: tuple[Any, ...]) -> Any:
        *values, unknown_tags = drawn
        defaults = {slot.name: default_value(slot) for slot in at.absent}
        made = struct(**defaults, **dict(zip(names, values, strict=True)))
        made.unknown_tags = unknown_tags
        return made

    return st.tuples(*(_slot(slot, message, version) for slot in carried), tags).map(build)


def _slot(slot: Slot, message: type[Message], version: int) -> st.SearchStrategy[Any]:
    values = _values(slot.type, message, version)
    return st.none() | values if slot.nullable else values


def _values(of: Type, message: type[Message], version: int) -> st.SearchStrategy[Any]:
    match of:
        case Array():
            return st.lists(_values(of.element, message, version), max_size=2)
        case Nested():
            return _structs(of.struct, message, version)
        case Variable():
            return _TEXT if of is TEXT else _BLOB.map(memoryview) if of is RECORDS else _BLOB
        case Fixed():
            return _fixed(of)


@cache
def _fixed(of: Fixed) -> st.SearchStrategy[Any]:
    if of.name == "bool":
        return st.booleans()
    if of.name == "float64":
        return st.floats(allow_nan=False)  # a NaN is unequal to itself; test_encoder.py has one
    if of.name == "Uuid":
        return st.binary(min_size=16, max_size=16)
    bits, signed = _INTEGERS[of.name]
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else st.integers(0, 2**bits - 1)
