"""Snapshot files: header, records, footer; both ways, and what is refused."""

from __future__ import annotations

import pytest

from ottla.cluster.image import snapshot_file
from ottla.cluster.image.snapshot_file import SnapshotId, read_snapshot, snapshot_batches
from ottla.cluster.metadata_log import MetadataLogError
from ottla.wire.records import iter_batches
from ottla.wire.schema import StoredRecord
from ottla.wire.stored.control_records import VotersRecord
from tests.cluster.metadata_samples import metadata_log

VOTERS = VotersRecord(version=0, voters=[])


def file_of(records: list[StoredRecord], voters: VotersRecord | None = None) -> list[bytes]:
    return list(snapshot_batches(records, timestamp=5, last_contained_log_timestamp=4, leader_epoch=2, voters=voters))


def test_a_file_name_says_what_the_snapshot_covers() -> None:
    assert SnapshotId(12, 3).file_name == "00000000000000000012-0000000003.checkpoint"
    assert SnapshotId.parse("00000000000000000012-0000000003.checkpoint") == SnapshotId(12, 3)
    assert SnapshotId.parse("00000000000000000012-0000000003.checkpoint.part") is None


def test_a_snapshot_comes_back_from_its_file() -> None:
    log = metadata_log(5)
    snapshot = read_snapshot(b"".join(file_of(log, VOTERS)))
    assert snapshot == (4, 1, VOTERS, log)
    assert read_snapshot(b"".join(file_of(log))) == (4, 0, None, log)


def test_offsets_count_from_0_through_the_file() -> None:
    batches = [batch for data in file_of(metadata_log(5), VOTERS) for batch in iter_batches(data)]
    assert [batch.base_offset for batch in batches] == [0, 3, 63]
    assert {batch.leader_epoch for batch in batches} == {2}


def test_many_records_take_several_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_file, "BATCH_BYTES_MAX", 1000)
    log = metadata_log(6, 200)
    parts = file_of(log)
    assert len(parts) > 4
    assert all(len(part) < 1000 for part in parts)
    monkeypatch.undo()
    assert read_snapshot(b"".join(parts)).records == log


@pytest.mark.parametrize(
    ("choose", "reason"),
    [
        (lambda parts: parts[:-1], "without SNAPSHOT_FOOTER"),
        (lambda parts: parts[1:], "without SNAPSHOT_HEADER"),
        (lambda parts: [], "without SNAPSHOT_FOOTER, SNAPSHOT_HEADER"),
        (lambda parts: [*parts[:-1], parts[-1][:-1]], "cannot be read"),
        (lambda parts: [parts[0], parts[1][:-1] + b"?", parts[2]], "fails its CRC"),
    ],
)
def test_a_file_that_is_not_whole_is_refused(choose: object, reason: str) -> None:
    with pytest.raises(MetadataLogError, match=reason):
        read_snapshot(b"".join(choose(file_of(metadata_log(5)))))  # type: ignore[operator]
