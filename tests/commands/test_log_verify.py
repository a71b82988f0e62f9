"""`ottla log verify`: golden text, every kind of damage, and that nothing is ever written."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import pytest

from ottla.commands.disks import ReadOnlyDisk
from ottla.commands.log_verify import verify
from ottla.storage.files import OsDisk
from ottla.wire.records import BatchBuilder
from tests.commands.sample_logs import FIRST, KAFKA, NOW_MS, SECOND, Tty, content, new_log, orders, plain, spoil
from tests.commands.test_index_checks import found, told


@pytest.fixture
def partition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    orders(tmp_path)
    return Path("orders-0")


def verified(*directories: str, status: int, with_records: bool = False) -> str:
    terminal, stream = plain()
    disk = ReadOnlyDisk(OsDisk())
    assert verify(disk, directories, terminal, io.StringIO(), with_records=with_records) == status
    return stream.getvalue()


def test_a_sound_partition_is_fine(partition: Path) -> None:
    before = content(partition)
    assert verified("orders-0", status=0, with_records=True) == (
        "orders-0: 2 segments, 599 bytes, 7 batches, 10 records, offsets 0 up to 10\norders-0: fine\n"
    )
    assert content(partition) == before


def test_what_kafka_wrote_is_fine() -> None:
    directories = [str(path) for path in sorted(KAFKA.iterdir()) if path.is_dir()]
    text = verified(*directories, status=0, with_records=True)
    assert text.count(": fine\n") == len(directories) == 4
    assert "damage" not in text
    assert "note" not in text


def test_damage_is_told_with_file_byte_and_what_to_do(partition: Path) -> None:
    spoil(partition / f"{FIRST}.log", 100, b"!")
    (partition / f"{SECOND}.index").write_bytes(struct.pack(">ii", 3, 70))
    (partition / "notes.txt").touch()
    before = content(partition)
    assert (
        verified("orders-0", status=1)
        == f"""\
orders-0: 2 segments, 599 bytes, 7 batches, 8 records, offsets 0 up to 10
  damage  orders-0/{FIRST}.log, byte 0: the batch of offsets 0 to 1 fails its CRC
          to do: if the partition has other replicas, stop this broker, remove the partition's directory and start it \
again: it fetches all from the leader; else `ottla log dump --records` shows what can still be read
  damage  orders-0/{SECOND}.index, byte 0: entry 0 says that offset 9 is at byte 70, where no batch begins
          to do: stop the broker and run `ottla log rebuild-index` on the directory; the records are not affected
  note    orders-0/notes.txt: no file of Kafka's; the broker leaves it alone
orders-0: damaged, 2 findings
"""
    )
    assert content(partition) == before


def test_many_findings_alike_are_counted(partition: Path) -> None:
    (partition / f"{SECOND}.index").write_bytes(b"".join(struct.pack(">ii", n, 10 + n) for n in range(9)))
    text = verified("orders-0", status=1)
    assert "          and 6 more like these\n" in text
    assert text.endswith("orders-0: damaged, 9 findings\n")


def test_progress_is_shown_on_a_terminal(partition: Path) -> None:
    terminal, _ = plain()
    stream = Tty()
    assert verify(OsDisk(), ["orders-0"], terminal, stream) == 0
    assert "\rverifying orders-0:  60 %" in stream.getvalue()
    assert stream.getvalue().endswith("100 %\r\033[K")


def test_a_torn_end_is_usual_in_the_last_segment_and_damage_elsewhere(partition: Path) -> None:
    for stem in (FIRST, SECOND):
        with (partition / f"{stem}.log").open("ab") as file:
            file.write(b"torn")
    first, second = found(partition)
    assert (first.position, second.position) == (361, 238)
    assert "remove the partition's directory" in first.remedy
    assert "cuts the log there" in second.remedy
    assert first.what == "a batch of at least 17 bytes begins, but only 4 are left"


def test_what_lies_behind_an_unreadable_batch_is_not_judged(partition: Path) -> None:
    spoil(partition / f"{FIRST}.log", 102 + 16, b"\x09")
    assert [name for name, _, _ in told(partition)] == [f"{FIRST}.log"]


def test_offsets_that_go_back_are_damage(partition: Path) -> None:
    spoil(partition / f"{FIRST}.log", 210, struct.pack(">q", 1))
    assert (f"{FIRST}.log", 210, "offset 1 where 4 or a later one should be") in told(partition)


def test_offsets_that_an_index_cannot_hold_are_damage(partition: Path) -> None:
    spoil(partition / f"{SECOND}.log", 151, struct.pack(">q", 2**31 + 6))
    what = f"offset {2**31 + 7} is too far from the segment's first, 6"
    assert (f"{SECOND}.log", 151, what) in told(partition)


def test_segments_that_overlap_are_damage(partition: Path) -> None:
    for path in list(partition.glob(f"{SECOND}.*")):
        path.rename(partition / f"00000000000000000004{path.suffix}")
    what = "the segment begins at offset 4, the one before it ends at 6"
    assert ("00000000000000000004.log", 0, what) in told(partition)


def test_damaged_small_files_are_found(partition: Path) -> None:
    (partition / "partition.metadata").write_text("version: 0\n")
    spoil(partition / f"{SECOND}.snapshot", 20, b"!")
    (partition / "00000000000000000003.snapshot").write_bytes(
        (partition / "00000000000000000010.snapshot").read_bytes()
    )
    assert [(name, what) for name, _, what in told(partition)] == [
        ("partition.metadata", "b'version: 0\\n' is not a version and a topic id"),
        ("00000000000000000003.snapshot", "belongs to no segment; the broker removes it"),
        (f"{SECOND}.snapshot", "the CRC does not fit"),
    ]


def test_a_directory_without_a_topic_id_is_noted(partition: Path) -> None:
    (partition / "partition.metadata").unlink()
    (note,) = found(partition)
    assert not note.is_damage


def test_records_are_unpacked_only_if_that_is_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    partition = Path("bad-0")
    new_log(partition).close()
    builder = BatchBuilder(leader_epoch=-1)
    builder.append(b"k", b"v", timestamp=NOW_MS)
    builder.count = 2  # of which one is missing: a producer's mistake, under a CRC that is right
    (partition / f"{FIRST}.log").write_bytes(builder.build())
    assert "fine" in verified("bad-0", status=0)
    text = verified("bad-0", status=1, with_records=True)
    assert "byte 0: the CRC is right, but the records cannot be read: " in text


def test_messages_of_old_formats_are_verified(tmp_path: Path) -> None:
    from tests.commands.test_batch_rows import legacy

    partition = tmp_path / "old-0"
    new_log(partition).close()
    (partition / f"{FIRST}.log").write_bytes(bytes(legacy(1).view))
    text = verified(str(partition), status=0, with_records=True)
    assert "1 batch, 1 record, offsets 0 up to 42" in text
