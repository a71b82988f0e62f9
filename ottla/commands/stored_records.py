"""The records of Kafka's own topics, read: what groups, transactions, share groups and the metadata log hold.

Coordinators put a two-byte type before the key and a two-byte version before the value; the metadata log has no key and
puts frame version, type and version before the value, as varints. What cannot be read stays bytes: a record of a
later Kafka is no error.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.json_form import to_json
from ottla.wire.primitives import read_uvarint
from ottla.wire.records import ControlType, Record, control_type, parse_end_transaction
from ottla.wire.schema import StoredRecord

METADATA_TOPIC = "__cluster_metadata"
FRAME_VERSION = 1
HIDDEN = "[hidden]"

# Configs are kept in the clear. Those whose names sound like it may be passwords, plug-ins' own included.
_SECRET_CONFIG = re.compile(r"password|secret|jaas|key|token|credential|certificate|auth", re.IGNORECASE)
_TYPE = struct.Struct(">h")
_TOPICS: dict[str, tuple[str, ...]] = {
    "__consumer_offsets": (
        "classic_group_records",
        "consumer_group_records",
        "share_group_records",
        "streams_group_records",
    ),
    "__transaction_state": ("transaction_records",),
    "__share_group_state": ("share_state_records",),
    METADATA_TOPIC: ("metadata_records",),
}
_CONTROL_VALUES = {
    ControlType.LEADER_CHANGE: "LeaderChangeMessage",
    ControlType.SNAPSHOT_HEADER: "SnapshotHeaderRecord",
    ControlType.SNAPSHOT_FOOTER: "SnapshotFooterRecord",
    ControlType.KRAFT_VERSION: "KRaftVersionRecord",
    ControlType.KRAFT_VOTERS: "VotersRecord",
}


class Decoded(NamedTuple):
    """What a record says: its kind, and key and value as JSON; a value that is None deletes what the key names."""

    kind: str
    key: dict[str, Any] | None
    value: dict[str, Any] | None


Decode = Callable[[Record], Decoded]


def decoder_for(topic: str | None, *, show_secrets: bool = False) -> Decode | None:
    """How to read the records of a topic; None for a topic whose records are its users'. It raises KafkaError."""
    if topic == METADATA_TOPIC:
        return lambda record: _metadata(record, show_secrets)
    if topic in _TOPICS:
        return lambda record: _coordinator(topic, record, show_secrets)
    return None


def decode_control(record: Record) -> Decoded:
    """What a control record says. KafkaError if it cannot be read."""
    kind = control_type(record.key)
    if kind is None:
        return Decoded("unknown control record", None, None)
    marker = parse_end_transaction(record)
    if marker is not None:
        return Decoded(kind.name, None, {"coordinatorEpoch": marker.coordinator_epoch})
    message = _messages(("control_records",))[_CONTROL_VALUES[kind]]
    value = record.value or b""
    # The first field of each is its own version. Later versions only add, so the last that is known will do.
    version = min(_int16(value, "value"), message.versions.high)
    return Decoded(kind.name, None, to_json(message.decode(value, version), version))


def _coordinator(topic: str, record: Record, show_secrets: bool) -> Decoded:
    key = record.key or b""
    number = _int16(key, "key")
    pair = _pairs(topic).get(number)
    if pair is None:
        raise _unreadable(f"no record of {topic} has the type {number}")
    key_type, value_type = pair
    key_json = _json(key_type, key, 0, _TYPE.size, show_secrets)
    value_json = None
    if record.value is not None:
        version = _int16(record.value, "value")
        value_json = _json(value_type, record.value, version, _TYPE.size, show_secrets)
    return Decoded(key_type.__name__.removesuffix("Key"), key_json, value_json)


def _metadata(record: Record, show_secrets: bool) -> Decoded:
    value = record.value or b""
    try:
        frame_version, position = read_uvarint(value, 0)
        number, position = read_uvarint(value, position)
        version, position = read_uvarint(value, position)
    except IndexError:
        raise _unreadable("the value is too short for a frame") from None
    message = _by_type(METADATA_TOPIC).get(number)
    if frame_version != FRAME_VERSION or message is None:
        raise _unreadable(f"no metadata record has frame version {frame_version} and type {number}")
    return Decoded(message.__name__, None, _json(message, value, version, position, show_secrets))


def _json(message: type[StoredRecord], data: bytes, version: int, start: int, show_secrets: bool) -> dict[str, Any]:
    shown = to_json(message.decode(data, version, start), version)
    if show_secrets or (message.__name__ == "ConfigRecord" and not _SECRET_CONFIG.search(shown["name"])):
        return shown
    for declared in message.fields:
        if declared.secret and shown.get(declared.json_name) is not None:
            shown[declared.json_name] = HIDDEN
    return shown


def _int16(data: bytes, what: str) -> int:
    if len(data) < _TYPE.size:
        raise _unreadable(f"the {what} is too short to have a type")
    number: int = _TYPE.unpack_from(data)[0]
    return number


def _unreadable(why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_RECORD, why)


@cache
def _messages(modules: tuple[str, ...]) -> dict[str, type[StoredRecord]]:
    found = {}
    for name in modules:
        for value in vars(import_module(f"ottla.wire.stored.{name}")).values():
            if isinstance(value, type) and issubclass(value, StoredRecord) and value is not StoredRecord:
                found[value.__name__] = value
    return found


def _by_type(topic: str) -> dict[int | None, type[StoredRecord]]:
    return {message.type_id: message for message in _messages(_TOPICS[topic]).values()}


@cache
def _pairs(topic: str) -> dict[int | None, tuple[type[StoredRecord], type[StoredRecord]]]:
    """Key and value of each type of record."""
    messages = _messages(_TOPICS[topic])
    return {
        key.type_id: (key, messages[name.removesuffix("Key") + "Value"])
        for name, key in messages.items()
        if name.endswith("Key")
    }
