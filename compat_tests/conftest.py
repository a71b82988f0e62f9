"""What holds for every test beside a real Kafka: the rules of tests/conftest.py."""

from __future__ import annotations

from tests.conftest import pytest_make_collect_report, pytest_runtest_makereport

__all__ = ["pytest_make_collect_report", "pytest_runtest_makereport"]
