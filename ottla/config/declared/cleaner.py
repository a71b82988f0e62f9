"""The log cleaner, which compacts."""

from __future__ import annotations

from ottla.config.checks import at_least, between
from ottla.config.keys import CLUSTER_WIDE, KeySet, boolean, double, integer, long
from ottla.config.values import DAY_MS, DOUBLE_MAX, LONG_MAX


class CleanerKeys(KeySet):
    """The log cleaner, which compacts."""

    log_cleaner_enable = boolean("log.cleaner.enable", True).says(
        "Whether logs are compacted at all; Kafka has deprecated turning it off."
    )

    log_cleaner_threads = integer("log.cleaner.threads", 1, at_least(0), update=CLUSTER_WIDE).says(
        "How many logs are compacted at the same time."
    )

    log_cleaner_io_max_bytes_per_second = double(
        "log.cleaner.io.max.bytes.per.second", DOUBLE_MAX, update=CLUSTER_WIDE
    ).says("How many bytes a second the cleaner may read and write in all.")

    log_cleaner_dedupe_buffer_size = long("log.cleaner.dedupe.buffer.size", 128 << 20, update=CLUSTER_WIDE).says(
        "How much memory the cleaner's maps of keys may take, over all of its threads."
    )

    log_cleaner_io_buffer_size = integer(
        "log.cleaner.io.buffer.size", 512 << 10, at_least(0), update=CLUSTER_WIDE
    ).says("How much memory the cleaner's copying may take, over all of its threads.")

    log_cleaner_io_buffer_load_factor = double("log.cleaner.io.buffer.load.factor", 0.9, update=CLUSTER_WIDE).says(
        "How full the cleaner's map of keys may get before it stops reading further."
    )

    log_cleaner_backoff_ms = long("log.cleaner.backoff.ms", 15_000, at_least(0), update=CLUSTER_WIDE).says(
        "How long the cleaner rests when there was nothing to compact."
    )

    log_cleaner_min_cleanable_ratio = double(
        "log.cleaner.min.cleanable.ratio", 0.5, between(0, 1), update=CLUSTER_WIDE
    ).says("What share of a log has to be uncompacted before it is worth compacting.")

    log_cleaner_delete_retention_ms = long(
        "log.cleaner.delete.retention.ms", DAY_MS, at_least(0), update=CLUSTER_WIDE
    ).says("How long a tombstone stays readable after compaction has reached it.")

    log_cleaner_min_compaction_lag_ms = long(
        "log.cleaner.min.compaction.lag.ms", 0, at_least(0), update=CLUSTER_WIDE
    ).says("How old a record has to be before it may be compacted away.")

    log_cleaner_max_compaction_lag_ms = long(
        "log.cleaner.max.compaction.lag.ms", LONG_MAX, at_least(1), update=CLUSTER_WIDE
    ).says("How old a record may get before its log is compacted in any case.")
