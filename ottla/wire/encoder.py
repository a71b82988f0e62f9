"""Compiles encoders: message to bytes, one straight-line function per (message, version).

An encoder takes the message and returns a list of pieces to be sent one after the other. Only `records` make more
than one: they stand in the list as they were given, never copied, and may be anything that has a length. Adjacent
fixed-width fields are packed by one `struct` call.

A value that does not fit its field is our own mistake and ends in EncodeError; so is a field that this version does
not carry, is not ignorable, and holds something other than its default: dropping it would change the meaning.
"""

from __future__ import annotations

import struct
from typing import NoReturn

from ottla.wire.layout import RECORDS, TEXT, Array, Fixed, Layout, Nested, Slot, Type, Variable, layout
from ottla.wire.primitives import UUID_BYTES, uvarint
from ottla.wire.schema import BLANK, Encoder, Message, UnknownTags
from ottla.wire.source import Source

TEXT_BYTES_MAX = 0x7FFF
COMPACT = tuple(uvarint(n) for n in range(256))


class EncodeError(ValueError):
    """A message holds a value that its version cannot carry."""


def compile_encoder(message: type[Message], version: int) -> Encoder:
    return _Emitter(message, version).compile()


def encoder_source(message: type[Message], version: int) -> str:
    emitter = _Emitter(message, version)
    emitter.compile()
    return "\n".join(emitter.source.text)


_ONE_FIELD = uvarint(1)


def compact_text_length(size: int) -> bytes:
    """The prefix of a compact string that is too long for the table."""
    if size > TEXT_BYTES_MAX:
        raise EncodeError(f"a string of {size} bytes, {TEXT_BYTES_MAX} is the limit")
    return uvarint(size + 1)


def tagged_section(known: list[tuple[int, bytes]], unknown: UnknownTags) -> bytes:
    """All tagged fields of a struct in rising order of tags, which is what readers may insist on."""
    if len(known) == 1 and not unknown:
        ((tag, body),) = known
        return b"".join((_ONE_FIELD, uvarint(tag), uvarint(len(body)), body))
    fields = sorted([*known, *unknown])
    out = [uvarint(len(fields))]
    for tag, body in fields:
        out += (uvarint(tag), uvarint(len(body)), body)
    return b"".join(out)


def refuse(struct_name: str, field_name: str, version: int) -> NoReturn:
    raise EncodeError(f"{struct_name}.{field_name} is set, version {version} has no such field")


def refuse_uuids() -> NoReturn:
    raise EncodeError(f"a UUID is not {UUID_BYTES} bytes long")


class _Emitter:
    """Writes one encoder.

    `parts` are the expressions of byte strings not yet appended to the output, `run` the fixed-width values after
    them; both are forced out where the code branches.
    """

    def __init__(self, message: type[Message], version: int) -> None:
        self.message = message
        self.version = version
        self.source = Source(f"{message.__name__} v{version} encoder")
        self.run: list[tuple[str, str]] = []
        self.parts: list[str] = []
        self.out = "out"

    def compile(self) -> Encoder:
        source = self.source
        with source.block("def encode(message)"):
            source.lines("pieces = []", "out = []")
            with source.block("try"):
                self.struct(layout(self.message, self.message, self.version), "message")
                self.flush()
                source.lines("pieces.append(join(out))", "return pieces")
            with source.block("except (AttributeError, TypeError, UnicodeEncodeError, struct_error) as error"):
                source.lines(f"raise EncodeError(f'{self.message.__name__} v{self.version}: {{error}}') from error")
        names = {
            "struct_error": struct.error,
            "EncodeError": EncodeError,
            "join": b"".join,
            "pack": struct.pack,
            "uvarint": uvarint,
            "COMPACT": COMPACT,
            "compact_text_length": compact_text_length,
            "tagged_section": tagged_section,
            "refuse": refuse,
            "refuse_uuids": refuse_uuids,
        }
        return source.compile("encode", names)

    # Output

    def write(self, letter: str, expression: str) -> None:
        self.run.append((letter, expression))

    def append(self, expression: str) -> None:
        self.pack_run()
        self.parts.append(expression)

    def pack_run(self) -> None:
        """Close the run of fixed-width values: one pack for all of them."""
        if not self.run:
            return
        letters = "".join(letter for letter, _ in self.run)
        values = ", ".join(value for _, value in self.run)
        self.run = []
        pack = self.source.shared(f"pack_{letters}", struct.Struct(">" + letters).pack)
        self.parts.append(f"{pack}({values})")

    def flush(self) -> None:
        self.pack_run()
        if len(self.parts) == 1:
            self.source.lines(f"{self.out}.append({self.parts[0]})")
        elif self.parts:
            self.source.lines(f"{self.out} += ({', '.join(self.parts)})")
        self.parts = []

    # Structs and their tagged sections

    def struct(self, at: Layout, holder: str) -> None:
        for slot in at.absent:
            if not slot.field.ignorable:
                with self.source.block(f"if {self.differs(slot, f'{holder}.{slot.name}')}"):
                    self.source.lines(f"refuse('{at.struct.__name__}', '{slot.name}', {self.version})")
        for slot in at.present:
            self.value(slot, f"{holder}.{slot.name}")
        if not at.flexible:
            with self.source.block(f"if {holder}.unknown_tags"):
                self.source.lines(f"refuse('{at.struct.__name__}', 'unknown_tags', {self.version})")
        elif at.tagged:
            self.tagged(at, holder)
        else:
            tags = f"{holder}.unknown_tags"
            self.append(f"tagged_section([], {tags}) if {tags} else b'\\0'")

    def tagged(self, at: Layout, holder: str) -> None:
        source = self.source
        self.flush()
        known = source.fresh("known")
        source.lines(f"{known} = []")
        for slot in at.tagged:
            attribute = f"{holder}.{slot.name}"
            with source.block(f"if {self.differs(slot, attribute)}"):
                self.tagged_value(slot, attribute, known)
        section = f"tagged_section({known}, {holder}.unknown_tags)"
        self.append(f"{section} if {known} or {holder}.unknown_tags else b'\\0'")

    def tagged_value(self, slot: Slot, attribute: str, known: str) -> None:
        outer, self.out = self.out, self.source.fresh("body")
        self.source.lines(f"{self.out} = []")
        if slot.nullable and isinstance(slot.type, Nested):
            # A byte of 1 before the struct: inside a tag, null is a varint of 0 and not the -1 used elsewhere.
            with self.source.block(f"if {attribute} is None"):
                self.source.lines(f"{self.out}.append(b'\\0')")
            with self.source.block("else"):
                self.append("b'\\1'")
                self.nested(slot.type, attribute)
                self.flush()
        else:
            self.value(slot, attribute)
            self.flush()
        self.source.lines(f"{known}.append(({slot.field.tag}, join({self.out})))")
        self.out = outer

    def differs(self, slot: Slot, attribute: str) -> str:
        """An expression that is true if the field does not hold its default."""
        if slot.default is BLANK:
            assert isinstance(slot.type, Nested)
            inner = layout(slot.type.struct, self.message, self.version)
            fields = (*inner.present, *inner.tagged, *inner.absent)
            changed = " or ".join(self.differs(s, f"{attribute}.{s.name}") for s in fields)
            null = f"{attribute} is None or " if slot.nullable else ""
            return f"({null}{changed} or {attribute}.unknown_tags)"
        if slot.default is None:
            return f"{attribute} is not None"
        if slot.default is False:
            return attribute
        if slot.default == [] and not slot.nullable:
            return f"({attribute} or {attribute} is None)"  # None is refused, where the array is written
        return f"{attribute} != {slot.default!r}"

    # Values

    def value(self, slot: Slot, attribute: str) -> None:
        match slot.type:
            case Fixed(name="Uuid"):
                # struct would cut or fill up what is not 16 bytes long.
                checked = f"{attribute} if len({attribute}) == {UUID_BYTES} else refuse_uuids()"
                self.write(slot.type.letter, checked)
            case Fixed():
                self.write(slot.type.letter, attribute)
            case Variable():
                self.variable(slot.type, attribute, flexible=slot.flexible, nullable=slot.nullable)
            case Array():
                self.array(slot, slot.type.element, attribute)
            case Nested() if slot.nullable:
                self.flush()
                with self.source.block(f"if {attribute} is None"):
                    self.source.lines(f"{self.out}.append(b'\\xff')")
                with self.source.block("else"):
                    self.write("b", "1")
                    self.nested(slot.type, attribute)
                    self.flush()
            case _:
                self.nested(slot.type, attribute)

    def nested(self, of: Nested, attribute: str) -> None:
        inner = self.source.fresh("struct")
        self.source.lines(f"{inner} = {attribute}")
        self.struct(layout(of.struct, self.message, self.version), inner)

    def variable(self, of: Variable, attribute: str, *, flexible: bool, nullable: bool) -> None:
        value = self.source.fresh("value")
        self.source.lines(f"{value} = {attribute}")
        if not nullable:
            self.sized(of, value, flexible=flexible)
            return
        self.flush()
        with self.source.block(f"if {value} is None"):
            self.append("b'\\0'" if flexible else "b'\\xff\\xff'" if of is TEXT else "b'\\xff\\xff\\xff\\xff'")
            self.flush()
        with self.source.block("else"):
            self.sized(of, value, flexible=flexible)
            self.flush()

    def sized(self, of: Variable, value: str, *, flexible: bool) -> None:
        """A value that is not null: its length, then itself."""
        if of is TEXT:
            self.source.lines(f"{value} = {value}.encode()")
        size = self.source.fresh("size")
        self.source.lines(f"{size} = len({value})")
        if not flexible:
            self.write("h" if of is TEXT else "i", size)
        elif of is TEXT:
            self.append(f"COMPACT[{size} + 1] if {size} < 255 else compact_text_length({size})")
        else:
            self.append(f"COMPACT[{size} + 1] if {size} < 255 else uvarint({size} + 1)")
        if of is RECORDS:
            self.flush()
            self.source.lines("pieces.append(join(out))", f"pieces.append({value})", "out = []")
        else:
            self.append(value)

    def array(self, slot: Slot, element: Type, attribute: str) -> None:
        source = self.source
        items = source.fresh("items")
        source.lines(f"{items} = {attribute}")
        if not slot.nullable:
            self.counted(slot, element, items)
            return
        self.flush()
        with source.block(f"if {items} is None"):
            null = "b'\\0'" if slot.flexible else "b'\\xff\\xff\\xff\\xff'"
            source.lines(f"{self.out}.append({null})")
        with source.block("else"):
            self.counted(slot, element, items)
            self.flush()

    def counted(self, slot: Slot, element: Type, items: str) -> None:
        source = self.source
        count = source.fresh("count")
        source.lines(f"{count} = len({items})")
        if slot.flexible:
            self.append(f"COMPACT[{count} + 1] if {count} < 255 else uvarint({count} + 1)")
        else:
            self.write("i", count)
        if isinstance(element, Fixed):
            self.append(self.fixed_elements(element, items, count))
            return
        self.flush()
        item = source.fresh("item")
        with source.block(f"for {item} in {items}"):
            if isinstance(element, Variable):
                self.variable(element, item, flexible=slot.flexible, nullable=False)
            else:
                assert isinstance(element, Nested)
                self.struct(layout(element.struct, self.message, self.version), item)
            self.flush()

    def fixed_elements(self, element: Fixed, items: str, count: str) -> str:
        if element.name == "Uuid":
            return f"join({items}) if all(len(uuid) == {UUID_BYTES} for uuid in {items}) else refuse_uuids()"
        return f"pack(f'>{{{count}}}{element.letter}', *{items})"
