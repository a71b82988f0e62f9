"""The topic's `compression.type`: a leader stores batches under that codec, whatever their producer chose.

Done batch by batch on the loop, for topics that ask for it and batches that are not so already. A control batch stays
as it is, as in Kafka. Kafka checks a batch's size as it came and once more as it is to be stored, and so do we.
"""

from __future__ import annotations

from ottla.storage.log_config import LogConfig
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import Codec, RecordBatch, recompress

PRODUCER = "producer"
CODEC_OF_TYPE = {
    "uncompressed": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}
# What a batch may hold that is to be compressed anew: all of it is in memory meanwhile, and everybody waits.
HELD_BYTES_MIN = 16 << 20
HELD_RATIO_MAX = 16


def as_topic_wants(batch: RecordBatch, config: LogConfig) -> RecordBatch:
    """The batch as it is to be stored. MESSAGE_TOO_LARGE if max.message.bytes does not allow that."""
    if not changes_codec(batch, config):
        return batch
    codec = CODEC_OF_TYPE[config.compression_type]
    stored = recompress(batch, codec, level=_level(codec, config), bytes_max=held_bytes_max(config))
    if stored.end > config.max_message_bytes:
        reason = f"a batch of {stored.end} bytes as {config.compression_type}"
        raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE, f"{reason}, max.message.bytes is {config.max_message_bytes}")
    return stored


def changes_codec(batch: RecordBatch, config: LogConfig) -> bool:
    """Whether the topic wants another codec than the batch has."""
    if config.compression_type == PRODUCER or batch.is_control:
        return False
    return batch.codec != CODEC_OF_TYPE[config.compression_type]


def _level(codec: Codec, config: LogConfig) -> int | None:
    levels = {
        Codec.GZIP: config.compression_gzip_level,
        Codec.LZ4: config.compression_lz4_level,
        Codec.ZSTD: config.compression_zstd_level,
    }
    return levels.get(codec)


def held_bytes_max(config: LogConfig) -> int:
    """How many bytes of records may be in memory while a batch gets another codec."""
    if CODEC_OF_TYPE[config.compression_type] == Codec.NONE:
        return config.max_message_bytes
    return max(HELD_BYTES_MIN, HELD_RATIO_MAX * config.max_message_bytes)
