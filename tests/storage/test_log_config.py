"""What a log does where nobody configured anything is what Kafka does."""

from __future__ import annotations

import dataclasses

import pytest

from ottla.storage.log_config import INT_MAX, LONG_MAX, LogConfig

DAY_MS = 24 * 3600 * 1000


def test_defaults_are_those_of_kafka() -> None:
    config = LogConfig()
    assert (config.segment_bytes, config.segment_ms, config.segment_jitter_ms) == (1 << 30, 7 * DAY_MS, 0)
    assert (config.segment_index_bytes, config.index_interval_bytes) == (10 << 20, 4096)
    assert config.max_message_bytes == 1_048_588
    assert config.compression_type == "producer"
    assert (config.compression_gzip_level, config.compression_lz4_level, config.compression_zstd_level) == (-1, 9, 3)
    assert (config.flush_messages, config.flush_ms) == (LONG_MAX, LONG_MAX)
    assert (config.retention_bytes, config.retention_ms, config.file_delete_delay_ms) == (-1, 7 * DAY_MS, 60_000)
    assert (config.compact, config.delete, config.delete_retention_ms) == (False, True, DAY_MS)
    assert (config.min_compaction_lag_ms, config.max_compaction_lag_ms) == (0, LONG_MAX)
    assert config.min_cleanable_dirty_ratio == 0.5
    assert (config.log_append_time, config.message_timestamp_before_max_ms) == (False, LONG_MAX)
    assert config.message_timestamp_after_max_ms == 3600 * 1000
    assert config.producer_id_expiration_ms == DAY_MS
    assert (INT_MAX, LONG_MAX) == (2**31 - 1, 2**63 - 1)


def test_a_configuration_does_not_change_under_the_log_that_has_it() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        LogConfig().segment_bytes = 1  # type: ignore[misc]
