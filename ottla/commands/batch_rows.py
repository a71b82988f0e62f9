"""Batches and records as rows: JSON objects from which the table, too, is made.

A row of type `batch` says what a batch's header says, with the marker in it if it is a control batch; a row of type
`record` what is in a record; a row of type `damage` where the file cannot be read any further. How a row becomes text
is here as well, so that both forms say the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from ottla.commands.batch_walk import Batch, Unreadable, walk
from ottla.commands.stored_records import Decode, decode_control
from ottla.commands.terminal import Column, Row
from ottla.commands.text_form import bytes_json, compact_json, count_text, range_text, shown, time_text
from ottla.storage.files import File
from ottla.wire.errors import KafkaError
from ottla.wire.records import Codec, Record, RecordBatch, TimestampType, records_of

# What may come out of one batch: far more than a broker takes in, far less than what would harm a machine.
RECORDS_BYTES_MAX = 256 << 20


def batch_rows(file: File, *, from_offset: int, with_records: bool, decode: Decode | None) -> Iterator[Row]:
    """The batches from the one that holds an offset on, each followed by its records if these are wanted."""
    try:
        for position, batch in walk(file, 0, file.size()):
            if batch.last_offset < from_offset:
                continue
            yield batch_row(batch, position)
            if with_records:
                yield from record_rows(batch, from_offset, decode)
    except Unreadable as error:
        yield damage_row(error.position, error.why)


def damage_row(position: int | None, why: str) -> Row:
    """Without a position, all of the file is meant."""
    return {"type": "damage", "position": position, "why": why}


def batch_row(batch: Batch, position: int) -> Row:
    if not isinstance(batch, RecordBatch):
        return _legacy_row(batch, position)
    return {
        "type": "batch",
        "baseOffset": batch.base_offset,
        "lastOffset": batch.last_offset,
        "position": position,
        "sizeBytes": batch.size_bytes,
        "magic": batch.magic,
        "codec": codec_name(batch.codec),
        "count": batch.count,
        "baseTimestamp": None if batch.delete_horizon_ms is not None else batch.base_timestamp,
        "maxTimestamp": batch.max_timestamp,
        "timestampType": batch.timestamp_type.name,
        "leaderEpoch": batch.leader_epoch,
        "producerId": batch.producer_id,
        "producerEpoch": batch.producer_epoch,
        "baseSequence": batch.base_sequence,
        "lastSequence": batch.last_sequence,
        "isTransactional": batch.is_transactional,
        "isControl": batch.is_control,
        "control": _control(batch) if batch.is_control else None,
        "deleteHorizonMs": batch.delete_horizon_ms,
        "crc": batch.crc,
        "isIntact": batch.is_intact(),
    }


def _legacy_row(batch: Batch, position: int) -> Row:
    """Of formats v0 and v1. How many messages are in a wrapper, and the first offset, only unpacking it would tell."""
    is_wrapper = batch.codec != Codec.NONE
    return {
        "type": "batch",
        "baseOffset": None if is_wrapper else batch.last_offset,
        "lastOffset": batch.last_offset,
        "position": position,
        "sizeBytes": batch.size_bytes,
        "magic": batch.magic,
        "codec": codec_name(batch.codec),
        "count": None if is_wrapper else 1,
        "baseTimestamp": None,
        "maxTimestamp": batch.max_timestamp,
        "timestampType": batch.timestamp_type.name,
        "leaderEpoch": -1,
        "producerId": -1,
        "producerEpoch": -1,
        "baseSequence": -1,
        "lastSequence": -1,
        "isTransactional": False,
        "isControl": False,
        "control": None,
        "deleteHorizonMs": None,
        "crc": batch.crc,
        "isIntact": batch.is_intact(),
    }


def _control(batch: RecordBatch) -> Row:
    """What the first control record of a batch says; there is hardly ever a second."""
    with suppress(KafkaError):
        for record in records_of(batch, bytes_max=RECORDS_BYTES_MAX):
            kind, _, value = decode_control(record)
            return {"type": kind, "value": value}
        return {"type": "empty", "value": None}
    return {"type": "unreadable", "value": None}


def record_rows(batch: Batch, from_offset: int, decode: Decode | None) -> Iterator[Row]:
    """The records of a batch from an offset on; a last row says so if they cannot be read."""
    if isinstance(batch, RecordBatch) and batch.is_control:
        decode = decode_control
    try:
        for record in records_of(batch, bytes_max=RECORDS_BYTES_MAX):
            if record.offset >= from_offset:
                yield record_row(record, decode)
    except KafkaError as error:
        yield {"type": "unreadable", "offset": batch.last_offset, "why": error.message}


def record_row(record: Record, decode: Decode | None) -> Row:
    row: Row = {
        "type": "record",
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": bytes_json(record.key),
        "value": bytes_json(record.value),
        "headers": [{"key": bytes_json(key), "value": bytes_json(value)} for key, value in record.headers],
    }
    if decode is None:
        return row
    try:
        kind, key, value = decode(record)
    except KafkaError as error:
        return row | {"notDecoded": error.message}
    return row | {"decoded": {"type": kind, "key": key, "value": value}}


# Rows as text


def codec_name(codec: int) -> str:
    try:
        return Codec(codec).name.lower()
    except ValueError:
        return f"codec {codec}?"


def _offsets(row: Row) -> str:
    first = row["baseOffset"]
    return f"?-{row['lastOffset']}" if first is None else range_text(first, row["lastOffset"])


def _producer(row: Row) -> str:
    return "-" if row["producerId"] < 0 else f"{row['producerId']}:{row['producerEpoch']}"


def _sequence(row: Row) -> str:
    # A range that wraps around is written as it is: 2147483647-0.
    return "-" if row["baseSequence"] < 0 else range_text(row["baseSequence"], row["lastSequence"])


def _flags(row: Row) -> str:
    flags = []
    if row["magic"] < 2:
        flags.append(f"v{row['magic']}")
    if row["isTransactional"]:
        flags.append("transactional")
    if row["isControl"]:
        epoch = (row["control"]["value"] or {}).get("coordinatorEpoch")
        flags.append(f"control {row['control']['type']}" + ("" if epoch is None else f" (coordinator epoch {epoch})"))
    if row["timestampType"] == TimestampType.LOG_APPEND_TIME.name:
        flags.append("append-time")
    if row["deleteHorizonMs"] is not None:
        flags.append(f"delete-horizon {time_text(row['deleteHorizonMs'])}")
    return ", ".join(flags) or "-"


BATCH_COLUMNS = (
    Column("OFFSETS", _offsets),
    Column("POSITION", lambda row: str(row["position"]), is_number=True),
    Column("BYTES", lambda row: str(row["sizeBytes"]), is_number=True),
    Column("RECORDS", lambda row: "?" if row["count"] is None else str(row["count"]), is_number=True),
    Column("CODEC", lambda row: str(row["codec"])),
    Column("FIRST TIMESTAMP", lambda row: time_text(row["baseTimestamp"])),
    Column("MAX TIMESTAMP", lambda row: time_text(row["maxTimestamp"])),
    Column("EPOCH", lambda row: "-" if row["leaderEpoch"] < 0 else str(row["leaderEpoch"]), is_number=True),
    Column("PRODUCER", _producer),
    Column("SEQUENCE", _sequence),
    Column("CRC", lambda row: "ok" if row["isIntact"] else "WRONG"),
    Column("FLAGS", _flags),
)


def record_text(row: Row, width: int) -> str:
    """A record on one line; key and value decoded, where they could be."""
    decoded = row.get("decoded")
    parts = [f"  {row['offset']}", time_text(row["timestamp"])]
    if decoded is None:
        parts += [f"key={shown(row['key'], width)}", f"value={shown(row['value'], width)}"]
    else:
        parts.append(decoded["type"])
        parts += [compact_json(part) for part in (decoded["key"], decoded["value"]) if part is not None]
        if row["value"] is None:
            parts.append("(deleted)")
    parts += [f"{_header_key(header['key'])}={shown(header['value'], width)}" for header in row["headers"]]
    if "notDecoded" in row:
        parts.append(f"(not decoded: {row['notDecoded']})")
    return "  ".join(parts)


def _header_key(key: Any) -> str:
    return "header " + shown(key, 0)


def line_text(row: Row, width: int) -> str:
    """Any row that is not one of the table's."""
    match row["type"]:
        case "record":
            return record_text(row, width)
        case "unreadable":
            return f"  the records cannot be read: {row['why']}"
        case "unused":
            return f"({count_text(row['count'], 'more entry', 'more entries')} without content: space set aside)"
        case _:
            where = "" if row["position"] is None else f" from byte {row['position']} on"
            return f"damaged{where}: {row['why']}"
