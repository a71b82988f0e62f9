"""The runner of the gate: what it counts, what it reports, and that it leaves nothing out in silence."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

PATH = Path(__file__).resolve().parent.parent / "tools" / "run_parts.py"


@pytest.fixture(scope="module")
def run_parts() -> ModuleType:
    """The runner is a script beside the package, so it is loaded by its path."""
    spec = importlib.util.spec_from_file_location("run_parts", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["run_parts"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("last_line", "status", "expected"),
    [
        ("12 passed in 0.05s\n", 0, (12, 0)),
        ("=== 1 failed, 3 passed, 2 deselected, 1 error in 61.20s (0:01:01) ===\n", 1, (3, 2)),
        ("12 passed in 0.05s\n", 2, (12, 1)),
        ("5 deselected in 0.05s\n", 5, (0, 1)),
        ("All checks passed!\n", 0, (1, 0)),
        ("Found 3 errors.\n", 1, (0, 1)),
    ],
)
def test_counts_come_from_the_summary_and_the_exit_status(
    run_parts: ModuleType, last_line: str, status: int, expected: tuple[int, int]
) -> None:
    assert run_parts.counted(["something before\n", last_line], status) == expected


def test_a_part_without_its_tools_is_named_and_fails_only_in_ci(run_parts: ModuleType) -> None:
    part = run_parts.Part("compat", 1, ((sys.executable, "-c", "raise SystemExit('it ran')"),), needs=("java", "mvn"))
    for ci, failed in ((False, 0), (True, 1)):
        outcome = run_parts.run(part, ci=ci, which=lambda name: None if name == "mvn" else name)
        assert (outcome.passed, outcome.failed, outcome.missing) == (0, failed, ("mvn",))
        report = run_parts.report([outcome], ci=ci)
        assert "not run: compat, for want of mvn" in report
        assert report.endswith(f"\n0 passed, {failed} failed")


def test_every_command_of_a_part_runs_even_after_a_failure(
    run_parts: ModuleType, capfd: pytest.CaptureFixture[str]
) -> None:
    failing, passing = (sys.executable, "-c", "raise SystemExit(3)"), (sys.executable, "-c", "print('second')")
    outcome = run_parts.run(run_parts.Part("two", 1, (failing, passing)), ci=True)
    assert (outcome.passed, outcome.failed) == (1, 1)
    assert "second" in capfd.readouterr().out


def test_a_command_that_does_not_end_is_stopped_and_fails(run_parts: ModuleType) -> None:
    waiting = (sys.executable, "-c", "import signal; signal.pause()")
    assert run_parts.run_command(waiting, 0.2) == (0, 1)


def test_an_unknown_set_of_parts_is_refused(run_parts: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_parts.main(["everything"]) == 2
    assert "gate" in capsys.readouterr().err


def test_the_gate_fits_in_an_hour(run_parts: ModuleType) -> None:
    assert sum(part.budget_minutes for part in run_parts.PARTS["gate"]) <= 60
