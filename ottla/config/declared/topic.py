"""What can be set for one topic."""

from __future__ import annotations

from ottla.config.checks import GZIP_LEVEL, THROTTLED_REPLICAS, at_least, between, listed, one_of
from ottla.config.keys import KeySet, boolean, double, integer, long, string, strings
from ottla.config.values import DAY_MS, HOUR_MS, LONG_MAX


class TopicConfigKeys(KeySet):
    """What can be set for one topic."""

    segment_bytes = integer("segment.bytes", 1 << 30, at_least(1 << 20), synonyms=("log.segment.bytes",)).says(
        "A segment that would outgrow this size is closed and a new one begun."
    )

    segment_ms = long("segment.ms", 7 * DAY_MS, at_least(1), synonyms=("log.roll.ms", "log.roll.hours")).says(
        "The age at which a segment is closed even though it is not full."
    )

    segment_jitter_ms = long(
        "segment.jitter.ms", 0, at_least(0), synonyms=("log.roll.jitter.ms", "log.roll.jitter.hours")
    ).says("Up to this much, at random, is taken from that age, so that not all segments are closed at once.")

    segment_index_bytes = integer(
        "segment.index.bytes", 10 << 20, at_least(4), synonyms=("log.index.size.max.bytes",)
    ).says("The size at which the offset index of a segment is full, which closes the segment.")

    flush_messages = long("flush.messages", LONG_MAX, at_least(1), synonyms=("log.flush.interval.messages",)).says(
        "After how many records the log is forced to disk; 1 means that no write is acknowledged before it is on disk."
    )

    flush_ms = long(
        "flush.ms", LONG_MAX, at_least(0), synonyms=("log.flush.interval.ms", "log.flush.scheduler.interval.ms")
    ).says("The longest a record stays unforced.")

    retention_bytes = long("retention.bytes", -1, synonyms=("log.retention.bytes",)).says(
        "How large the log of one partition may grow before its oldest segments go; -1 sets no limit."
    )

    retention_ms = long(
        "retention.ms",
        7 * DAY_MS,
        at_least(-1),
        synonyms=("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    ).says("How long records are kept; -1 for ever.")

    max_message_bytes = integer("max.message.bytes", 1_048_588, at_least(0), synonyms=("message.max.bytes",)).says(
        "The largest record batch that is accepted, after compression."
    )

    index_interval_bytes = integer(
        "index.interval.bytes", 4 << 10, at_least(0), synonyms=("log.index.interval.bytes",)
    ).says("About how many bytes of records lie between two entries of an index.")

    delete_retention_ms = long(
        "delete.retention.ms", DAY_MS, at_least(0), synonyms=("log.cleaner.delete.retention.ms",)
    ).says("How long a tombstone stays readable after compaction has reached it.")

    min_compaction_lag_ms = long(
        "min.compaction.lag.ms", 0, at_least(0), synonyms=("log.cleaner.min.compaction.lag.ms",)
    ).says("How old a record has to be before it may be compacted away.")

    max_compaction_lag_ms = long(
        "max.compaction.lag.ms", LONG_MAX, at_least(1), synonyms=("log.cleaner.max.compaction.lag.ms",)
    ).says("How old a record may get before the log is compacted in any case.")

    file_delete_delay_ms = long(
        "file.delete.delay.ms", 60_000, at_least(0), synonyms=("log.segment.delete.delay.ms",)
    ).says("How long a deleted segment keeps its files under another name before they leave the disk.")

    min_cleanable_dirty_ratio = double(
        "min.cleanable.dirty.ratio", 0.5, between(0, 1), synonyms=("log.cleaner.min.cleanable.ratio",)
    ).says("What share of the log has to be uncompacted before it is worth compacting.")

    cleanup_policy = strings(
        "cleanup.policy", ("delete",), listed("compact", "delete"), synonyms=("log.cleanup.policy",)
    ).says(
        "What becomes of old records: delete drops them by age and size, compact keeps the newest of each key, "
        "both may be combined, and an empty list keeps everything."
    )

    unclean_leader_election_enable = boolean(
        "unclean.leader.election.enable", False, synonyms=("unclean.leader.election.enable",)
    ).says("Whether a replica that is not in sync may become leader when no other is left, which loses records.")

    min_insync_replicas = integer("min.insync.replicas", 1, at_least(1), synonyms=("min.insync.replicas",)).says(
        "How many replicas, the leader among them, have to be in sync for a write with acks=all to be accepted."
    )

    compression_type = string(
        "compression.type",
        "producer",
        one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        synonyms=("compression.type",),
    ).says("How batches are stored: as the producer compressed them, uncompressed, or with a certain codec.")

    compression_gzip_level = integer(
        "compression.gzip.level", -1, GZIP_LEVEL, synonyms=("compression.gzip.level",)
    ).says("The level for batches that the broker itself compresses with gzip; -1 is the codec's own default.")

    compression_lz4_level = integer(
        "compression.lz4.level", 9, between(1, 17), synonyms=("compression.lz4.level",)
    ).says("The level for batches that the broker itself compresses with lz4.")

    compression_zstd_level = integer(
        "compression.zstd.level", 3, between(-131_072, 22), synonyms=("compression.zstd.level",)
    ).says("The level for batches that the broker itself compresses with zstd.")

    preallocate = boolean("preallocate", False, synonyms=("log.preallocate",)).says(
        "Whether a new segment takes its whole size on disk at once."
    )

    message_timestamp_type = string(
        "message.timestamp.type",
        "CreateTime",
        one_of("CreateTime", "LogAppendTime"),
        synonyms=("log.message.timestamp.type",),
    ).says("Whose time a record carries: CreateTime is the producer's, LogAppendTime the broker's.")

    message_timestamp_before_max_ms = long(
        "message.timestamp.before.max.ms", LONG_MAX, at_least(0), synonyms=("log.message.timestamp.before.max.ms",)
    ).says("How far behind the broker's time a producer's timestamp may be.")

    message_timestamp_after_max_ms = long(
        "message.timestamp.after.max.ms", HOUR_MS, at_least(0), synonyms=("log.message.timestamp.after.max.ms",)
    ).says("How far ahead of the broker's time a producer's timestamp may be.")

    leader_replication_throttled_replicas = strings(
        "leader.replication.throttled.replicas", (), THROTTLED_REPLICAS
    ).says("Replicas whose followers are served at a limited rate, as PARTITION:BROKER, or * for all.")

    follower_replication_throttled_replicas = strings(
        "follower.replication.throttled.replicas", (), THROTTLED_REPLICAS
    ).says("Replicas that fetch at a limited rate, as PARTITION:BROKER, or * for all.")

    remote_storage_enable = boolean("remote.storage.enable", False).says(
        "Whether segments of this topic go to remote storage."
    )

    local_retention_ms = long("local.retention.ms", -2, at_least(-2), synonyms=("log.local.retention.ms",)).says(
        "How long records that are in remote storage as well are kept on local disk; -2 means as long as "
        "retention.ms says."
    )

    local_retention_bytes = long(
        "local.retention.bytes", -2, at_least(-2), synonyms=("log.local.retention.bytes",)
    ).says("How large the local part of a tiered log may grow; -2 means as large as retention.bytes says.")

    remote_log_copy_disable = boolean("remote.log.copy.disable", False).says(
        "Whether nothing more of this topic goes to remote storage while what is there can still be read (KIP-950)."
    )

    remote_log_delete_on_disable = boolean("remote.log.delete.on.disable", False).says(
        "Whether turning remote storage off deletes what is there (KIP-950)."
    )

    internal_segment_bytes = integer("internal.segment.bytes", None, internal=True).says(
        "A smaller segment size than segment.bytes allows; meant for tests."
    )
