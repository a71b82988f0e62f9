"""Indexes that lie are found, entry by entry."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from ottla.commands import index_checks
from ottla.commands.findings import Finding
from ottla.commands.log_verify import Verification
from ottla.commands.partition_files import look_at
from ottla.storage.files import OsDisk
from tests.commands.sample_logs import FIRST, KAFKA, NOW_MS, SECOND, orders, spoil


def found(partition: Path) -> list[Finding]:
    files = look_at(OsDisk(), str(partition))
    return Verification(OsDisk(), files, with_records=False, reached=lambda done: None).run().found


def told(partition: Path) -> list[tuple[str, int | None, str]]:
    return [(Path(finding.path).name, finding.position, finding.what) for finding in found(partition)]


def test_true_indexes_pass(tmp_path: Path) -> None:
    assert told(orders(tmp_path)) == []
    assert told(KAFKA / "orders-0") == []


@pytest.mark.parametrize(
    ("position", "entry", "what"),
    [
        (8, (4, 211), "entry 1 says that offset 4 is at byte 211, where no batch begins"),
        (0, (1, 102), "entry 0 says that offset 1 is at byte 102, where offset 2 begins"),
        (8, (5, 5000), "entry 1 says that a batch is at byte 5000, but the log ends at 361"),
        (8, (3, 210), "entry 1 (3, 210) does not come after entry 0, (3, 102)"),
    ],
)
def test_entries_of_the_offset_index_must_lead_to_their_batches(
    position: int, entry: tuple[int, int], what: str, tmp_path: Path
) -> None:
    partition = orders(tmp_path)
    spoil(partition / f"{FIRST}.index", position, struct.pack(">ii", *entry))
    assert told(partition) == [(f"{FIRST}.index", position, what)]


def test_an_entry_of_several_batches_appended_together_is_fine(tmp_path: Path) -> None:
    # Brokers before 4.1 noted the last offset of all batches of one append, and where the first of them begins.
    partition = orders(tmp_path)
    (partition / f"{FIRST}.index").write_bytes(struct.pack(">ii", 5, 102))
    assert told(partition) == []


@pytest.mark.parametrize(
    ("position", "entry", "what"),
    [
        (
            0,
            (NOW_MS + 5, 3),
            "entry 0 says 2023-11-14T22:13:20.005Z of offset 3, whose batch has 2023-11-14T22:13:21.001Z",
        ),
        (12, (NOW_MS + 2000, 99), "entry 1 names offset 99, where the segment has no batch"),
        (12, (NOW_MS, 4), f"entry 1 ({NOW_MS}, 4) does not come after entry 0, ({NOW_MS + 1001}, 3)"),
    ],
)
def test_entries_of_the_time_index_must_be_true(
    position: int, entry: tuple[int, int], what: str, tmp_path: Path
) -> None:
    partition = orders(tmp_path)
    spoil(partition / f"{FIRST}.timeindex", position, struct.pack(">qi", *entry))
    assert told(partition) == [(f"{FIRST}.timeindex", position, what)]


def test_nothing_before_an_entry_of_the_time_index_may_be_later(tmp_path: Path) -> None:
    partition = orders(tmp_path)
    # The batch of offset 4 gets a time before that of offsets 2 and 3, and the index says so.
    log = partition / f"{FIRST}.log"
    data = bytearray(log.read_bytes())
    struct.pack_into(">q", data, 210 + 35, NOW_MS + 1000)
    log.write_bytes(data)
    (partition / f"{FIRST}.timeindex").write_bytes(struct.pack(">qi", NOW_MS + 1000, 4))
    what = (
        "entry 0 says that nothing up to offset 4 is later than 2023-11-14T22:13:21.000Z, "
        "but there is 2023-11-14T22:13:21.001Z"
    )
    assert (f"{FIRST}.timeindex", 0, what) in told(partition)


@pytest.mark.parametrize("kept_bytes", [0, 12])
def test_a_full_segment_has_its_largest_timestamp_in_the_time_index(kept_bytes: int, tmp_path: Path) -> None:
    partition = orders(tmp_path)
    path = partition / f"{FIRST}.timeindex"
    path.write_bytes(path.read_bytes()[:kept_bytes])
    what = "the largest timestamp of the segment, 2023-11-14T22:13:22.000Z, is missing"
    assert told(partition) == [(f"{FIRST}.timeindex", kept_bytes, what)]
    # The segment that is appended to gets its last entry when it is full.
    path.write_bytes(struct.pack(">qiqi", NOW_MS + 1001, 3, NOW_MS + 2000, 4))
    (partition / f"{SECOND}.timeindex").write_bytes(b"")
    assert told(partition) == []


def test_missing_indexes_are_named(tmp_path: Path) -> None:
    partition = orders(tmp_path)
    (partition / f"{FIRST}.index").unlink()
    (partition / f"{FIRST}.timeindex").unlink()
    assert told(partition) == [
        (f"{FIRST}.index", None, "the file is missing"),
        (f"{FIRST}.timeindex", None, "the file is missing"),
    ]


def test_space_set_aside_is_fine_in_the_last_segment_only(tmp_path: Path) -> None:
    partition = orders(tmp_path)
    for stem in (FIRST, SECOND):
        path = partition / f"{stem}.index"
        path.write_bytes(path.read_bytes() + bytes(80))
    damage, note = found(partition)
    assert (damage.position, damage.what) == (16, "zeros where the index of a full segment should end")
    assert (note.is_damage, note.what) == (False, "10 entries set aside and not used")


def test_odd_bytes_are_damage(tmp_path: Path) -> None:
    partition = orders(tmp_path)
    path = partition / f"{SECOND}.timeindex"
    path.write_bytes(path.read_bytes() + b"\1")
    assert told(partition) == [(f"{SECOND}.timeindex", 12, "1 bytes are no entry of 12")]


def test_an_index_that_ends_early_is_worth_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_checks, "UNINDEXED_BYTES_MAX", 200)
    partition = orders(tmp_path)
    (partition / f"{FIRST}.index").write_bytes(b"")
    (note,) = found(partition)
    assert (note.is_damage, note.what) == (False, "no entry for the last 361 bytes: reading there is slow")
