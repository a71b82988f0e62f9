"""What a log wants to know of its topic's configuration, with Kafka's defaults.

Plain values: where they come from (a topic, a broker, a file) and how they are spelled there is not known here.
"""

from __future__ import annotations

from dataclasses import dataclass

LONG_MAX = 2**63 - 1
INT_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """Names are Kafka's topic-level keys with underscores; minus one switches a limit off where Kafka says so."""

    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * 24 * 3600 * 1000
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10 << 20
    index_interval_bytes: int = 4096
    max_message_bytes: int = 1_048_588
    compression_type: str = "producer"
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3
    flush_messages: int = LONG_MAX
    flush_ms: int = LONG_MAX
    retention_bytes: int = -1
    retention_ms: int = 7 * 24 * 3600 * 1000
    file_delete_delay_ms: int = 60_000
    compact: bool = False
    delete: bool = True
    delete_retention_ms: int = 24 * 3600 * 1000
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = LONG_MAX
    min_cleanable_dirty_ratio: float = 0.5
    log_append_time: bool = False
    message_timestamp_before_max_ms: int = LONG_MAX
    message_timestamp_after_max_ms: int = 3600 * 1000
    producer_id_expiration_ms: int = 24 * 3600 * 1000

    @property
    def roll_ms(self) -> int:
        """At what age a segment is closed: the active one is not compacted, so the latest time for that counts too."""
        return min(self.segment_ms, self.max_compaction_lag_ms) if self.compact else self.segment_ms
