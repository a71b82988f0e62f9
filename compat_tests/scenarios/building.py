"""Requests from plain dicts and lists, so that a scenario reads as what is sent.

    built(DeleteRecordsRequest, 2, {"topics": [{"name": "t", "partitions": [{"partition_index": 0, "offset": 3}]}]})

What is not given has Kafka's default. A field that the version does not carry is left out, since a scenario is told at
several versions; a field that no version has is a mistake.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from ottla.wire.construction import blank
from ottla.wire.layout import Array, Nested, Type, layout
from ottla.wire.schema import Request, StructType

R = TypeVar("R", bound=Request)


def built(kind: type[R], version: int, fields: Mapping[str, Any]) -> R:
    made: R = _struct(kind, kind, version, fields)
    return made


def _struct(struct: StructType, message: type[Request], version: int, fields: Mapping[str, Any]) -> Any:
    at = layout(struct, message, version)
    made = blank(struct)
    carried = {slot.name: slot for slot in (*at.present, *at.tagged)}
    for name, value in fields.items():
        assert hasattr(made, name), f"{struct.__qualname__} has no {name}"
        if name in carried:
            setattr(made, name, _value(value, carried[name].type, message, version))
    return made


def _value(value: Any, of: Type, message: type[Request], version: int) -> Any:
    match of:
        case _ if value is None:
            return None
        case Array():
            return [_value(item, of.element, message, version) for item in value]
        case Nested():
            return _struct(of.struct, message, version, value)
        case _:
            return value
