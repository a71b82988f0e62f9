"""What is in a partition's directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.commands import UsageError
from ottla.commands.partition_files import look_at
from ottla.storage.files import OsDisk
from tests.commands.sample_logs import FIRST, SECOND, orders


def test_segments_come_in_order_with_the_files_they_have(tmp_path: Path) -> None:
    files = look_at(OsDisk(), str(orders(tmp_path)))
    assert (files.topic, [segment.base_offset for segment in files.segments]) == ("orders", [0, 6])
    assert sorted(files.segments[1].sizes) == [".index", ".log", ".timeindex", ".txnindex"]
    assert files.segments[1].path(".log").endswith(f"orders-0/{SECOND}.log")
    assert files.size_bytes == sum(segment.size_bytes for segment in files.segments)
    assert files.snapshot_offsets == [6, 10]
    assert files.leftovers == []


def test_what_does_not_belong_there_is_named(tmp_path: Path) -> None:
    partition = orders(tmp_path)
    for name in (f"{FIRST}.log.deleted", f"{FIRST}.log.cleaned", f"{FIRST}.index.swap", "x.tmp", "notes.txt"):
        (partition / name).touch()
    (partition / "00000000000000000099.timeindex").touch()
    (partition / "00000000000000000010-0000000001.checkpoint").touch()
    (partition / "quorum-state").touch()
    (partition / "inside").mkdir()
    leftovers = {leftover.name: leftover.what for leftover in look_at(OsDisk(), str(partition)).leftovers}
    assert sorted(leftovers) == [
        f"{FIRST}.index.swap",
        f"{FIRST}.log.cleaned",
        f"{FIRST}.log.deleted",
        "00000000000000000099.timeindex",
        "inside",
        "notes.txt",
        "x.tmp",
    ]
    assert "without its log" in leftovers["00000000000000000099.timeindex"]
    assert "finishes it" in leftovers[f"{FIRST}.index.swap"]
    assert "no file of Kafka's" in leftovers["notes.txt"]


def test_a_directory_of_any_name_can_be_looked_at(tmp_path: Path) -> None:
    renamed = orders(tmp_path).rename(tmp_path / "copy")
    assert look_at(OsDisk(), str(renamed)).topic is None


def test_what_is_no_partition_is_told_with_what_to_name_instead(tmp_path: Path) -> None:
    partition = orders(tmp_path)
    assert (
        usage_error(tmp_path) == f"{tmp_path} is a broker's log directory; name a partition in it, such as {partition}"
    )
    assert usage_error(tmp_path / "nothing") == f"{tmp_path}/nothing does not exist"
    assert "is a file; name the partition's directory" in usage_error(partition / f"{FIRST}.log")
    (tmp_path / "fresh").mkdir()
    assert "holds no segment" in usage_error(tmp_path / "fresh")
    (tmp_path / "fresh" / "meta.properties").touch()
    assert "of which there is none yet" in usage_error(tmp_path / "fresh")


def usage_error(path: Path) -> str:
    with pytest.raises(UsageError) as told:
        look_at(OsDisk(), str(path))
    return str(told.value)
