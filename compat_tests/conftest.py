"""What holds for every test beside a real Kafka: the rules of tests/conftest.py, and on which targets scenarios run."""

from __future__ import annotations

import pytest

from tests.conftest import pytest_make_collect_report, pytest_runtest_makereport

__all__ = ["pytest_make_collect_report", "pytest_runtest_makereport"]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("compat")
    group.addoption("--target", help="play scenarios on this target alone; see compat_tests/targets.py")
    group.addoption("--compare", help="compare these two targets, separated by a comma")
