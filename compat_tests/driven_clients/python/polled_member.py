"""A member whose client belongs to one thread: that thread polls, and in between does what others want done.

It knows no client: what a poll is, and how it is committed and sought, comes from a subclass.
"""

from __future__ import annotations

import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future

# How long one poll may keep others waiting.
POLL_SECONDS = 0.05


class PolledMember(ABC):
    def __init__(self) -> None:
        self._wanted: queue.SimpleQueue[tuple[Callable[[], None], Future[None]]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._has_left = False

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        while not self._has_left:
            self._do_what_is_wanted()
            if not self._has_left and not self.poll():
                # It cannot go on; it is still there to be told to leave.
                self._do(*self._wanted.get())

    def _do_what_is_wanted(self) -> None:
        while not self._wanted.empty():
            self._do(*self._wanted.get())

    @staticmethod
    def _do(work: Callable[[], None], done: Future[None]) -> None:
        try:
            work()
        except Exception as error:
            done.set_exception(error)
        else:
            done.set_result(None)

    @abstractmethod
    def poll(self) -> bool:
        """Tell what came within POLL_SECONDS; false where the client has given up for good."""

    @abstractmethod
    def close(self) -> None: ...

    def between_polls(self, work: Callable[[], None]) -> None:
        done: Future[None] = Future()
        self._wanted.put((work, done))
        done.result()

    def leave(self) -> None:
        def leave() -> None:
            self._has_left = True
            self.close()

        self.between_polls(leave)
        self._thread.join()
