"""A made-up message with one of everything, for the tests of the schema compiler.

Version 0 is the oldest form, 1 and 2 add fields, 2 has the compact form, 3 the tagged fields. The real declarations
are tested against Kafka's own; what is odd about them is easier to see here.
"""

from __future__ import annotations

from typing import Any

from ottla.wire.schema import (
    BLANK,
    Message,
    Records,
    Struct,
    Uuid,
    field,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint16,
    uint32,
)


class Parcel(Message, versions="0-3", flexible="2+"):
    class Item(Struct):
        name: str
        size: int32 = 7

    class Stamp(Struct):
        cents: int16 = 5
        serial: Uuid = bytes(16)

    sender: str
    zone: int8 = 0
    weight: float64 = 0.0
    house: uint16 = 0
    code: uint32 = 0
    sealed: bool = False
    note: str | None = field(nullable="1+", default="")
    picture: bytes = b""
    receipt: bytes | None = None
    items: list[Item] = field(default=[])
    route: list[int32] = field(default=[])
    depots: list[Uuid] = field("2+", default=[])
    aliases: list[str] | None = field(default=None)
    pages: list[bytes] = field(default=[])
    stamp: Stamp = field("1+", default=BLANK)
    spare_stamp: Stamp | None = field("2+", default=None)
    records: Records | None = None
    hint: str = field("1+", default="", ignorable=True)
    insured: bool = field("1+", default=False)
    deadline_ms: int64 = field("3+", default=-1, tag=4, tagged="3+")
    colour: str = field("3+", default="", tag=1, tagged="3+")
    tracked: bool = field("3+", default=False, tag=0, tagged="3+")
    extra_items: list[Item] = field("3+", default=[], tag=5, tagged="3+")
    tag_stamp: Stamp = field("3+", default=BLANK, tag=6, tagged="3+")
    maybe_stamp: Stamp | None = field("3+", default=None, tag=7, tagged="3+")
    other_stamp: Stamp | None = field("3+", default=BLANK, tag=8, tagged="3+")
    pin: str = field("3+", default="", tag=9, tagged="3+", secret=True, json_name="PIN")


class Note(Message, versions="0-1", flexible="1+"):
    """As little as a message can be: where an error sits in its bytes is plain to see."""

    text: str


class Empty(Message, versions="0"):
    """A message without fields, as Kafka has a few."""


def full_parcel(**changed: Any) -> Parcel:
    """A parcel with every field set to something else than its default; it fits version 3 only."""
    values: dict[str, Any] = {
        "sender": "Ottla",
        "zone": -3,
        "weight": 2.5,
        "house": 65535,
        "code": 4294967295,
        "sealed": True,
        "note": None,
        "picture": b"\x89PNG",
        "receipt": b"paid",
        "items": [Parcel.Item(name="book"), Parcel.Item(name="hat", size=3)],
        "route": [1, -2, 3],
        "depots": [bytes([1]) * 16, bytes([2]) * 16],
        "aliases": ["a", "\N{SNOWMAN}"],
        "pages": [b"one", b""],
        "stamp": Parcel.Stamp(cents=80),
        "spare_stamp": Parcel.Stamp(serial=bytes([3]) * 16),
        "records": memoryview(b"batch"),
        "hint": "ring twice",
        "insured": True,
        "deadline_ms": 10**12,
        "colour": "blue",
        "tracked": True,
        "extra_items": [Parcel.Item(name="pen")],
        "tag_stamp": Parcel.Stamp(cents=1),
        "maybe_stamp": Parcel.Stamp(cents=2),
        "other_stamp": None,
        "pin": "1234",
    }
    return Parcel(**(values | changed))
