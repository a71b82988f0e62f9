"""`ottla log dump`: golden text on a small log, and what Apache Kafka wrote."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ottla.commands import UsageError
from ottla.commands.disks import ReadOnlyDisk
from ottla.commands.log_dump import DumpOptions, dump
from ottla.storage.files import OsDisk
from tests.commands.sample_logs import FIRST, KAFKA, SECOND, content, orders, plain, spoil

LOG_TEXT = """\
OFFSETS  POSITION  BYTES  RECORDS  CODEC   FIRST TIMESTAMP           MAX TIMESTAMP             EPOCH  PRODUCER  SEQUENCE  CRC  FLAGS
0-1             0    102        2  none    2023-11-14T22:13:20.000Z  2023-11-14T22:13:20.001Z      0  -         -         ok   -
"""  # noqa: E501

SECOND_TEXT = """\
orders-0/00000000000000000006.log  (238 bytes)
OFFSETS  POSITION  BYTES  RECORDS  CODEC  FIRST TIMESTAMP           MAX TIMESTAMP             EPOCH  PRODUCER  SEQUENCE  CRC  FLAGS
6               0     73        1  none   2023-11-14T22:13:23.000Z  2023-11-14T22:13:23.000Z      1  7:1       1         ok   transactional
7              73     78        1  none   2023-11-14T22:13:23.000Z  2023-11-14T22:13:23.000Z      1  7:1       -         ok   transactional, control ABORT (coordinator epoch 3)
8-9           151     87        2  none   2023-11-14T22:13:24.000Z  2023-11-14T22:13:24.001Z      1  -         -         ok   -

orders-0/00000000000000000006.index  (8 bytes)
ENTRY  OFFSET  POSITION
    0       9       151

orders-0/00000000000000000006.timeindex  (12 bytes)
ENTRY  TIMESTAMP                 OFFSET
    0  2023-11-14T22:13:24.001Z       9

orders-0/00000000000000000006.txnindex  (34 bytes)
ENTRY  PRODUCER  FIRST OFFSET  MARKER  LAST STABLE OFFSET
    0         7             6       7                   8

orders-0/00000000000000000006.snapshot  (56 bytes)
PRODUCER  EPOCH  LAST SEQUENCE  LAST OFFSET  OFFSET DELTA  LAST TIMESTAMP            COORDINATOR EPOCH  TRANSACTION FROM
       7      1              0            4             0  2023-11-14T22:13:22.000Z                  3                 -

orders-0/00000000000000000010.snapshot  (56 bytes)
PRODUCER  EPOCH  LAST SEQUENCE  LAST OFFSET  OFFSET DELTA  LAST TIMESTAMP            COORDINATOR EPOCH  TRANSACTION FROM
       7      1              1            6             0  2023-11-14T22:13:23.000Z                  3                 -
"""  # noqa: E501

RECORDS_TEXT = """\
orders-0/00000000000000000006.log  (238 bytes)
OFFSETS  POSITION  BYTES  RECORDS  CODEC  FIRST TIMESTAMP           MAX TIMESTAMP             EPOCH  PRODUCER  SEQUENCE  CRC  FLAGS
7              73     78        1  none   2023-11-14T22:13:23.000Z  2023-11-14T22:13:23.000Z      1  7:1       -         ok   transactional, control ABORT (coordinator epoch 3)
  7  2023-11-14T22:13:23.000Z  ABORT  {"coordinatorEpoch":3}
8-9           151     87        2  none   2023-11-14T22:13:24.000Z  2023-11-14T22:13:24.001Z      1  -         -         ok   -
  8  2023-11-14T22:13:24.000Z  key="key"  value=0xff00
  9  2023-11-14T22:13:24.001Z  key="key"  value="last"
"""  # noqa: E501


def shown(options: DumpOptions, *paths: str, status: int = 0) -> str:
    terminal, stream = plain()
    assert dump(ReadOnlyDisk(OsDisk()), paths, options, terminal) == status
    return stream.getvalue()


def shown_rows(options: DumpOptions, *paths: str, status: int = 0) -> list[dict[str, Any]]:
    return [json.loads(line) for line in shown(options._replace(as_json=True), *paths, status=status).splitlines()]


@pytest.fixture
def partition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    orders(tmp_path)
    return Path("orders-0")


def test_a_directory_is_shown_file_by_file_and_nothing_is_changed(partition: Path) -> None:
    before = content(partition)
    text = shown(DumpOptions(), "orders-0")
    assert text.endswith(SECOND_TEXT)
    assert LOG_TEXT in text
    assert text.startswith("orders-0/leader-epoch-checkpoint  (12 bytes)\nEPOCH  START OFFSET\n    0             0\n")
    assert content(partition) == before


def test_records_are_shown_from_an_offset_on_and_then_no_indexes(partition: Path) -> None:
    assert shown(DumpOptions(with_records=True, from_offset=7), "orders-0") == RECORDS_TEXT


def test_no_more_is_shown_than_was_asked_for(partition: Path) -> None:
    rows = shown_rows(DumpOptions(with_records=True, from_offset=3, count_max=4), "orders-0")
    assert [row["offset"] for row in rows if row["type"] == "record"] == [3, 4, 5, 6]
    rows = shown_rows(DumpOptions(count_max=3), "orders-0")
    assert [row["lastOffset"] for row in rows] == [1, 3, 4]
    assert shown(DumpOptions(count_max=0), "orders-0") == ""


def test_json_has_every_field_and_the_file(partition: Path) -> None:
    batch, record = shown_rows(DumpOptions(with_records=True, from_offset=9), "orders-0")
    assert batch["file"] == record["file"] == f"orders-0/{SECOND}.log"
    assert (batch["baseOffset"], batch["count"], batch["isIntact"]) == (8, 2, True)
    assert record["value"] == "last"
    _, hexadecimal = shown_rows(DumpOptions(with_records=True, from_offset=8, count_max=1), "orders-0")
    assert hexadecimal["value"] == {"hex": "ff00"}


def test_single_files_are_shown_under_any_of_their_names(partition: Path) -> None:
    os.rename(partition / f"{SECOND}.log", partition / f"{SECOND}.log.deleted")
    os.rename(partition / f"{SECOND}.index", partition / f"{SECOND}.index.swap")
    rows = shown_rows(DumpOptions(), f"orders-0/{SECOND}.log.deleted", f"orders-0/{SECOND}.index.swap")
    assert [row["type"] for row in rows] == ["batch", "batch", "batch", "entry"]


def test_damage_is_shown_where_it_is_and_told_by_the_status(partition: Path) -> None:
    spoil(partition / f"{FIRST}.log", 210 + 16, b"\x09")
    (partition / "leader-epoch-checkpoint").write_text("7\n")
    lines = shown(DumpOptions(), "orders-0", status=1).splitlines()
    assert lines[2] == "damaged: orders-0/leader-epoch-checkpoint, line 1: version 7, only 0 is known"
    assert "damaged from byte 210 on: no batch can begin so (magic 9); 151 bytes follow" in lines


def test_a_wrong_crc_is_told_by_the_status(partition: Path) -> None:
    spoil(partition / f"{FIRST}.log", 100, b"!")
    assert "WRONG" in shown(DumpOptions(), f"orders-0/{FIRST}.log", status=1)


def test_damage_is_red_on_a_terminal(partition: Path) -> None:
    (partition / "leader-epoch-checkpoint").write_text("7\n")
    terminal, stream = plain(colours=True)
    assert dump(OsDisk(), ["orders-0/leader-epoch-checkpoint"], DumpOptions(), terminal) == 1
    assert "\033[31mdamaged" in stream.getvalue()


def test_what_cannot_be_shown_is_told_with_what_can(partition: Path) -> None:
    (partition / "notes.txt").touch()
    (partition / f"{FIRST}.other").touch()
    for name in ("notes.txt", f"{FIRST}.other"):
        with pytest.raises(UsageError, match=r"known are \*\.log, \*\.index"):
            shown(DumpOptions(), f"orders-0/{name}")
    with pytest.raises(UsageError, match="missing does not exist"):
        shown(DumpOptions(), "missing")


# What Kafka wrote


def test_the_offsets_topic_of_kafka_is_decoded() -> None:
    rows = shown_rows(DumpOptions(with_records=True), str(KAFKA / "__consumer_offsets-0"))
    (commit,) = [row for row in rows if row.get("decoded", {}).get("type") == "OffsetCommit"]
    assert commit["decoded"]["key"] == {"group": "readers", "topic": "orders", "partition": 0}
    assert commit["decoded"]["value"]["offset"] == 41
    assert not [row for row in rows if "notDecoded" in row]


def test_the_transaction_log_of_kafka_is_decoded() -> None:
    rows = shown_rows(DumpOptions(with_records=True), str(KAFKA / "__transaction_state-0"))
    decoded = [row["decoded"] for row in rows if row["type"] == "record"]
    assert {row["key"]["transactionalId"] for row in decoded} == {"tx-1"}
    assert [row["value"]["transactionStatus"] for row in decoded[:6]] == [0, 1, 2, 4, 1, 3]


def test_the_metadata_log_of_kafka_is_decoded_and_so_is_its_bootstrap_file() -> None:
    rows = shown_rows(DumpOptions(with_records=True), str(KAFKA / "__cluster_metadata-0"))
    kinds = {row["decoded"]["type"] for row in rows if row["type"] == "record"}
    assert {"LEADER_CHANGE", "FeatureLevelRecord", "TopicRecord", "PartitionRecord", "RegisterBrokerRecord"} <= kinds
    rows = shown_rows(DumpOptions(with_records=True), str(KAFKA / "bootstrap.checkpoint"))
    kinds = {row["decoded"]["type"] for row in rows if row["type"] == "record"}
    assert kinds == {"SNAPSHOT_HEADER", "FeatureLevelRecord", "SNAPSHOT_FOOTER"}


def test_every_file_of_a_partition_of_kafka_is_shown() -> None:
    rows = shown_rows(DumpOptions(), str(KAFKA / "orders-0"), str(KAFKA / "__cluster_metadata-0"))
    assert len({row["file"] for row in rows}) == 13
    codecs = [row["codec"] for row in rows if row["type"] == "batch" and row["file"].startswith(str(KAFKA / "orders"))]
    assert codecs[:5] == ["none", "gzip", "snappy", "lz4", "zstd"]
