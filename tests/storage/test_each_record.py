"""The look at single records: which are refused, and what becomes of a header that is wrong about their times."""

from __future__ import annotations

import pytest

from ottla.storage.each_record import RecordsRejected, check_each_record
from ottla.storage.log_config import LogConfig
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import BatchBuilder, Codec, Record, RecordBatch, TimestampType, iter_records
from tests.storage.batches import NOW_MS, changed, config

ATTRIBUTES, MAX_TIMESTAMP = 21, 35
BYTES_MAX = 1 << 20
BOUNDED = config(message_timestamp_before_max_ms=10, message_timestamp_after_max_ms=20)


def of(*timestamps: int, keys: tuple[bytes | None, ...] = (), **more: int) -> bytes:
    builder = BatchBuilder(**more)  # type: ignore[arg-type]
    for number, timestamp in enumerate(timestamps):
        builder.append(keys[number] if keys else b"key", b"value", timestamp=timestamp, headers=[(b"h", None)])
    return builder.build()


def stored(data: bytes, settings: LogConfig) -> RecordBatch:
    found, is_in_order = check_each_record(RecordBatch(memoryview(data)), settings, NOW_MS, bytes_max=BYTES_MAX)
    assert is_in_order
    return found


def rejected(data: bytes, settings: LogConfig) -> tuple[ErrorCode, list[int]]:
    with pytest.raises(RecordsRejected) as caught:
        stored(data, settings)
    return caught.value.code, [index for index, _ in caught.value.errors]


def timestamps(batch: RecordBatch) -> list[int]:
    return [record.timestamp for record in iter_records(batch, bytes_max=BYTES_MAX)]


@pytest.mark.parametrize("codec", list(Codec))
def test_what_is_right_stays_as_it_is(codec: Codec) -> None:
    batch = RecordBatch(memoryview(of(NOW_MS, NOW_MS + 20, NOW_MS - 10, codec=codec)))
    for settings in (BOUNDED, config(compact=True), config(log_append_time=True)):
        assert check_each_record(batch, settings, NOW_MS, bytes_max=BYTES_MAX) == (batch, True)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_each_record_without_a_key_is_named_where_a_topic_is_compacted(codec: Codec) -> None:
    data = of(NOW_MS, NOW_MS, NOW_MS, NOW_MS, keys=(b"a", None, b"", None), codec=codec)
    stored(data, BOUNDED)
    assert rejected(data, config(compact=True)) == (ErrorCode.INVALID_RECORD, [1, 3])


def test_each_record_that_is_too_late_or_too_early_is_named() -> None:
    data = of(NOW_MS, NOW_MS - 11, NOW_MS + 20, NOW_MS + 21)
    assert rejected(data, BOUNDED) == (ErrorCode.INVALID_TIMESTAMP, [1, 3])


def test_a_wrong_time_gives_its_name_to_all_that_is_wrong() -> None:
    data = of(NOW_MS, NOW_MS, NOW_MS + 10**9, keys=(None, b"k", b"k"))
    assert rejected(data, config(compact=True)) == (ErrorCode.INVALID_TIMESTAMP, [0, 2])


def test_records_without_a_timestamp_are_neither_early_nor_late() -> None:
    assert timestamps(stored(of(-1, -1), BOUNDED)) == [-1, -1]


def test_a_header_with_another_largest_time_is_put_right() -> None:
    honest = of(NOW_MS, NOW_MS + 7, NOW_MS + 2)
    assert bytes(stored(changed(honest, MAX_TIMESTAMP, ">q", NOW_MS), BOUNDED).data) == honest


def test_where_the_broker_sets_the_time_no_header_is_touched() -> None:
    data = changed(of(NOW_MS, NOW_MS + 7), MAX_TIMESTAMP, ">q", 5)
    assert bytes(stored(data, config(log_append_time=True)).data) == data


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("is_compacted", [False, True])
def test_a_claim_to_the_logs_time_goes_and_the_time_stays(codec: Codec, is_compacted: bool) -> None:
    honest = of(NOW_MS - 5, NOW_MS + 7, codec=codec)
    claims = changed(honest, ATTRIBUTES, ">h", 0x7F80 | 0x08 | codec)
    found = stored(claims, config(compact=is_compacted))
    assert (found.timestamp_type, found.attributes) == (TimestampType.CREATE_TIME, codec)
    assert bytes(found.data) == honest


@pytest.mark.parametrize(
    ("time", "settings"), [(-1, config()), (NOW_MS - 11, BOUNDED), (NOW_MS + 21, BOUNDED), (NOW_MS, None)]
)
def test_a_claim_to_the_logs_time_is_refused_without_a_time_that_fits(time: int, settings: LogConfig | None) -> None:
    """Or where it is the log that sets it."""
    data = of(NOW_MS, NOW_MS, NOW_MS, append_time=time)
    found = rejected(data, config(log_append_time=True) if settings is None else settings)
    assert found == (ErrorCode.INVALID_TIMESTAMP, [0, 1, 2])


def test_a_claimed_time_is_in_every_record_where_the_codec_changes() -> None:
    data = of(NOW_MS - 5, NOW_MS - 3, append_time=NOW_MS, producer_id=7, producer_epoch=1, base_sequence=4)
    for wanted, expected in (("gzip", [NOW_MS, NOW_MS]), ("uncompressed", [NOW_MS - 5, NOW_MS - 3])):
        found = stored(data, config(compression_type=wanted))
        assert timestamps(found) == expected
        assert (found.producer_id, found.producer_epoch, found.base_sequence) == (7, 1, 4)
        assert (found.max_timestamp, found.attributes) == (NOW_MS, Codec.NONE)
        found.check_crc()
    (first, _) = iter_records(found, bytes_max=BYTES_MAX)
    assert first == Record(0, NOW_MS - 5, b"key", b"value", ((b"h", None),))


def test_a_record_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(KafkaError) as caught:
        stored(changed(of(NOW_MS), 65, ">b", 0x40), config(compact=True))
    assert caught.value.code is ErrorCode.INVALID_RECORD
