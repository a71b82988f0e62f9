"""A job and what comes of it can be sent to another process."""

from __future__ import annotations

import pickle

from ottla.storage.cleaner.job import CleanedGroup, CleaningJob, CleaningResult, LastRecord, file_path
from ottla.storage.cleaner.plan import SegmentFacts
from ottla.storage.log_config import LogConfig
from ottla.storage.transaction_index import AbortedTransaction


def test_a_job_and_its_results_survive_pickling() -> None:
    job = CleaningJob(
        directory="d",
        config=LogConfig(compact=True),
        segments=(SegmentFacts(0, 10),),
        first_dirty_offset=0,
        first_uncleanable_offset=5,
        now_ms=7,
        aborted=(AbortedTransaction(1, 2, 3, 4),),
        last_records={1: LastRecord(None, 0)},
    )
    group = CleanedGroup(0, (0, 5), 100, 8, 12, 9)
    result = CleaningResult(5, 10, 9, 100, 90, 1, 0.5)
    for value in (job, group, result):
        assert pickle.loads(pickle.dumps(value)) == value


def test_the_files_of_a_segment_have_kafkas_names() -> None:
    assert file_path("dir", 42, ".log.cleaned") == "dir/00000000000000000042.log.cleaned"
