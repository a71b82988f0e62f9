"""What Spark counts is asked of a real one in compat_tests/pipelines/test_stats.py; here, what needs none."""

from __future__ import annotations

from typing import Any

from ottla.pipelines.stats_frames import QUANTILES, key_rows
from tests.pipelines.counted_rows import counted


def test_no_keys_are_counted_where_none_are_asked_for() -> None:
    nothing: Any = None
    assert key_rows(nothing, 0) == []


def test_there_are_as_many_quantiles_as_reports_show() -> None:
    assert len(QUANTILES) == len(counted(1)["sizes"]) == 2
