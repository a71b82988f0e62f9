"""Messages filled with seeded values: the corners of every type, and plain chance between them.

`random_message` draws one message for one version from our own layout, so it needs no list of messages and cannot
forget a field. A given random.Random gives the same message again. Fields that the version does not carry stay at
their default. It compares nothing and knows no other codec; tests of the wire are its callers.
"""

from __future__ import annotations

import enum
import functools
import math
import random
import struct
from typing import Any, TypeVar

import crc32c

from ottla.wire.layout import RECORDS, TEXT, Array, Fixed, Layout, Nested, Slot, Type, Variable, layout
from ottla.wire.primitives import UUID_BYTES, ZERO_UUID, uvarint, varint
from ottla.wire.schema import Message, StructType, UnknownTags
from tests.wire.defaults import default_value

M = TypeVar("M", bound=Message)


class Shape(enum.Enum):
    """What kind of message is drawn."""

    DEFAULT = "every field at its default"
    NULL = "null wherever null may stand, otherwise empty"
    LOW = "the least number everywhere, one element in each array"
    HIGH = "the greatest number everywhere, two elements in each array, nothing null"
    HUGE = "a string of the greatest length, a large blob and an array of a hundred and more, the rest by chance"
    ANY = "each field by chance"


TEXT_BYTES_MAX = 32767
# Around each of these a length needs one byte more in a varint: the compact forms write length + 1.
LENGTHS = (1, 2, 7, 126, 127, 128, 300)
LARGE_BYTES = 16383
HUGE_COUNTS = (126, 127, 128, 320)
# Among them: characters of one to four bytes in UTF-8, a zero, and what JSON must escape.
TEXTS = (
    "",
    "a",
    "topic-1",
    "naïve",
    "Привет",
    "日本語",
    "\0",
    "\x7f\x80",
    "\ufffd",
    "\U0001d11e\U0001f40d",
    'a\tb\nc"\\',
)
FLOATS = (0.0, -0.0, 1.5, -1e-300, 5e-324, 1.7976931348623157e308, math.inf, -math.inf, math.nan)
# Far beyond the tags that Kafka uses, at the steps of a varint. Java takes 2**31 - 1 for "no further tag".
UNKNOWN_TAG_NUMBERS = (100, 127, 128, 1000, 16383, 16384, 2**31 - 2)

TAME_ERROR_CODES = (-1, 0, 1, 3, 42, 100)
TAME_TIMES_MS = (0, 1, 86_400_000, 1_700_000_000_000)
TIME_NAMES = ("_ms", "timestamp")


def random_message(
    message: type[M],
    version: int,
    rng: random.Random,
    *,
    shape: Shape = Shape.ANY,
    unknown_tags: bool = False,
    tame: bool = False,
) -> M:
    """A message of that version.

    unknown_tags  add tagged fields that no version knows, to the message and by chance to its structs
    tame          keep to what a stricter codec takes: error codes that exist, times that a calendar has, finite numbers
    """
    assert version in message.flexible or not unknown_tags, f"{message.__name__} v{version} carries no tags"
    drawn: M = _Painter(message, version, rng, shape, unknown_tags=unknown_tags, tame=tame).struct(message)
    return drawn


def shapes(count: int) -> list[Shape]:
    """The shapes of a good sample: each corner, and chance for the rest."""
    corners = [Shape.DEFAULT, Shape.NULL, Shape.LOW, Shape.HIGH, Shape.HUGE]
    assert count >= len(corners), f"{len(corners)} shapes do not fit into {count}"
    return corners + [Shape.ANY] * (count - len(corners))


@functools.cache
def _layout(of: StructType, message: type[Message], version: int) -> Layout:
    return layout(of, message, version)


class _Painter:
    """Draws the structs of one message. What may be huge is huge once, or a message would grow without bound."""

    def __init__(
        self,
        message: type[Message],
        version: int,
        rng: random.Random,
        shape: Shape,
        *,
        unknown_tags: bool,
        tame: bool,
    ) -> None:
        self.message = message
        self.version = version
        self.rng = rng
        self.shape = shape
        self.unknown_tags = unknown_tags
        self.tame = tame
        self.huge_left = {"text", "blob", "array"} if shape is Shape.HUGE else set()

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def takes_huge(self, kind: str) -> bool:
        """True once per kind."""
        if kind not in self.huge_left:
            return False
        self.huge_left.remove(kind)
        return True

    def struct(self, of: StructType) -> Any:
        at = _layout(of, self.message, self.version)
        values = {slot.name: default_value(slot) for slot in at.absent}
        for slot in at.present:
            values[slot.name] = default_value(slot) if self.shape is Shape.DEFAULT else self.value(slot)
        for slot in at.tagged:
            keeps_default = self.shape is Shape.DEFAULT or (self.shape is Shape.ANY and self.chance(0.5))
            values[slot.name] = default_value(slot) if keeps_default else self.value(slot)
        made = of(**values)
        if self.unknown_tags and (of is self.message or self.chance(0.3)):
            made.unknown_tags = self.tags()
        return made

    def tags(self) -> UnknownTags:
        numbers = sorted(self.rng.sample(UNKNOWN_TAG_NUMBERS, self.rng.randint(1, 3)))
        return tuple((number, self.rng.randbytes(self.rng.choice((0, 1, 10, 200)))) for number in numbers)

    def value(self, slot: Slot) -> Any:
        if slot.nullable and (self.shape is Shape.NULL or (not self.is_corner and self.chance(0.25))):
            return None
        match slot.type:
            case Array():
                return self.array(slot.type.element, slot.name)
            case _:
                return self.element(slot.type, slot.name)

    def array(self, of: Type, name: str) -> list[Any]:
        if self.takes_huge("array"):
            return self.huge_array(of, name)
        match self.shape:
            case Shape.NULL:
                count = 0
            case Shape.LOW:
                count = 1
            case Shape.HIGH:
                count = 2
            case _:
                count = self.rng.choice((0, 0, 1, 1, 1, 1, 2, 2, 3))
        return [self.element(of, name) for _ in range(count)]

    def huge_array(self, of: Type, name: str) -> list[Any]:
        """Many elements, few of them different and none of them huge."""
        rest, self.huge_left = self.huge_left, set()
        few = [self.element(of, name) for _ in range(3)]
        self.huge_left = rest
        return [few[n % 3] for n in range(self.rng.choice(HUGE_COUNTS))]

    def element(self, of: Type, name: str) -> Any:
        match of:
            case Nested():
                return self.struct(of.struct)
            case Fixed():
                return self.fixed(of, name)
            case Array():
                raise AssertionError("Kafka has no arrays of arrays")
            case Variable() if of is TEXT:
                return self.text()
            case Variable() if of is RECORDS:
                return self.records()
            case Variable():
                return self.blob()

    def fixed(self, of: Fixed, name: str) -> Any:
        match of.name:
            case "bool":
                return self.corner(False, True) if self.is_corner else self.chance(0.5)
            case "Uuid":
                return self.corner(ZERO_UUID, b"\xff" * UUID_BYTES) if self.is_corner else self.uuid()
            case "float64":
                return self.corner(FLOATS[4], FLOATS[5]) if self.is_corner else self.floating()
            case _:
                return self.integer(of, name)

    @property
    def is_corner(self) -> bool:
        return self.shape in (Shape.NULL, Shape.LOW, Shape.HIGH)

    def corner(self, low: Any, high: Any) -> Any:
        return high if self.shape is Shape.HIGH else low

    def integer(self, of: Fixed, name: str) -> int:
        if self.tame and name.endswith("error_code"):
            return self.rng.choice(TAME_ERROR_CODES)
        if self.tame and of.name == "int64" and name.endswith(TIME_NAMES):
            return self.rng.choice(TAME_TIMES_MS)
        bits = of.size_bytes * 8
        low, high = (0, (1 << bits) - 1) if of.letter.isupper() else (-(1 << bits - 1), (1 << bits - 1) - 1)
        if self.shape is Shape.NULL:
            return 0
        if self.is_corner:
            return int(self.corner(low, high))
        return self.rng.choice((low, high, 0, 1, max(low, -1), self.rng.randint(low, high), self.rng.randint(0, 127)))

    def floating(self) -> float:
        return self.rng.random() if self.tame else self.rng.choice((*FLOATS, self.rng.random()))

    def uuid(self) -> bytes:
        return ZERO_UUID if self.chance(0.2) else self.rng.randbytes(UUID_BYTES)

    def text(self) -> str:
        if self.takes_huge("text"):
            return self.rng.choice(("x" * TEXT_BYTES_MAX, "\U0001d11e" * (TEXT_BYTES_MAX // 4) + "xyz"))
        if self.is_corner:
            return str(self.corner("", TEXTS[-2] + "x" * 126))
        if self.chance(0.2):
            return "y" * self.rng.choice(LENGTHS)
        return self.rng.choice(TEXTS)

    def blob(self) -> bytes:
        if self.takes_huge("blob"):
            return self.rng.randbytes(self.rng.choice((LARGE_BYTES, LARGE_BYTES + 1, 100_000)))
        if self.is_corner:
            return bytes(self.corner(b"", bytes(range(256))))
        return self.rng.randbytes(self.rng.choice((0, *LENGTHS)))

    def records(self) -> bytes:
        if self.shape is Shape.NULL:
            return b""
        sizes_bytes = self.rng.sample(LENGTHS, self.rng.randint(0, 2))
        return b"".join(record_batch(self.rng.randbytes(size_bytes)) for size_bytes in sizes_bytes)


def record_batch(value: bytes) -> bytes:
    """A batch of format v2 with one record, made by hand so that it stands on nothing of ours."""
    body = b"\0" + varint(0) + varint(0) + varint(-1) + varint(len(value)) + value + uvarint(0)
    # attributes, last offset delta, first and last timestamp, producer id and epoch, base sequence, record count
    counted = struct.pack(">hiqqqhii", 0, 0, 1000, 1000, -1, -1, -1, 1) + varint(len(body)) + body
    # partition leader epoch, magic, checksum
    framed = struct.pack(">ibI", 0, 2, crc32c.crc32c(counted)) + counted
    return struct.pack(">qi", 0, len(framed)) + framed
