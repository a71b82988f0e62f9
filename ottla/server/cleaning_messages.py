"""What a broker and the process that cleans for it say to each other, and how a rewrite may fail. Plain values."""

from __future__ import annotations

from typing import NamedTuple

from ottla.storage.cleaner.job import CleanedGroup, CleaningJob, CleaningResult


class Order(NamedTuple):
    """What the broker wants: the job, and how many bytes a second it may read and write (None: as many as it can)."""

    job: CleaningJob
    bytes_per_second: float | None


class Failure(NamedTuple):
    """Why a rewrite came to nothing. `errno` is set if the disk refused something."""

    reason: str
    errno: int | None = None


Message = Order | CleanedGroup | CleaningResult | Failure


class CleaningFailed(Exception):
    """The rewrite came to nothing, and would again."""


class CannotStart(Exception):
    """The system lets no further process begin: not the log's fault."""
