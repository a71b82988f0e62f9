"""A job tells how far it is where somebody sees it, and costs nothing elsewhere."""

from __future__ import annotations

import io
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from ottla.pipelines import job_progress
from ottla.pipelines.job_progress import progress_shown, progress_text
from ottla.pipelines.streaming import StatusLine

GUARD_SECONDS = 60


class ATerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Tracker:
    """Of a session whose stages are these; it is its own context. `asked` is set when it was asked."""

    def __init__(self, *stages: tuple[int, int] | None, failure: Exception | None = None) -> None:
        self.stages = stages
        self.failure = failure
        self.asked = threading.Event()
        self.sparkContext = self

    def statusTracker(self) -> Tracker:
        return self

    def getActiveStageIds(self) -> list[int]:
        if self.failure is not None:
            self.asked.set()
            raise self.failure
        return list(range(len(self.stages)))

    def getStageInfo(self, number: int) -> Any:
        stage = self.stages[number]
        if number + 1 == len(self.stages):
            self.asked.set()
        return None if stage is None else SimpleNamespace(numCompletedTasks=stage[0], numTasks=stage[1])


def test_the_tasks_of_all_stages_are_added_up() -> None:
    tracker: Any = Tracker((3, 4), None, (0, 1200))
    assert progress_text("comparing", tracker) == "comparing: 3 of 1,204 tasks"
    nothing: Any = Tracker()
    assert progress_text("comparing", nothing) == "comparing ..."


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_progress, "LOOK_EVERY_SECONDS", 0.001)


@pytest.mark.usefixtures("soon")
def test_the_line_is_written_while_the_block_lasts() -> None:
    terminal, session = ATerminal(), Tracker((1, 2))
    status = StatusLine(terminal)
    with progress_shown(session, "comparing", status):  # type: ignore[arg-type]
        assert session.asked.wait(GUARD_SECONDS)
    status.erase()
    assert terminal.getvalue() == "\r\033[Kcomparing ...\r\033[Kcomparing: 1 of 2 tasks\r\033[K"


@pytest.mark.usefixtures("soon")
def test_a_java_that_is_gone_is_not_told_twice() -> None:
    terminal, session = ATerminal(), Tracker(failure=ConnectionRefusedError())

    def fails() -> None:
        assert session.asked.wait(GUARD_SECONDS)
        raise ZeroDivisionError

    with (
        pytest.raises(ZeroDivisionError),
        progress_shown(session, "comparing", StatusLine(terminal)),  # type: ignore[arg-type]
    ):
        fails()
    assert terminal.getvalue() == "\r\033[Kcomparing ...\r\033[K", "what is told of it has the line for itself"


def test_where_nobody_looks_nobody_is_asked() -> None:
    stream, session = io.StringIO(), Tracker((1, 2))
    with progress_shown(session, "comparing", StatusLine(stream)):  # type: ignore[arg-type]
        assert "progress" not in {one.name for one in threading.enumerate()}
    assert (stream.getvalue(), session.asked.is_set()) == ("", False)
