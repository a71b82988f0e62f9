"""Logs on disk: where they are, and when segments are closed, flushed and deleted."""

from __future__ import annotations

from ottla.config.checks import at_least, listed, one_of
from ottla.config.keys import CLUSTER_WIDE, HIGH, LOW, PER_BROKER, KeySet, boolean, integer, long, string, strings
from ottla.config.values import HOUR_MS, LONG_MAX


class LogKeys(KeySet):
    """Logs on disk: where they are, and when segments are closed, flushed and deleted."""

    log_dir = strings("log.dir", ("ottla-logs",), listed(empty=False), importance=HIGH).says(
        "The directory for logs where log.dirs is not set."
    )

    log_dirs = strings("log.dirs", None, listed(empty=False, null=True), importance=HIGH).says(
        "The directories for logs; each new partition goes to the one that holds the fewest."
    )

    cordoned_log_dirs = strings("cordoned.log.dirs", (), listed(null=True), update=PER_BROKER).says(
        "Log directories that get no new partitions, or * for all of them (KIP-1066)."
    )

    log_segment_bytes = integer(
        "log.segment.bytes", 1 << 30, at_least(1 << 20), importance=HIGH, update=CLUSTER_WIDE
    ).says("A segment that would outgrow this size is closed and a new one begun.")

    log_roll_ms = long("log.roll.ms", None, importance=HIGH, update=CLUSTER_WIDE).says(
        "The age at which a segment is closed even though it is not full; where it is not set, log.roll.hours counts."
    )

    log_roll_hours = integer("log.roll.hours", 168, at_least(1), importance=HIGH).says(
        "The age in hours at which a segment is closed; log.roll.ms comes before it."
    )

    log_roll_jitter_ms = long("log.roll.jitter.ms", None, importance=HIGH, update=CLUSTER_WIDE).says(
        "Up to this much, at random, is taken from the age at which a segment is closed, so that not all are "
        "closed at once."
    )

    log_roll_jitter_hours = integer("log.roll.jitter.hours", 0, at_least(0), importance=HIGH).says(
        "The same in hours; log.roll.jitter.ms comes before it."
    )

    log_retention_ms = long("log.retention.ms", None, importance=HIGH, update=CLUSTER_WIDE).says(
        "How long records are kept, -1 for ever; where it is not set, log.retention.minutes counts."
    )

    log_retention_minutes = integer("log.retention.minutes", None, importance=HIGH).says(
        "How many minutes records are kept; log.retention.ms comes before it, log.retention.hours after it."
    )

    log_retention_hours = integer("log.retention.hours", 168, importance=HIGH).says(
        "How many hours records are kept; log.retention.ms and log.retention.minutes come before it."
    )

    log_retention_bytes = long("log.retention.bytes", -1, importance=HIGH, update=CLUSTER_WIDE).says(
        "How large the log of one partition may grow before its oldest segments go; -1 sets no limit."
    )

    log_retention_check_interval_ms = long("log.retention.check.interval.ms", 300_000, at_least(1)).says(
        "How often logs are searched for segments to delete."
    )

    log_cleanup_policy = strings(
        "log.cleanup.policy", ("delete",), listed("compact", "delete"), update=CLUSTER_WIDE
    ).says(
        "What becomes of old records: delete drops them by age and size, compact keeps the newest of each key, "
        "and both may be combined."
    )

    log_index_size_max_bytes = integer("log.index.size.max.bytes", 10 << 20, at_least(4), update=CLUSTER_WIDE).says(
        "The size at which the offset index of a segment is full, which closes the segment."
    )

    log_index_interval_bytes = integer("log.index.interval.bytes", 4 << 10, at_least(0), update=CLUSTER_WIDE).says(
        "About how many bytes of records lie between two entries of an index."
    )

    log_flush_interval_messages = long(
        "log.flush.interval.messages", LONG_MAX, at_least(1), importance=HIGH, update=CLUSTER_WIDE
    ).says(
        "After how many records a log is forced to disk; 1 means that no write is acknowledged before it is on disk."
    )

    log_flush_interval_ms = long("log.flush.interval.ms", None, importance=HIGH, update=CLUSTER_WIDE).says(
        "The longest a record stays unforced; where it is not set, log.flush.scheduler.interval.ms counts."
    )

    log_flush_scheduler_interval_ms = long("log.flush.scheduler.interval.ms", LONG_MAX, importance=HIGH).says(
        "How often logs are searched for records that have waited too long to be forced to disk."
    )

    log_flush_offset_checkpoint_interval_ms = integer(
        "log.flush.offset.checkpoint.interval.ms", 60_000, at_least(0), importance=HIGH
    ).says("How often the recovery points, up to which logs are known to be on disk, are written down.")

    log_flush_start_offset_checkpoint_interval_ms = integer(
        "log.flush.start.offset.checkpoint.interval.ms", 60_000, at_least(0), importance=HIGH
    ).says("How often the first offsets of logs are written down.")

    log_segment_delete_delay_ms = long(
        "log.segment.delete.delay.ms", 60_000, at_least(0), importance=HIGH, update=CLUSTER_WIDE
    ).says("How long a deleted segment keeps its files under another name before they leave the disk.")

    log_preallocate = boolean("log.preallocate", False, update=CLUSTER_WIDE).says(
        "Whether a new segment takes its whole size on disk at once."
    )

    log_message_timestamp_type = string(
        "log.message.timestamp.type", "CreateTime", one_of("CreateTime", "LogAppendTime"), update=CLUSTER_WIDE
    ).says("Whose time a record carries: CreateTime is the producer's, LogAppendTime the broker's.")

    log_message_timestamp_before_max_ms = long(
        "log.message.timestamp.before.max.ms", LONG_MAX, at_least(0), update=CLUSTER_WIDE
    ).says("How far behind the broker's time a producer's timestamp may be.")

    log_message_timestamp_after_max_ms = long(
        "log.message.timestamp.after.max.ms", HOUR_MS, at_least(0), update=CLUSTER_WIDE
    ).says("How far ahead of the broker's time a producer's timestamp may be.")

    log_dir_failure_timeout_ms = long("log.dir.failure.timeout.ms", 30_000, at_least(1), importance=LOW).says(
        "A broker that cannot report a failed log directory to the controller for this long stops."
    )

    log_initial_task_delay_ms = long(
        "log.initial.task.delay.ms", 30_000, at_least(0), importance=LOW, internal=True
    ).says("How long after the start the periodic work on logs begins; meant for tests.")

    num_recovery_threads_per_data_dir = integer(
        "num.recovery.threads.per.data.dir", 2, at_least(1), importance=HIGH, update=CLUSTER_WIDE
    ).says("How many threads open and recover the logs of a directory at the start and flush them at the end.")
