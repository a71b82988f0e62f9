"""Messages as JSON values, in the form Kafka's own converters write: the quorum-state file, dumps for people.

Names are Kafka's camel case, bytes are base64, UUIDs are Kafka's text, and the fields are those of one version. A
tagged field at its default is left out, as Kafka leaves it out.
"""

from __future__ import annotations

import base64
from typing import Any, TypeVar

from ottla.wire.construction import blank
from ottla.wire.layout import RECORDS, TEXT, Array, Fixed, Nested, Slot, Type, Variable, layout
from ottla.wire.primitives import uuid_bytes, uuid_text
from ottla.wire.schema import BLANK, Message, Struct, StructType

M = TypeVar("M", bound=Message)


def to_json(message: Message, version: int) -> dict[str, Any]:
    return _struct_to_json(message, type(message), message.checked(version))


def from_json(message: type[M], value: dict[str, Any], version: int) -> M:
    """The message a JSON object stands for. KeyError names a field that is missing."""
    read: M = _struct_from_json(value, message, message, message.checked(version))
    return read


def _struct_to_json(value: Struct, message: type[Message], version: int) -> dict[str, Any]:
    at = layout(type(value), message, version)
    shown = {
        slot.field.json_name: _to_json(getattr(value, slot.name), slot.type, message, version) for slot in at.present
    }
    for slot in at.tagged:
        held = getattr(value, slot.name)
        if held != (blank(slot.type.struct) if slot.default is BLANK else slot.default):  # type: ignore[union-attr]
            shown[slot.field.json_name] = _to_json(held, slot.type, message, version)
    return shown


def _to_json(value: Any, of: Type, message: type[Message], version: int) -> Any:
    match of:
        case _ if value is None:
            return None
        case Array():
            return [_to_json(item, of.element, message, version) for item in value]
        case Nested():
            return _struct_to_json(value, message, version)
        case Fixed(name="Uuid"):
            return uuid_text(value)
        case Variable() if of is not TEXT:
            return base64.b64encode(value).decode("ascii")
        case _:
            return value


def _struct_from_json(value: dict[str, Any], struct: StructType, message: type[Message], version: int) -> Any:
    at = layout(struct, message, version)
    made = blank(struct)
    for slot in at.present:
        if slot.field.json_name not in value:
            raise KeyError(f"{struct.__name__} needs {slot.field.json_name!r} in version {version}")
        setattr(made, slot.name, _slot_from_json(value, slot, message, version))
    for slot in at.tagged:
        if slot.field.json_name in value:
            setattr(made, slot.name, _slot_from_json(value, slot, message, version))
    return made


def _slot_from_json(value: dict[str, Any], slot: Slot, message: type[Message], version: int) -> Any:
    return _from_json(value[slot.field.json_name], slot.type, message, version)


def _from_json(value: Any, of: Type, message: type[Message], version: int) -> Any:
    match of:
        case _ if value is None:
            return None
        case Array():
            return [_from_json(item, of.element, message, version) for item in value]
        case Nested():
            return _struct_from_json(value, of.struct, message, version)
        case Fixed(name="Uuid"):
            return uuid_bytes(value)
        case Variable() if of is RECORDS:
            return memoryview(base64.b64decode(value))
        case Variable() if of is not TEXT:
            return base64.b64decode(value)
        case _:
            return value
