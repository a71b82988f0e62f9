"""A long recovery is told now and then."""

from __future__ import annotations

import pytest

from ottla.server.load_report import LoadReport
from ottla.storage.directory_loading import LoadProgress
from ottla.storage.log_loading import Progress


def test_a_long_recovery_is_told_once_a_second(caplog: pytest.LogCaptureFixture) -> None:
    times = iter([0.0, 0.5, 1.5, 1.6, 3.0])
    report = LoadReport(lambda: next(times))
    progress = LoadProgress("data", 2, 9, Progress("data/t-0", 3, 4, 5 << 20, 6 << 20))
    with caplog.at_level("INFO"):
        for one in (progress, progress, progress, progress._replace(recovery=None)):
            report(one)
    assert [record.getMessage() for record in caplog.records] == [
        "recovering data/t-0, log 2 of 9: segment 3 of 4, 5 of 6 MB"
    ]
