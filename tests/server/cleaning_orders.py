"""A log on the disk that could be cleaned, and the order to do so: what a process that cleans is given."""

from __future__ import annotations

from pathlib import Path

from ottla.server.cleaning_messages import Order
from ottla.storage import log_cleaning
from ottla.storage.files import OsDisk
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.log_loading import open_log
from ottla.storage.open_files import OpenFiles
from ottla.wire.records import BatchBuilder

NOW_MS = 1_700_000_000_000
CONFIG = LogConfig(compact=True, delete=False, segment_bytes=400)


def dirty_log(directory: Path, record_count: int = 30) -> Log:
    """Three keys, one record a batch, four batches a segment."""
    directory.mkdir()
    log = open_log(OsDisk(), OpenFiles(), str(directory), CONFIG, was_clean=True, now_ms=NOW_MS)
    for number in range(record_count):
        builder = BatchBuilder()
        builder.append(b"key %d" % (number % 3), b"value %d" % number, timestamp=NOW_MS)
        log.append(builder.build(), leader_epoch=0, now_ms=NOW_MS)
    log.advance_high_watermark(log.end_offset)
    log.flush()
    return log


def order_for(log: Log, bytes_per_second: float | None = None) -> Order:
    planned = log_cleaning.plan(log, None, NOW_MS)
    return Order(log_cleaning.job(log, planned, NOW_MS, key_map_bytes=1 << 16), bytes_per_second)


def cleaned_files(log: Log) -> list[str]:
    return sorted(path.name for path in Path(log.directory).glob("*.cleaned"))
