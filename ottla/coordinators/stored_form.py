"""The records of `__consumer_offsets` as bytes: a two-byte type before the key, a two-byte version before the value.

A record of a type that is not known here comes from a later Kafka: it is nothing to fail on, and reads as None. What is
known and cannot be read is a StoredRecordError: a coordinator must not go on with half its state.
"""

from __future__ import annotations

import struct
from functools import cache

from ottla.coordinators.contract import Record
from ottla.wire.errors import KafkaError
from ottla.wire.schema import StoredRecord

_NUMBER = struct.Struct(">h")
_SMALL_NUMBERS = tuple(_NUMBER.pack(number) for number in range(256))


class StoredRecordError(Exception):
    """A record of the offsets topic that cannot be read; the message says which."""


def encode(record: Record) -> tuple[bytes, bytes | None]:
    """Key and value as the log holds them."""
    key, value, version = record
    assert key.type_id is not None, f"{type(key).__name__} is no key of the offsets topic"
    # Without fields of type `records` a message is one piece.
    stored_key = _SMALL_NUMBERS[key.type_id] + key.encoder(0)(key)[0]
    if value is None:
        return stored_key, None
    return stored_key, _SMALL_NUMBERS[version] + value.encoder(version)(value)[0]


def decode(key: bytes | None, value: bytes | None) -> Record | None:
    """What the log holds; None if a later Kafka wrote it."""
    try:
        type_id = _number(key)
        kinds = _kinds().get(type_id)
        if kinds is None:
            return None
        key_type, value_type = kinds
        assert key is not None
        found = key_type.decode(key, 0, _NUMBER.size)
        if value is None:
            return Record(found, None)
        version = _number(value)
        return Record(found, value_type.decode(value, version, _NUMBER.size), version)
    except KafkaError as error:
        raise StoredRecordError(f"a record with the key {key!r:.80} cannot be read: {error.message}") from error


def _number(data: bytes | None) -> int:
    if data is None or len(data) < _NUMBER.size:
        raise StoredRecordError(f"{data!r} is too short for the type of a key or the version of a value")
    number: int = _NUMBER.unpack_from(data)[0]
    return number


@cache
def _kinds() -> dict[int, tuple[type[StoredRecord], type[StoredRecord]]]:
    """Key and value by type. Messages are imported at the first use."""
    from ottla.wire.stored import (
        classic_group_records,
        consumer_group_records,
        share_group_records,
        streams_group_records,
    )

    kinds = {}
    for module in (classic_group_records, consumer_group_records, share_group_records, streams_group_records):
        messages = vars(module)
        for name, key_type in messages.items():
            if name.endswith("Key") and getattr(key_type, "type_id", None) is not None:
                kinds[key_type.type_id] = (key_type, messages[f"{name.removesuffix('Key')}Value"])
    return kinds
