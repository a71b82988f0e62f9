"""`ottla log find`: the steps of a lookup, with and without indexes, found and not found."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from ottla.commands.disks import ReadOnlyDisk
from ottla.commands.log_find import find_offset, find_timestamp
from ottla.storage.files import OsDisk
from ottla.wire.records import BatchBuilder
from tests.commands.sample_logs import FIRST, KAFKA, NOW_MS, SECOND, append, content, new_log, orders, plain, spoil
from tests.commands.test_batch_rows import legacy


@pytest.fixture
def partition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    orders(tmp_path)
    return Path("orders-0")


def by_offset(offset: int, directory: str = "orders-0", status: int = 0) -> list[str]:
    terminal, stream = plain()
    assert find_offset(ReadOnlyDisk(OsDisk()), directory, offset, terminal) == status
    return stream.getvalue().splitlines()


def by_timestamp(timestamp: int, directory: str = "orders-0", status: int = 0) -> list[str]:
    terminal, stream = plain()
    assert find_timestamp(ReadOnlyDisk(OsDisk()), directory, timestamp, terminal) == status
    return stream.getvalue().splitlines()


def test_the_way_to_an_offset(partition: Path) -> None:
    before = content(partition)
    assert by_offset(5) == [
        "offset 5 in orders-0: 2 segments",
        "1. segment     00000000000000000000.log, segment 1 of 2 by bisection of the base offsets",
        "2. index       entry 1 of 2: offset 4 at byte 210",
        "3. scan        1 batch passed over, 73 bytes",
        "4. batch       5 at byte 283, 78 bytes, not compressed",
        '5. record      5  2023-11-14T22:13:22.000Z  COMMIT  {"coordinatorEpoch":3}',
    ]
    assert content(partition) == before


def test_the_way_to_a_timestamp(partition: Path) -> None:
    assert by_timestamp(NOW_MS + 1001) == [
        "2023-11-14T22:13:21.001Z (1700000001001 ms) in orders-0: 2 segments",
        "1. segment     00000000000000000000.log, segment 1 of 2: its largest timestamp, 2023-11-14T22:13:22.000Z, "
        "is not before that",
        "2. time index  entry 0 of 2: 2023-11-14T22:13:21.001Z at offset 3",
        "3. index       entry 0 of 2: offset 3 at byte 102",
        "4. scan        0 batches passed over, 0 bytes",
        "5. scan        0 batches of earlier times passed over, 0 bytes",
        "6. batch       2-3 at byte 102, 108 bytes, snappy",
        '7. record      3  2023-11-14T22:13:21.001Z  key="key"  value=null',
    ]


def test_segments_of_earlier_times_are_skipped(partition: Path) -> None:
    lines = by_timestamp(NOW_MS + 3500)
    assert lines[1].startswith(f"1. segment     {SECOND}.log, segment 2 of 2")
    assert "2 batches of earlier times passed over, 151 bytes" in lines[5]
    assert lines[-1].startswith("7. record      8  ")


def test_without_indexes_the_segment_is_read_from_its_beginning(partition: Path) -> None:
    for suffix in ("index", "timeindex"):
        (partition / f"{FIRST}.{suffix}").unlink()
    assert by_offset(1)[2] == "2. index       there is none: reading from byte 0"
    assert by_timestamp(NOW_MS + 1)[2] == "2. time index  there is none: looking from offset 0"


def test_an_offset_before_the_first_entry_begins_at_byte_0(partition: Path) -> None:
    assert by_offset(1)[2] == "2. index       no entry of 2 is before it: reading from byte 0"


@pytest.mark.parametrize("entry", [(1, 102), (3, 110)])
def test_an_index_that_leads_astray_is_named(entry: tuple[int, int], partition: Path) -> None:
    (partition / f"{FIRST}.index").write_bytes(struct.pack(">ii", *entry))
    lines = by_offset(3)
    assert lines[3].startswith("3. index       leads astray (")
    assert lines[-1].startswith("6. record      3  ")


def test_what_is_not_there_is_told_with_where_the_log_is(partition: Path, tmp_path: Path) -> None:
    assert by_offset(10, status=1)[-1] == "not found: the log has nothing at or after offset 10"
    assert (
        by_timestamp(NOW_MS * 2, status=1)[-1] == "not found: the largest timestamp of all is 2023-11-14T22:13:24.001Z"
    )
    for path in partition.glob(f"{FIRST}.*"):
        path.unlink()
    assert by_offset(3, status=1)[-1] == "not found: the log begins at offset 6"


def test_an_offset_that_compaction_removed_leads_to_the_next_one(tmp_path: Path) -> None:
    partition = tmp_path / "compacted-0"
    log = new_log(partition)
    append(log, b"0")
    log.close()
    kept = BatchBuilder(base_offset=0)
    kept.append(b"k", b"kept", timestamp=NOW_MS, offset=4)
    emptied = BatchBuilder(base_offset=6).build(last_offset=8, max_timestamp=NOW_MS)
    last = BatchBuilder(base_offset=9)
    last.append(b"k", b"last", timestamp=NOW_MS)
    (partition / f"{FIRST}.log").write_bytes(kept.build(last_offset=5) + emptied + last.build())
    assert by_offset(2, str(partition))[-1].startswith(
        "5. record      offset 2 is gone (compaction removed it), the next one is 4  "
    )
    assert [line[3:13] for line in by_offset(5, str(partition))[4:]] == ["batch     ", "record    "] * 3
    assert "none in this batch will do" in by_offset(5, str(partition))[5]
    assert by_timestamp(NOW_MS, str(partition))[-1].startswith("7. record      4  ")


def test_the_next_segment_is_tried_where_one_has_nothing_left(partition: Path) -> None:
    path = partition / f"{FIRST}.log"
    path.write_bytes(path.read_bytes()[:283])
    lines = by_offset(5)
    assert lines[4].startswith(f"4. segment     {SECOND}.log, the next one")
    assert "offset 5 is gone" in lines[-1]


def test_a_batch_whose_header_promises_a_later_time_than_its_records_have(partition: Path) -> None:
    spoil(partition / f"{FIRST}.log", 35, struct.pack(">q", NOW_MS + 2500))
    (partition / f"{FIRST}.timeindex").unlink()
    lines = by_timestamp(NOW_MS + 2400)
    assert lines[7] == "7. record      none in this batch will do"
    assert lines[-1].endswith('6  2023-11-14T22:13:23.000Z  key=null  value="maybe"')


def test_old_formats_are_found_too(tmp_path: Path) -> None:
    partition = tmp_path / "old-0"
    new_log(partition).close()
    (partition / f"{FIRST}.log").write_bytes(bytes(legacy(1).view))
    assert by_offset(41, str(partition))[-2:] == [
        "4. batch       up to 41 at byte 0, 37 bytes, not compressed",
        '5. record      41  2023-11-14T22:13:20.000Z  key=null  value="old"',
    ]


@pytest.mark.parametrize(("position", "spoilt"), [(16, b"\x09"), (57, b"\xff\xff\xff\xff")])
def test_a_damaged_log_is_told_with_what_to_do(position: int, spoilt: bytes, partition: Path) -> None:
    spoil(partition / f"{FIRST}.log", position, spoilt)
    told = by_offset(0, status=1)[-2:]
    assert told[0].startswith("the log is damaged: ")
    assert told[1] == "run `ottla log verify orders-0` to see what can be done"


def test_a_record_of_kafkas_own_topics_is_decoded() -> None:
    assert "OffsetCommit" in by_offset(2, str(KAFKA / "__consumer_offsets-0"))[-1]
