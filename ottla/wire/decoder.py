"""Compiles decoders: bytes to message, one straight-line function per (message, version).

A decoder takes (data, position, end) and returns (message, position after it). Adjacent fixed-width fields are read
by one `struct` call, and so is the length of whatever follows them. Loops are nested in the function itself, so
that no Python call is made per element.

What a peer announces is checked before it is believed: an array against the bytes that are left and against a budget of
elements for the whole message, a string against the end, the tagged section against a limit. Reading past the end
of the message but inside the buffer is harmless until the last line, which refuses it.
"""

from __future__ import annotations

import struct
from typing import Any

from ottla.wire.construction import assign_default
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.layout import (
    RECORDS,
    TEXT,
    Array,
    Fixed,
    Layout,
    Nested,
    Slot,
    Type,
    Variable,
    layout,
    size_bytes_min,
)
from ottla.wire.primitives import read_uvarint
from ottla.wire.schema import Decoder, Message
from ottla.wire.source import Source

# Structs, strings and the like that one message may hold. Each costs some 200 bytes of memory for as few as one on
# the wire, so a frame of 100 MB could otherwise cost 20 GB (the class of CVE-2026-111108).
ELEMENTS_MAX = 1_000_000
# Tagged fields that we do not know, per struct (the class of CVE-2026-111115). Kafka's own messages have at most eight.
UNKNOWN_TAGS_MAX = 64
# Kafka refuses longer strings in either form.
TEXT_BYTES_MAX = 0x7FFF


def compile_decoder(message: type[Message], version: int) -> Decoder:
    return _Emitter(message, version).compile()


def decoder_source(message: type[Message], version: int) -> str:
    emitter = _Emitter(message, version)
    emitter.compile()
    return "\n".join(emitter.source.text)


def malformed(what: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, what)


def read_unknown_tags(data: Any, position: int, end: int, count: int) -> tuple[tuple[tuple[int, bytes], ...], int]:
    """The tagged section of a struct that knows no tags; `count` is its first byte, already read."""
    if count > 0x7F:
        count, position = read_uvarint(data, position - 1)
    if count > UNKNOWN_TAGS_MAX:
        raise malformed(f"{count} tagged fields in one struct, at most {UNKNOWN_TAGS_MAX} are taken")
    tags = []
    last = -1
    for _ in range(count):
        tag, position = read_uvarint(data, position)
        size, position = read_uvarint(data, position)
        if tag <= last or size > end - position:
            raise malformed(f"tagged field {tag} after {last}, {size} bytes long with {end - position} left")
        tags.append((tag, bytes(data[position : position + size])))
        position += size
        last = tag
    return tuple(tags), position


class _Emitter:
    """Writes one decoder. `run` collects adjacent fixed-width reads until something of variable length ends it."""

    def __init__(self, message: type[Message], version: int) -> None:
        self.message = message
        self.version = version
        self.source = Source(f"{message.__name__} v{version} decoder")
        self.run: list[tuple[str, str]] = []

    def compile(self) -> Decoder:
        source = self.source
        with source.block("def decode(data, position, end)"):
            source.lines(f"budget = {ELEMENTS_MAX}")
            with source.block("try"):
                self.struct(layout(self.message, self.message, self.version), "message")
                self.flush()
            with source.block("except (IndexError, struct_error) as error"):
                source.lines(f"raise malformed('{self.message.__name__} v{self.version} ends too early') from error")
            with source.block("if position > end"):
                source.lines(f"raise malformed('{self.message.__name__} v{self.version} ends too early')")
            source.lines("return message, position")
        names = {
            "new": object.__new__,
            "struct_error": struct.error,
            "unpack_from": struct.unpack_from,
            "read_uvarint": read_uvarint,
            "read_unknown_tags": read_unknown_tags,
            "malformed": malformed,
        }
        return source.compile("decode", names)

    # Fixed-width reads

    def read(self, letter: str, target: str) -> None:
        self.run.append((letter, target))

    def flush(self) -> None:
        """Emit the pending reads as one unpack."""
        if not self.run:
            return
        letters = "".join(letter for letter, _ in self.run)
        targets = ", ".join(target for _, target in self.run)
        self.run = []
        if letters == "B":
            self.source.lines(f"{targets} = data[position]", "position += 1")
            return
        form = struct.Struct(">" + letters)
        unpack = self.source.shared(f"unpack_{letters}", form.unpack_from)
        comma = "," if "," not in targets else ""
        self.source.lines(f"{targets}{comma} = {unpack}(data, position)", f"position += {form.size}")

    # Structs and their tagged sections

    def struct(self, at: Layout, target: str) -> None:
        source = self.source
        source.lines(f"{target} = new({source.constant(at.struct)})")
        for slot in (*at.absent, *at.tagged):
            assign_default(source, slot, f"{target}.{slot.name}", self.message)
        for slot in at.present:
            self.value(slot, f"{target}.{slot.name}")
        if not at.flexible:
            source.lines(f"{target}.unknown_tags = ()")
            return
        count = source.fresh("tags")
        self.read("B", count)
        self.flush()
        with source.block(f"if {count}"):
            if at.tagged:
                self.tagged_section(at, target, count)
            else:
                source.lines(f"{target}.unknown_tags, position = read_unknown_tags(data, position, end, {count})")
                self.charge(count)
        with source.block("else"):
            source.lines(f"{target}.unknown_tags = ()")

    def charge(self, count: str) -> None:
        """Take tagged fields from the budget; arrays do this for their elements in `array`."""
        self.source.lines(f"budget -= {count}")
        with self.source.block("if budget < 0"):
            self.source.lines(f"raise malformed('more than {ELEMENTS_MAX} elements')")

    def tagged_section(self, at: Layout, target: str, count: str) -> None:
        source = self.source
        tag, size, last, stop, unknown = (source.fresh(s) for s in ("tag", "size", "last", "stop", "unknown"))
        with source.block(f"if {count} > 0x7f"):
            source.lines(f"{count}, position = read_uvarint(data, position - 1)")
        with source.block(f"if {count} > {UNKNOWN_TAGS_MAX + len(at.tagged)}"):
            source.lines(f"raise malformed(f'{{{count}}} tagged fields in one struct')")
        self.charge(count)
        source.lines(f"{unknown} = ()", f"{last} = -1")
        with source.block(f"for _ in range({count})"):
            source.lines(f"{tag}, position = read_uvarint(data, position)")
            source.lines(f"{size}, position = read_uvarint(data, position)")
            with source.block(f"if {tag} <= {last} or {size} > end - position"):
                source.lines(f"raise malformed(f'tagged field {{{tag}}} after {{{last}}}, {{{size}}} bytes long')")
            source.lines(f"{last} = {tag}", f"{stop} = position + {size}")
            word = "if"
            for slot in at.tagged:
                with source.block(f"{word} {tag} == {slot.field.tag}"):
                    self.tagged_value(slot, f"{target}.{slot.name}")
                    self.flush()
                word = "elif"
            with source.block("else"):
                source.lines(f"{unknown} += (({tag}, bytes(data[position:{stop}])),)", f"position = {stop}")
            with source.block(f"if position != {stop}"):
                source.lines(f"raise malformed(f'tagged field {{{tag}}} is not {{{size}}} bytes long')")
        source.lines(f"{target}.unknown_tags = {unknown}")

    def tagged_value(self, slot: Slot, target: str) -> None:
        if not (slot.nullable and isinstance(slot.type, Nested)):
            self.value(slot, target)
            return
        # Outside the tagged section Kafka marks a null struct with a byte of -1, inside it with a varint of 0.
        mark = self.source.fresh("mark")
        self.source.lines(f"{mark}, position = read_uvarint(data, position)")
        with self.source.block(f"if {mark} == 0"):
            self.source.lines(f"{target} = None")
        with self.source.block("else"):
            self.nested(slot.type, target)
            self.flush()

    # Values

    def value(self, slot: Slot, target: str) -> None:
        match slot.type:
            case Fixed():
                self.read(slot.type.letter, target)
            case Variable():
                self.variable(slot.type, target, flexible=slot.flexible, nullable=slot.nullable, name=slot.name)
            case Array():
                self.array(slot, slot.type.element, target)
            case Nested() if slot.nullable:
                mark = self.source.fresh("mark")
                self.read("b", mark)
                self.flush()
                with self.source.block(f"if {mark} < 0"):
                    self.source.lines(f"{target} = None")
                with self.source.block("else"):
                    self.nested(slot.type, target)
                    self.flush()
            case _:
                self.nested(slot.type, target)

    def nested(self, of: Nested, target: str) -> None:
        inner = self.source.fresh("struct")
        self.struct(layout(of.struct, self.message, self.version), inner)
        self.source.lines(f"{target} = {inner}")

    def length(self, letter: str, *, flexible: bool) -> str:
        """Read a length; the compact form counts from one, so that zero is null."""
        name = self.source.fresh("length")
        self.read("B" if flexible else letter, name)
        self.flush()
        if flexible:
            with self.source.block(f"if {name} > 0x7f"):
                self.source.lines(f"{name}, position = read_uvarint(data, position - 1)")
        return name

    def variable(self, of: Variable, target: str, *, flexible: bool, nullable: bool, name: str) -> None:
        source = self.source
        length = self.length("h" if of is TEXT else "i", flexible=flexible)
        stop = source.fresh("stop")
        null = "== 0" if flexible else "< 0"
        with source.block(f"if {length} {null}"):
            source.lines(f"{target} = None" if nullable else f"raise malformed('{name} is null')")
        with source.block("else"):
            source.lines(f"{stop} = position + {length}" + (" - 1" if flexible else ""))
            limit = f" or {length} > {TEXT_BYTES_MAX + 1}" if of is TEXT and flexible else ""
            with source.block(f"if {stop} > end{limit}"):
                source.lines(
                    f"raise malformed(f'{name} is {{{stop} - position}} bytes long, {{end - position}} are left')"
                )
            source.lines(f"{target} = {self.slice(of, stop)}", f"position = {stop}")

    def slice(self, of: Variable, stop: str) -> str:
        if of is TEXT:
            # Kafka puts U+FFFD for what is not UTF-8, and so do we: an odd client id is no reason to hang up.
            return f"data[position:{stop}].decode('utf-8', 'replace')"
        if of is RECORDS:
            return f"memoryview(data)[position:{stop}]"
        return f"bytes(data[position:{stop}])"

    def array(self, slot: Slot, element: Type, target: str) -> None:
        source = self.source
        length = self.length("i", flexible=slot.flexible)
        null = "== 0" if slot.flexible else "< 0"
        with source.block(f"if {length} {null}"):
            source.lines(f"{target} = None" if slot.nullable else f"raise malformed('{slot.name} is null')")
        with source.block("else"):
            if slot.flexible:
                source.lines(f"{length} -= 1")
            size = max(1, size_bytes_min(element, self.message, self.version, flexible=slot.flexible))
            source.lines(f"budget -= {length}")
            with source.block(f"if {length} * {size} > end - position or budget < 0"):
                source.lines(
                    f"raise malformed(f'{slot.name} has {{{length}}} elements, {{end - position}} bytes are left')"
                )
            self.elements(slot, element, target, length)

    def elements(self, slot: Slot, element: Type, target: str, length: str) -> None:
        source = self.source
        if isinstance(element, Fixed) and element.name != "Uuid":
            source.lines(
                f"{target} = list(unpack_from(f'>{{{length}}}{element.letter}', data, position))",
                f"position += {length} * {element.size_bytes}",
            )
            return
        items = source.fresh("items")
        item = source.fresh("item")
        source.lines(f"{target} = {items} = []")
        with source.block(f"for _ in range({length})"):
            match element:
                case Fixed():
                    self.read(element.letter, item)
                case Variable():
                    self.variable(element, item, flexible=slot.flexible, nullable=False, name=slot.name)
                case _:
                    assert isinstance(element, Nested), "Kafka has no arrays of arrays"
                    self.struct(layout(element.struct, self.message, self.version), item)
            self.flush()
            source.lines(f"{items}.append({item})")
