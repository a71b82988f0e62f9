"""What holds for every test: the hypothesis profiles, that nothing is skipped in CI, and what is told at the end.

The default profile draws the same examples in every run. `fast` draws few, for the inner loop; `soak` draws many and
anew, prints how to reproduce a failure, and takes its seed from --hypothesis-seed.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Generator, Mapping

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


@pytest.fixture
def counted(record_property: Callable[[str, object], None]) -> Callable[[str, Mapping[str, float]], None]:
    """For tests that count what happened in them: called with what was counted, and how often each thing happened. The
    sums over all tests are printed at the end of the run."""
    return lambda what, counts: record_property("counted", (what, dict(counts)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    sums: dict[str, Counter[str]] = {}
    for report in terminalreporter.stats.get("passed", []):
        for name, value in getattr(report, "user_properties", []):
            if name == "counted":
                what, counts = value
                sums.setdefault(what, Counter()).update(counts)
    for what, counts in sums.items():
        shown = ", ".join(f"{name} {count:,g}" for name, count in sorted(counts.items()))
        terminalreporter.write_line(f"{what}: {shown}")
