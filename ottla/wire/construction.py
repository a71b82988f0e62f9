"""Constructors for structs: by keyword, every default filled in, compiled once per class.

Plain `__init__` methods would do the same; compiling them at the first use keeps hundreds of declarations cheap to
import.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from ottla.wire.layout import Nested, Slot, slots
from ottla.wire.schema import BLANK, REQUIRED, Message, StructType
from ottla.wire.source import Source


def message_of(struct: StructType) -> type[Message]:
    """The message that a struct is nested in, or the message itself."""
    found: type[Message] = getattr(sys.modules[struct.__module__], struct.__qualname__.partition(".")[0])
    assert issubclass(found, Message), f"{struct.__qualname__} is not nested in a message"
    return found


def blank(struct: StructType) -> Any:
    """A new struct with every field at Kafka's default, given or not."""
    return blank_maker(struct)()


@cache
def blank_maker(struct: StructType) -> Callable[[], Any]:
    source = Source(f"{struct.__qualname__} blank")
    with source.block("def make()"):
        assign_blank(source, struct, "made", message_of(struct))
        source.lines("return made")
    return source.compile("make", {"new": object.__new__})


def assign_blank(source: Source, struct: StructType, target: str, message: type[Message]) -> None:
    source.lines(f"{target} = new({source.constant(struct)})")
    for slot in slots(struct, message, message.versions.high):
        assign_default(source, slot, f"{target}.{slot.name}", message)
    source.lines(f"{target}.unknown_tags = ()")


def assign_default(source: Source, slot: Slot, target: str, message: type[Message]) -> None:
    """Emit the assignment of a field's default, one that may be changed without harm to anybody else's."""
    if slot.default is not BLANK:
        source.lines(f"{target} = {slot.default!r}")
        return
    assert isinstance(slot.type, Nested)
    inner = source.fresh("struct")
    assign_blank(source, slot.type.struct, inner, message)
    source.lines(f"{target} = {inner}")


def compile_constructor(struct: StructType) -> Callable[..., None]:
    source = Source(f"{struct.__qualname__} constructor")
    parameters, body = [], []
    message = message_of(struct)
    for slot in slots(struct, message, message.versions.high):
        if slot.field.default is REQUIRED:
            parameters.append(slot.name)
            body.append(f"self.{slot.name} = {slot.name}")
        elif slot.default is BLANK or slot.default == []:
            fresh = "[]" if slot.default == [] else f"{_blank_maker_of(slot, source)}()"
            parameters.append(f"{slot.name}=UNSET")
            body.append(f"self.{slot.name} = {fresh} if {slot.name} is UNSET else {slot.name}")
        else:
            parameters.append(f"{slot.name}={slot.default!r}")
            body.append(f"self.{slot.name} = {slot.name}")
    star = "*, " if parameters else ""
    with source.block(f"def __init__(self, {star}{', '.join(parameters)})"):
        source.lines(*body, "self.unknown_tags = ()")
    return source.compile("__init__", {"UNSET": REQUIRED})


def _blank_maker_of(slot: Slot, source: Source) -> str:
    assert isinstance(slot.type, Nested)
    return source.constant(blank_maker(slot.type.struct), f"blank_{slot.name}")
