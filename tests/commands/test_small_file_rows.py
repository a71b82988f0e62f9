"""Indexes, snapshots and checkpoints as rows, whole and damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.commands.small_file_rows import BY_NAME, BY_SUFFIX, DAMAGED
from ottla.commands.terminal import Row
from ottla.storage import offset_checkpoint
from ottla.storage.files import OsDisk
from tests.commands.sample_logs import FIRST, NOW_MS, SECOND, content, orders, spoil


def rows(path: Path) -> list[Row]:
    kind = BY_NAME.get(path.name) or BY_SUFFIX[path.suffix]
    return list(kind.rows(OsDisk(), str(path)))


def test_every_small_file_of_a_partition_is_read(tmp_path: Path) -> None:
    partition = orders(tmp_path)
    before = content(partition)
    assert rows(partition / f"{FIRST}.index") == [
        {"type": "entry", "number": 0, "offset": 3, "position": 102},
        {"type": "entry", "number": 1, "offset": 4, "position": 210},
    ]
    assert rows(partition / f"{SECOND}.timeindex") == [
        {"type": "entry", "number": 0, "timestamp": NOW_MS + 4001, "offset": 9}
    ]
    aborted = {"producerId": 7, "firstOffset": 6, "lastOffset": 7, "lastStableOffset": 8}
    assert rows(partition / f"{SECOND}.txnindex") == [{"type": "entry", "number": 0, **aborted}]
    assert rows(partition / "leader-epoch-checkpoint") == [
        {"type": "entry", "epoch": 0, "startOffset": 0},
        {"type": "entry", "epoch": 1, "startOffset": 6},
    ]
    assert rows(partition / "partition.metadata") == [{"type": "entry", "topicId": "AAECAwQFBgcICQoLDA0ODw"}]
    assert [row["lastOffset"] for row in rows(partition / "00000000000000000010.snapshot")] == [6]
    assert content(partition) == before


def test_space_that_is_set_aside_is_counted_and_not_shown(tmp_path: Path) -> None:
    path = orders(tmp_path) / f"{SECOND}.index"
    path.write_bytes(path.read_bytes() + bytes(8 * 100))
    assert [row["type"] for row in rows(path)] == ["entry", "unused"]
    assert rows(path)[-1]["count"] == 100


@pytest.mark.parametrize("name", [f"{SECOND}.index", f"{SECOND}.timeindex", f"{SECOND}.txnindex"])
def test_bytes_that_are_no_entry_are_damage_after_the_entries(name: str, tmp_path: Path) -> None:
    path = orders(tmp_path) / name
    size_bytes = path.stat().st_size
    path.write_bytes(path.read_bytes() + b"\1\2\3")
    assert [row["type"] for row in rows(path)] == ["entry", "damage"]
    assert rows(path)[-1]["position"] == size_bytes
    assert rows(path)[-1]["why"].startswith("3 bytes are no entry of ")


def test_files_that_cannot_be_read_raise_what_is_declared(tmp_path: Path) -> None:
    partition = orders(tmp_path)
    (partition / "quorum-state").write_text("{")
    (partition / "leader-epoch-checkpoint").write_text("9\n")
    (partition / "partition.metadata").write_text("?")
    spoil(partition / f"{SECOND}.snapshot", 10, b"x")
    spoil(partition / f"{SECOND}.txnindex", 0, b"\1")
    names = [
        "quorum-state",
        "leader-epoch-checkpoint",
        "partition.metadata",
        f"{SECOND}.snapshot",
        f"{SECOND}.txnindex",
    ]
    for name in names:
        with pytest.raises(DAMAGED, match=name):
            rows(partition / name)


def test_the_quorum_state_is_shown_by_name(tmp_path: Path) -> None:
    path = tmp_path / "quorum-state"
    path.write_text('{"leaderId":1,"data_version":0}')
    assert [(row["name"], row["value"]) for row in rows(path)] == [("data_version", 0), ("leaderId", 1)]
    path.write_text("[]")
    with pytest.raises(DAMAGED, match="not a JSON object"):
        rows(path)


def test_the_tables_of_a_log_directory_are_shown(tmp_path: Path) -> None:
    name = offset_checkpoint.RECOVERY_POINTS
    offset_checkpoint.write_offsets(OsDisk(), str(tmp_path), name, {("b", 0): 7, ("a", 1): 5})
    shown = [[column.show(row) for column in BY_NAME[name].columns] for row in rows(tmp_path / name)]
    assert shown == [["a", "1", "5"], ["b", "0", "7"]]
