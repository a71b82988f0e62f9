"""What is not committed is told from the files alone, as a broker would tell it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.pipelines import PipelineFailed
from ottla.pipelines.segments_transactions import AbortedRange, aborted_ranges, last_stable_offset
from ottla.storage.producer_state import AppendOrigin
from tests.pipelines.segment_logs import MANY, open_log, the_log, write_log, write_transactions
from tests.storage.batches import append, batch, marker


def test_aborted_transactions_are_those_of_the_index(tmp_path: Path) -> None:
    write_transactions(tmp_path / "t-0")
    log = the_log(tmp_path / "t-0")
    assert aborted_ranges(log, 0, MANY) == [AbortedRange(7, 0, 2)]
    assert aborted_ranges(log, 3, MANY) == []
    assert aborted_ranges(the_log(write_log(tmp_path / "u-0")), 0, MANY) == []


def test_a_marker_may_lie_segments_behind_its_records(tmp_path: Path) -> None:
    log = open_log(tmp_path / "t-0")
    append(log, batch(1, producer_id=7, is_transactional=True))
    for _ in range(30):
        append(log, batch(3))
    append(log, marker(7, is_commit=False), origin=AppendOrigin.COORDINATOR)
    log.close()
    assert len(log.segments) > 2
    assert aborted_ranges(the_log(tmp_path / "t-0"), 0, 1) == [AbortedRange(7, 0, 91)]


@pytest.mark.parametrize("with_snapshots", [True, False])
def test_the_last_stable_offset_is_where_the_first_undecided_transaction_begins(
    tmp_path: Path, *, with_snapshots: bool
) -> None:
    write_transactions(tmp_path / "t-0")
    if not with_snapshots:
        for path in (tmp_path / "t-0").glob("*.snapshot"):
            path.unlink()
    log = the_log(tmp_path / "t-0")
    assert last_stable_offset(log, 10) == 7
    # A marker that is not replicated decides nothing.
    assert [last_stable_offset(log, end) for end in (1, 2, 3, 5, 6, 7, 8)] == [0, 0, 3, 3, 6, 7, 7]


def test_a_damaged_snapshot_is_passed_over(tmp_path: Path) -> None:
    write_transactions(tmp_path / "t-0")
    for path in (tmp_path / "t-0").glob("*.snapshot"):
        path.write_bytes(b"nonsense")
    assert last_stable_offset(the_log(tmp_path / "t-0"), 10) == 7


def test_without_transactions_all_is_stable(tmp_path: Path) -> None:
    assert last_stable_offset(the_log(write_log(tmp_path / "t-0")), 90) == 90
    assert last_stable_offset(the_log(tmp_path / "gone-0"), 5) == 5


def test_a_damaged_transaction_index_is_told(tmp_path: Path) -> None:
    write_transactions(tmp_path / "t-0")
    (path, *_) = (tmp_path / "t-0").glob("*.txnindex")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(PipelineFailed, match="isolation=read_uncommitted reads without it"):
        aborted_ranges(the_log(tmp_path / "t-0"), 0, MANY)
