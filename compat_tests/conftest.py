"""What holds for every test beside a real Kafka: the rules of tests/conftest.py, and what its clients warn of."""

from __future__ import annotations

import pytest

from tests.conftest import pytest_make_collect_report, pytest_runtest_makereport

__all__ = ["pytest_configure", "pytest_make_collect_report", "pytest_runtest_makereport"]


def pytest_configure(config: pytest.Config) -> None:
    # kafka-python reads its schemas in a way that Python deprecates.
    config.addinivalue_line("filterwarnings", "ignore:(open|read)_text is deprecated:DeprecationWarning")
