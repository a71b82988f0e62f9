"""Tells the owner of a node how far the recovery of its logs has come, when that takes long."""

from __future__ import annotations

import logging
from collections.abc import Callable

from ottla.storage.directory_loading import LoadProgress

log = logging.getLogger(__name__)

REPORT_SECONDS = 1.0


class LoadReport:
    """A line a second at most."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._told_at = clock()

    def __call__(self, progress: LoadProgress) -> None:
        now = self._clock()
        recovery = progress.recovery
        if recovery is None or now - self._told_at < REPORT_SECONDS:
            return
        self._told_at = now
        log.info(
            "recovering %s, log %d of %d: segment %d of %d, %d of %d MB",
            recovery.directory,
            progress.log_number,
            progress.log_count,
            recovery.segment_number,
            recovery.segment_count,
            recovery.bytes_done >> 20,
            recovery.bytes_count >> 20,
        )
