"""A log's history of leader epochs, in the words of the rules about diverging logs."""

from __future__ import annotations

from ottla.cluster.log_divergence import EpochEnd
from ottla.storage.log import Log


class LogEpochs:
    def __init__(self, log: Log) -> None:
        self._log = log

    def end_of(self, epoch: int) -> EpochEnd:
        found = self._log.epochs.end_offset_for(epoch, self._log.end_offset)
        return EpochEnd(found.epoch, found.start_offset)
