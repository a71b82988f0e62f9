"""What is usual is what the closer look would store as it came, and nothing else."""

from __future__ import annotations

import random

import pytest

from ottla.storage.log_config import LogConfig
from ottla.storage.record_check import check_client_batch, single_batch
from ottla.storage.usual_batch import Usual, usual_batch, usual_bytes_max
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import Codec, RecordBatch, control_batch
from ottla.wire.records.batch import HEADER_BYTES
from ottla.wire.records.control import ControlType
from tests.storage.batches import NOW_MS, batch, changed, config, lz4_batch

LATEST_MS = NOW_MS + 1000
BASE_OFFSET, LENGTH, MAGIC, CRC, ATTRIBUTES, LAST_DELTA, BASE_TIME, MAX_TIME, COUNT = 0, 8, 16, 17, 21, 23, 27, 35, 57
PRODUCER = {"producer_id": 7, "sequence": 3}


def usual(data: bytes, bytes_max: int = 1 << 20) -> Usual | None:
    return usual_batch(memoryview(data), bytes_max, LATEST_MS)


@pytest.mark.parametrize("more", [{}, PRODUCER])
@pytest.mark.parametrize("codec", list(Codec))
def test_what_is_to_be_known_of_a_usual_batch(codec: Codec, more: dict[str, int]) -> None:
    data = batch(3, codec=codec, **more)
    known = RecordBatch(memoryview(data))
    assert usual(data) == (known.batch_length, 2, NOW_MS, known.producer_id)


UNUSUAL = {
    "no header": batch()[:HEADER_BYTES],
    "cut off": batch()[:-1],
    "longer": batch() + b"\0",
    "two": batch() * 2,
    "its length": changed(batch(), LENGTH, ">i", 10),
    "old format": changed(batch(), MAGIC, ">b", 1),
    "offsets": batch(base_offset=1),
    "no records": changed(changed(batch(1), COUNT, ">i", 0), LAST_DELTA, ">i", -1),
    "fewer records": changed(batch(2), COUNT, ">i", 1),
    "both lie": changed(changed(batch(2), COUNT, ">i", 3), LAST_DELTA, ">i", 2),
    "far more": changed(changed(batch(2), COUNT, ">i", 2**31 - 1), LAST_DELTA, ">i", 2**31 - 2),
    "one too few": changed(changed(batch(2), COUNT, ">i", 1), LAST_DELTA, ">i", 0),
    "control": control_batch([(ControlType.COMMIT, b"\0" * 6)], timestamp=NOW_MS),
    "append time": changed(batch(), ATTRIBUTES, ">h", 8),
    "no sequence": batch(producer_id=7, sequence=-1),
    "late": batch(timestamp=LATEST_MS + 1),
    "base time": changed(batch(), BASE_TIME, ">q", NOW_MS + 1),
    "largest time": changed(batch(), MAX_TIME, ">q", NOW_MS + 1),
    "compressed, largest time": changed(batch(codec=Codec.LZ4), MAX_TIME, ">q", NOW_MS + 1),
    "large records": batch(value=bytes(20_000)),
}


@pytest.mark.parametrize("data", UNUSUAL.values(), ids=UNUSUAL.keys())
def test_all_else_is_looked_at_more_closely(data: bytes) -> None:
    assert usual(data) is None


def test_a_wrong_checksum_is_looked_at_more_closely() -> None:
    data = bytearray(batch())
    data[-1] ^= 1
    assert usual(bytes(data)) is None


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4, Codec.ZSTD])
def test_a_batch_may_be_as_large_as_it_may_and_no_larger(codec: Codec) -> None:
    data = batch(3, codec=codec)
    assert usual(data, len(data)) is not None
    assert usual(data, len(data) - 1) is None


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (changed(batch(), ATTRIBUTES, ">h", 5), ErrorCode.UNKNOWN_SERVER_ERROR),
        (changed(batch(), ATTRIBUTES, ">h", int(Codec.ZSTD)), ErrorCode.UNKNOWN_SERVER_ERROR),
        (lz4_batch(block_linked=True), ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_what_no_codec_can_read_is_refused(data: bytes, code: ErrorCode) -> None:
    with pytest.raises(KafkaError) as caught:
        usual(data)
    assert caught.value.code is code


def test_a_topic_says_how_large_a_usual_batch_is() -> None:
    assert usual_bytes_max(config(max_message_bytes=1000)) == 1000
    assert usual_bytes_max(config(max_message_bytes=1000, segment_bytes=500)) == 500


@pytest.mark.parametrize(
    "settings",
    [
        config(compact=True),
        config(log_append_time=True),
        config(compression_type="lz4"),
        config(message_timestamp_before_max_ms=1000),
    ],
)
def test_no_batch_is_usual_where_the_topic_wants_more_than_it_says_itself(settings: LogConfig) -> None:
    assert usual_bytes_max(settings) == 0
    assert usual(batch(), usual_bytes_max(settings)) is None


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4, Codec.SNAPPY])
@pytest.mark.parametrize("more", [{}, PRODUCER])
def test_what_is_usual_is_what_the_closer_look_would_store_as_it_came(codec: Codec, more: dict[str, int]) -> None:
    chance = random.Random(repr((codec, more)))
    data = batch(3, codec=codec, **more)
    settings = config(message_timestamp_after_max_ms=LATEST_MS - NOW_MS)
    usual_count = 0
    for _ in range(2000):
        position = chance.choice((chance.randrange(HEADER_BYTES), chance.randrange(len(data) - 1)))
        if CRC <= position < ATTRIBUTES:
            continue
        value = chance.choice((chance.randrange(256), data[position] ^ 1 << chance.randrange(8)))
        other = changed(data, position, ">B", value)
        try:
            found = usual_batch(memoryview(other), usual_bytes_max(settings), LATEST_MS)
        except KafkaError:
            continue
        if found is not None:
            usual_count += 1
            looked_at = single_batch(memoryview(other), settings.max_message_bytes)
            assert check_client_batch(looked_at, settings, NOW_MS) is looked_at, (position, value)
    assert 0 < usual_count < 2000
