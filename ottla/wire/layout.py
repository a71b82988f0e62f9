"""What a struct looks like at one version: annotations resolved, fields sorted into present, tagged and absent.

The encoder and the decoder are both compiled from this, so they cannot disagree about what a version holds.
Nothing here knows how bytes are read or written.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from ottla.wire.primitives import UUID_BYTES, ZERO_UUID
from ottla.wire.schema import BLANK, REQUIRED, Field, Message, StructType


class Fixed(NamedTuple):
    """A type of fixed width, with its letter in `struct`."""

    name: str
    letter: str
    size_bytes: int
    zero: Any


class Variable(NamedTuple):
    """A string, bytes or records: a length, then that many bytes."""

    name: str
    zero: Any


class Array(NamedTuple):
    element: Fixed | Variable | Nested


class Nested(NamedTuple):
    struct: StructType


Type = Fixed | Variable | Array | Nested

TEXT = Variable("str", "")
BLOB = Variable("bytes", b"")
RECORDS = Variable("Records", None)

SIMPLE: dict[str, Fixed | Variable] = {
    "bool": Fixed("bool", "?", 1, False),
    "int8": Fixed("int8", "b", 1, 0),
    "int16": Fixed("int16", "h", 2, 0),
    "uint16": Fixed("uint16", "H", 2, 0),
    "int32": Fixed("int32", "i", 4, 0),
    "uint32": Fixed("uint32", "I", 4, 0),
    "int64": Fixed("int64", "q", 8, 0),
    "float64": Fixed("float64", "d", 8, 0.0),
    "Uuid": Fixed("Uuid", f"{UUID_BYTES}s", UUID_BYTES, ZERO_UUID),
    "str": TEXT,
    "bytes": BLOB,
    "Records": RECORDS,
}


def resolve(annotation: str, message: type[Message]) -> Type:
    """The type an annotation names. Structs are looked up in the message that nests them."""
    name = annotation.removesuffix("| None").strip()
    if name.startswith("list["):
        element = resolve(name[5:-1], message)
        assert not isinstance(element, Array), "Kafka has no arrays of arrays"
        return Array(element)
    if name in SIMPLE:
        return SIMPLE[name]
    struct = vars(message).get(name.removeprefix(message.__name__ + "."))
    assert isinstance(struct, StructType), f"{message.__name__} has no struct {name}"
    return Nested(struct)


class Slot(NamedTuple):
    """A field at one version."""

    field: Field
    type: Type
    nullable: bool
    flexible: bool

    @property
    def name(self) -> str:
        return self.field.name

    @property
    def default(self) -> Any:
        """The value that stands for "not given"; BLANK for a struct."""
        if self.field.default is not REQUIRED:
            return self.field.default
        return zero(self.type)


class Layout(NamedTuple):
    """A struct at one version: the fields in order, those in the tagged section by tag, those not carried."""

    struct: StructType
    flexible: bool
    present: tuple[Slot, ...]
    tagged: tuple[Slot, ...]
    absent: tuple[Slot, ...]


def zero(of: Type) -> Any:
    match of:
        case Array():
            return []
        case Nested():
            return BLANK
        case _:
            return of.zero


@cache
def layout(struct: StructType, message: type[Message], version: int) -> Layout:
    present, tagged, absent = [], [], []
    flexible = version in message.flexible
    for slot in slots(struct, message, version):
        if version not in slot.field.versions:
            absent.append(slot)
        elif version in slot.field.tagged:
            tagged.append(slot)
        else:
            present.append(slot)
    tagged.sort(key=lambda slot: slot.field.tag or 0)
    return Layout(struct, flexible, tuple(present), tuple(tagged), tuple(absent))


def slots(struct: StructType, message: type[Message], version: int) -> Iterator[Slot]:
    for declared in struct.fields:
        flexible_versions = message.flexible if declared.flexible is None else declared.flexible
        yield Slot(
            declared,
            resolve(declared.annotation, message),
            version in declared.nullable,
            version in flexible_versions,
        )


def size_bytes_min(of: Type, message: type[Message], version: int, *, flexible: bool) -> int:
    """The fewest bytes a value of this type takes: an array that announces more elements than fit is a lie."""
    match of:
        case Fixed():
            return of.size_bytes
        case Variable(name="str"):
            return 1 if flexible else 2
        case Variable() | Array():
            return 1 if flexible else 4
        case _:
            inner = layout(of.struct, message, version)
            sizes = (
                1
                if slot.nullable and isinstance(slot.type, Nested)
                else size_bytes_min(slot.type, message, version, flexible=slot.flexible)
                for slot in inner.present
            )
            return sum(sizes) + inner.flexible
