"""What holds for every test: the hypothesis profiles, and that nothing is skipped in CI.

The default profile draws the same examples in every run. `fast` draws few, for the inner loop; `soak` draws many and
anew, prints how to reproduce a failure, and takes its seed from --hypothesis-seed.
"""

from __future__ import annotations

import os
from collections.abc import Generator

import hypothesis
import pytest

hypothesis.settings.register_profile("gate", derandomize=True, deadline=None, print_blob=True, database=None)
hypothesis.settings.register_profile("fast", parent=hypothesis.settings.get_profile("gate"), max_examples=10)
hypothesis.settings.register_profile("soak", deadline=None, print_blob=True, database=None, max_examples=2000)
hypothesis.settings.load_profile("gate")

IN_CI = os.environ.get("CI") == "true"


def as_failure(report: pytest.TestReport | pytest.CollectReport) -> None:
    """A test that does not run proves nothing: in CI a skip is a failure. An expected failure is none."""
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI: {report.longrepr}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    as_failure(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    as_failure(report)
    return report
