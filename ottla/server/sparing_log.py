"""Lines that strangers can cause are written sparingly: so many a second, and then how many more there were.

Whoever can make a broker write a line for each connection can fill its disk. No clock here.
"""

from __future__ import annotations

import logging

LINES_PER_SECOND_MAX = 20


class SparingLog:
    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._second = 0
        self._count = 0

    def info(self, now: float, message: str, *arguments: object) -> None:
        """Write the line, unless there were many in this second."""
        if int(now) != self._second:
            left_out = self._count - LINES_PER_SECOND_MAX
            if left_out > 0:
                self._log.info("%d more lines like these were left out", left_out)
            self._second, self._count = int(now), 0
        self._count += 1
        if self._count <= LINES_PER_SECOND_MAX:
            self._log.info(message, *arguments)
