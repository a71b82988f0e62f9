"""How far Spark is with a job, for whoever waits for it inside of a call: tasks that are done, on the status line.

A thread looks, and only where somebody can see the line. It knows nothing of what the job does.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ottla.pipelines.streaming import StatusLine

if TYPE_CHECKING:
    from pyspark import StatusTracker
    from pyspark.sql import SparkSession

LOOK_EVERY_SECONDS = 0.5


@contextmanager
def progress_shown(session: SparkSession, what: str, status: StatusLine) -> Iterator[None]:
    """Tell inside of the block how far it is with `what`; the line stays for the next to write to, unless it failed."""
    status.show(f"{what} ...")
    if not status.is_shown:
        yield
        return
    is_done = threading.Event()
    looking = threading.Thread(target=_look, args=(session, what, status, is_done), name="progress", daemon=True)
    looking.start()
    is_whole = False
    try:
        yield
        is_whole = True
    finally:
        is_done.set()
        looking.join()
        if not is_whole:
            status.erase()


def _look(session: SparkSession, what: str, status: StatusLine, is_done: threading.Event) -> None:
    from py4j.protocol import Py4JError

    tracker = session.sparkContext.statusTracker()
    while not is_done.wait(LOOK_EVERY_SECONDS):
        try:
            status.show(progress_text(what, tracker))
        except (OSError, Py4JError):  # Java is gone, and whoever called it is told so
            return


def progress_text(what: str, tracker: StatusTracker) -> str:
    """The tasks of the stages that run now: Spark does not know more of those that will."""
    stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    task_count = sum(stage.numTasks for stage in stages if stage is not None)
    done_count = sum(stage.numCompletedTasks for stage in stages if stage is not None)
    return f"{what}: {done_count:,} of {task_count:,} tasks" if task_count else f"{what} ..."
