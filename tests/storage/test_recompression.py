"""What a topic's compression.type makes of the batches that clients send."""

from __future__ import annotations

import pytest

from ottla.storage.log import Log
from ottla.storage.producer_state import AppendOrigin
from ottla.storage.recompression import CODEC_OF_TYPE, HELD_BYTES_MIN, as_topic_wants
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import (
    BatchBuilder,
    Codec,
    Record,
    RecordBatch,
    TimestampType,
    iter_batches,
    iter_records,
    read_batch,
)
from tests.storage.batches import NOW_MS, batch, config, content, marker, opened
from tests.storage.fake_disk import FakeDisk

BYTES_MAX = 1 << 26
LATER_MS = NOW_MS + 5000
# A thousand equal bytes: what every codec makes smaller, and smaller than the same uncompressed.
VALUE = bytes(1000)


def parsed(data: bytes) -> RecordBatch:
    found = read_batch(memoryview(data))
    assert found is not None
    return found


def stored_batches(log: Log) -> list[RecordBatch]:
    return list(iter_batches(content(log)))


def appended(log: Log, data: bytes, *, now_ms: int = NOW_MS) -> RecordBatch:
    """The batch as it lies in the log."""
    log.append(data, leader_epoch=3, now_ms=now_ms)
    return stored_batches(log)[-1]


def records(found: RecordBatch) -> list[Record]:
    return list(iter_records(found, bytes_max=BYTES_MAX))


@pytest.mark.parametrize("source", list(Codec))
@pytest.mark.parametrize("wanted", CODEC_OF_TYPE)
def test_a_batch_is_stored_as_its_topic_wants_it(wanted: str, source: Codec) -> None:
    log = opened(FakeDisk(), config(compression_type=wanted))
    log.append(batch(), leader_epoch=3, now_ms=NOW_MS)
    found = appended(log, batch(20, value=VALUE, codec=source, producer_id=7, sequence=0))
    found.check_crc()
    assert found.codec == CODEC_OF_TYPE[wanted]
    assert (found.base_offset, found.last_offset, found.leader_epoch, found.producer_id) == (1, 20, 3, 7)
    assert records(found) == [Record(1 + number, NOW_MS, None, VALUE, ()) for number in range(20)]
    assert log.end_offset == 21


@pytest.mark.parametrize("source", list(Codec))
def test_by_default_the_producers_choice_stays_to_the_byte(source: Codec) -> None:
    data = batch(20, value=VALUE, codec=source)
    found = appended(opened(FakeDisk()), data)
    assert bytes(found.data)[16:] == data[16:]


def test_a_batch_that_is_right_already_is_not_touched() -> None:
    before = parsed(batch(20, codec=Codec.LZ4))
    assert as_topic_wants(before, config(compression_type="lz4")) is before


@pytest.mark.parametrize("wanted", ["gzip", "uncompressed"])
def test_append_time_is_stamped_on_what_is_stored(wanted: str) -> None:
    log = opened(FakeDisk(), config(compression_type=wanted, log_append_time=True))
    found = appended(log, batch(3, codec=Codec.ZSTD), now_ms=LATER_MS)
    found.check_crc()
    assert (found.timestamp_type, found.max_timestamp) == (TimestampType.LOG_APPEND_TIME, LATER_MS)
    assert found.codec == CODEC_OF_TYPE[wanted]
    assert [record.timestamp for record in records(found)] == [LATER_MS] * 3


@pytest.mark.parametrize("key", ["gzip", "lz4", "zstd"])
def test_the_level_is_the_topics(key: str) -> None:
    builder = BatchBuilder()
    for number in range(300):
        builder.append(b"%d" % number, b"%d" % number**5, timestamp=NOW_MS)
    sizes = {
        as_topic_wants(
            parsed(builder.build()), config(**{"compression_type": key, f"compression_{key}_level": level})
        ).size_bytes
        for level in (1, 12 if key == "lz4" else 9)
    }
    assert len(sizes) == 2


def test_the_size_is_checked_as_it_came_and_as_it_is_stored() -> None:
    compressed = batch(20, value=VALUE, codec=Codec.ZSTD)
    plain_bytes = len(batch(20, value=VALUE))
    log = opened(FakeDisk(), config(compression_type="uncompressed", max_message_bytes=plain_bytes))
    appended(log, compressed)
    log = opened(FakeDisk(), config(compression_type="uncompressed", max_message_bytes=plain_bytes - 1))
    assert error_of(log, compressed) is ErrorCode.MESSAGE_TOO_LARGE
    # Kafka does not take either what would be small enough afterwards.
    log = opened(FakeDisk(), config(compression_type="zstd", max_message_bytes=plain_bytes - 1))
    assert error_of(log, batch(20, value=VALUE)) is ErrorCode.MESSAGE_TOO_LARGE
    assert log.end_offset == 0


def test_records_that_do_not_shrink_may_become_too_large_by_compressing() -> None:
    tiny = batch(value=b"x")
    log = opened(FakeDisk(), config(compression_type="gzip", max_message_bytes=len(tiny)))
    assert error_of(log, tiny) is ErrorCode.MESSAGE_TOO_LARGE


def test_what_is_held_while_compressing_is_bounded() -> None:
    bomb = batch(value=bytes(HELD_BYTES_MIN), codec=Codec.ZSTD)
    assert len(bomb) < 10_000
    log = opened(FakeDisk(), config(compression_type="gzip"))
    assert error_of(log, bomb) is ErrorCode.MESSAGE_TOO_LARGE
    appended(log, batch(value=bytes(HELD_BYTES_MIN - 100), codec=Codec.ZSTD))


def test_a_batch_is_checked_before_it_is_compressed_anew() -> None:
    log = opened(FakeDisk(), config(compression_type="gzip", compact=True))
    assert error_of(log, batch(codec=Codec.LZ4)) is ErrorCode.INVALID_RECORD


def test_a_duplicate_is_known_whatever_its_codec() -> None:
    log = opened(FakeDisk(), config(compression_type="lz4"))
    data = batch(3, codec=Codec.GZIP, producer_id=7, sequence=0)
    log.append(data, leader_epoch=3, now_ms=NOW_MS)
    again = log.append(data, leader_epoch=3, now_ms=NOW_MS)
    assert (again.is_duplicate, again.first_offset, log.end_offset) == (True, 0, 3)


def test_a_marker_stays_as_it_is() -> None:
    log = opened(FakeDisk(), config(compression_type="gzip"))
    log.append(batch(producer_id=7, is_transactional=True), leader_epoch=3, now_ms=NOW_MS)
    log.append(marker(7), leader_epoch=3, now_ms=NOW_MS, origin=AppendOrigin.COORDINATOR)
    assert [(one.is_control, one.codec) for one in stored_batches(log)] == [(False, Codec.GZIP), (True, Codec.NONE)]


def error_of(log: Log, data: bytes) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        log.append(data, leader_epoch=3, now_ms=NOW_MS)
    return caught.value.code
