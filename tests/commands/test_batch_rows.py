"""Batches and records as rows and as text."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import pytest

from ottla.commands.batch_rows import BATCH_COLUMNS, batch_row, batch_rows, line_text, record_rows
from ottla.commands.disks import MemoryFile
from ottla.commands.stored_records import decoder_for
from ottla.wire.records import (
    BatchBuilder,
    Codec,
    ControlType,
    LegacyEntry,
    RecordBatch,
    control_batch,
    read_batch,
    read_legacy_entry,
)

NOW_MS = 1_700_000_000_000
FLAGS = BATCH_COLUMNS[-1]


def built(**options: Any) -> RecordBatch:
    builder = BatchBuilder(**options)
    builder.append(b"key", b"value", timestamp=NOW_MS)
    return read(builder.build())


def read(data: bytes) -> RecordBatch:
    batch = read_batch(memoryview(data))
    assert batch is not None
    return batch


def cells(row: dict[str, Any]) -> dict[str, str]:
    return {column.title: column.show(row) for column in BATCH_COLUMNS}


def legacy(magic: int, codec: int = 0) -> LegacyEntry:
    body = struct.pack(">bb", magic, codec) + (struct.pack(">q", NOW_MS) if magic else b"")
    body += struct.pack(">i", -1) + struct.pack(">i", 3) + b"old"
    data = struct.pack(">qi", 41, len(body) + 4) + struct.pack(">I", zlib.crc32(body)) + body
    entry = read_legacy_entry(memoryview(data))
    assert entry is not None
    return entry


def test_a_batch_of_a_producer_shows_all_its_header() -> None:
    batch = built(base_offset=5, producer_id=9, producer_epoch=2, base_sequence=2**31 - 1, leader_epoch=3)
    assert cells(batch_row(batch, 77)) == {
        "OFFSETS": "5",
        "POSITION": "77",
        "BYTES": str(batch.size_bytes),
        "RECORDS": "1",
        "CODEC": "none",
        "FIRST TIMESTAMP": "2023-11-14T22:13:20.000Z",
        "MAX TIMESTAMP": "2023-11-14T22:13:20.000Z",
        "EPOCH": "3",
        "PRODUCER": "9:2",
        "SEQUENCE": "2147483647",
        "CRC": "ok",
        "FLAGS": "-",
    }


@pytest.mark.parametrize(
    ("options", "flags"),
    [
        ({"is_transactional": True}, "transactional"),
        ({"append_time": NOW_MS}, "append-time"),
        ({"delete_horizon_ms": NOW_MS}, "delete-horizon 2023-11-14T22:13:20.000Z"),
        ({"is_control": True}, "control unreadable"),
    ],
)
def test_flags_are_words(options: dict[str, Any], flags: str) -> None:
    assert FLAGS.show(batch_row(built(**options), 0)) == flags


def test_the_base_timestamp_is_not_shown_where_it_is_a_delete_horizon() -> None:
    assert cells(batch_row(built(delete_horizon_ms=NOW_MS), 0))["FIRST TIMESTAMP"] == "-"


def test_control_batches_name_their_record() -> None:
    footer = read(control_batch([(ControlType.SNAPSHOT_FOOTER, b"\0\0\0")], timestamp=NOW_MS))
    assert FLAGS.show(batch_row(footer, 0)) == "control SNAPSHOT_FOOTER"
    emptied = read(BatchBuilder(is_control=True).build(last_offset=0, max_timestamp=NOW_MS))
    assert FLAGS.show(batch_row(emptied, 0)) == "control empty"


def test_a_wrong_crc_and_an_unknown_codec_are_shown() -> None:
    data = bytearray(built().data)
    data[22] |= 0x06
    assert cells(batch_row(read(bytes(data)), 0))["CODEC"] == "codec 6?"
    assert cells(batch_row(read(bytes(data)), 0))["CRC"] == "WRONG"


def test_messages_of_old_formats_are_shown_as_far_as_they_tell() -> None:
    single = cells(batch_row(legacy(1), 0))
    assert (single["OFFSETS"], single["RECORDS"], single["FLAGS"]) == ("41", "1", "v1")
    assert single["MAX TIMESTAMP"] == "2023-11-14T22:13:20.000Z"
    wrapper = cells(batch_row(legacy(0, codec=1), 0))
    assert (wrapper["OFFSETS"], wrapper["RECORDS"], wrapper["CODEC"]) == ("?-41", "?", "gzip")
    assert [row["value"] for row in record_rows(legacy(0), 0, None)] == ["old"]


def test_records_begin_at_the_wanted_offset() -> None:
    builder = BatchBuilder()
    for number in range(3):
        builder.append(None, b"%d" % number, timestamp=NOW_MS)
    assert [row["offset"] for row in record_rows(read(builder.build()), 1, None)] == [1, 2]


def test_records_that_cannot_be_read_are_a_line() -> None:
    data = bytearray(built().data)
    data[60] = 2  # the count
    rows = list(record_rows(read(bytes(data)), 0, None))
    assert rows[-1]["type"] == "unreadable"
    assert line_text(rows[-1], 60).startswith("  the records cannot be read: ")


def test_a_record_that_is_not_decoded_is_shown_as_bytes_with_the_reason() -> None:
    (row,) = record_rows(built(), 0, decoder_for("__consumer_offsets"))
    expected = '  0  2023-11-14T22:13:20.000Z  key="key"  value="value"  (not decoded: no record of __consumer_offsets'
    assert line_text(row, 60).startswith(expected)


def test_a_tombstone_of_a_coordinator_says_that_it_deletes() -> None:
    builder = BatchBuilder()
    builder.append(b"\0\2\0\1g", None, timestamp=NOW_MS)
    (row,) = record_rows(read(builder.build()), 0, decoder_for("__consumer_offsets"))
    assert line_text(row, 60) == '  0  2023-11-14T22:13:20.000Z  GroupMetadata  {"group":"g"}  (deleted)'


def test_headers_are_shown_after_the_value() -> None:
    builder = BatchBuilder()
    builder.append(None, None, timestamp=-1, headers=[(b"a", b"1"), (b"\xff", None)])
    (row,) = record_rows(read(builder.build()), 0, None)
    assert line_text(row, 60) == '  0  -  key=null  value=null  header "a"="1"  header 0xff=null'


def test_entries_without_content_are_one_line() -> None:
    assert line_text({"type": "unused", "count": 1}, 60) == "(1 more entry without content: space set aside)"


def test_damage_in_the_middle_of_a_file_is_the_last_row() -> None:
    file = MemoryFile("a.log")
    data = bytes(built(codec=Codec.GZIP).data) + bytes(100)
    file.write_at(0, (data,), len(data))
    rows = list(batch_rows(file, from_offset=0, with_records=True, decode=None))
    assert [row["type"] for row in rows] == ["batch", "record", "damage"]
    assert line_text(rows[-1], 60).startswith(f"damaged from byte {len(data) - 100} on: 100 bytes")
