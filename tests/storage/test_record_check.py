"""What a client may send, and what it is told otherwise."""

from __future__ import annotations

import pytest

from ottla.storage.log_config import LogConfig
from ottla.storage.record_check import RecordsRejected, check_client_batch, single_batch
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import BatchBuilder, Codec, control_batch
from ottla.wire.records.control import ControlType
from tests.storage.batches import NOW_MS, batch, changed, config, lz4_batch, old_message

HOUR_MS = 3600 * 1000
LENGTH, ATTRIBUTES, LAST_DELTA, BASE_TIMESTAMP, MAX_TIMESTAMP, COUNT = 8, 21, 23, 27, 35, 57


def check(data: bytes, settings: LogConfig | None = None) -> None:
    settings = settings or config()
    check_client_batch(single_batch(memoryview(data), settings.max_message_bytes), settings, NOW_MS)


def error_of(data: bytes, settings: LogConfig | None = None) -> KafkaError:
    with pytest.raises(KafkaError) as caught:
        check(data, settings)
    return caught.value


def with_timestamps(*timestamps: int, **more: int) -> bytes:
    builder = BatchBuilder(**more)  # type: ignore[arg-type]
    for timestamp in timestamps:
        builder.append(b"key", b"value", timestamp=timestamp)
    return builder.build()


@pytest.mark.parametrize("codec", list(Codec))
def test_a_batch_of_every_codec_passes(codec: Codec) -> None:
    check(batch(3, codec=codec))
    check(batch(3, key=b"key", codec=codec), config(compact=True))
    check(batch(3, codec=codec), config(message_timestamp_before_max_ms=0, message_timestamp_after_max_ms=0))


@pytest.mark.parametrize(("linked", "is_taken"), [(False, True), (True, False)])
def test_lz4_frames_that_java_cannot_read_are_refused(linked: bool, is_taken: bool) -> None:
    data = lz4_batch(block_linked=linked)
    if is_taken:
        check(data)
    else:
        error = error_of(data)
        assert (error.code, "independent blocks" in error.message) == (ErrorCode.INVALID_RECORD, True)


@pytest.mark.parametrize("data", [b"", b"\0" * 60, batch()[:-1], batch() + b"\0", batch() * 2])
def test_a_client_sends_exactly_one_whole_batch(data: bytes) -> None:
    assert error_of(data).code is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("magic", [0, 1])
def test_old_formats_may_not_be_written(magic: int) -> None:
    error = error_of(old_message(0, magic=magic, value=bytes(100)))
    assert (error.code, str(magic) in error.message) == (ErrorCode.INVALID_RECORD, True)


@pytest.mark.parametrize("magic", [3, 127, 255])
def test_formats_that_nobody_knows_are_corrupt(magic: int) -> None:
    data = bytearray(batch())
    data[16] = magic
    assert error_of(bytes(data)).code is ErrorCode.CORRUPT_MESSAGE


def test_what_is_too_short_for_any_format_is_corrupt() -> None:
    assert error_of(bytes(100)).code is ErrorCode.CORRUPT_MESSAGE
    assert error_of(changed(batch(), LENGTH, ">i", 10)).code is ErrorCode.CORRUPT_MESSAGE


def test_a_batch_may_be_as_large_as_max_message_bytes_and_no_larger() -> None:
    data = batch(value=bytes(1000))
    check(data, config(max_message_bytes=len(data)))
    error = error_of(data, config(max_message_bytes=len(data) - 1))
    assert error.code is ErrorCode.MESSAGE_TOO_LARGE
    assert str(len(data)) in error.message


def test_a_batch_that_fails_its_crc_is_corrupt() -> None:
    data = bytearray(batch())
    data[-1] ^= 1
    assert error_of(bytes(data)).code is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize(
    "data",
    [
        batch(base_offset=1),
        changed(batch(2), COUNT, ">i", -1),
        changed(batch(2), LAST_DELTA, ">i", -1),
        changed(batch(2), COUNT, ">i", 0),
        changed(batch(2), COUNT, ">i", 1),
        changed(batch(2), COUNT, ">i", 3),
        changed(batch(2), LAST_DELTA, ">i", 0),
        changed(batch(2), LAST_DELTA, ">i", 2),
        changed(changed(batch(2), COUNT, ">i", 3), LAST_DELTA, ">i", 2),  # both lie, the records do not
        changed(changed(batch(2), COUNT, ">i", 2**31 - 1), LAST_DELTA, ">i", 2**31 - 2),
        batch(producer_id=7, sequence=-1),
        control_batch([(ControlType.COMMIT, b"\0" * 6)], timestamp=NOW_MS),
    ],
)
def test_a_header_that_lies_about_its_records_is_refused(data: bytes) -> None:
    assert error_of(data).code is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_codecs_that_do_not_exist_are_refused(codec: int) -> None:
    error = error_of(changed(batch(), ATTRIBUTES, ">h", codec))
    assert error.code is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


def test_records_that_do_not_decompress_are_refused() -> None:
    assert isinstance(error_of(changed(batch(), ATTRIBUTES, ">h", Codec.GZIP)), KafkaError)


# -- keys -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_each_record_without_a_key_is_named_where_a_topic_is_compacted(codec: Codec) -> None:
    builder = BatchBuilder(codec=codec)
    for key in (b"a", None, b"", None):
        builder.append(key, b"value", timestamp=NOW_MS)
    check(builder.build())
    error = error_of(builder.build(), config(compact=True))
    assert isinstance(error, RecordsRejected)
    assert error.code is ErrorCode.INVALID_RECORD
    assert [index for index, _ in error.errors] == [1, 3]
    assert "key" in error.errors[0][1]


# -- timestamps -------------------------------------------------------------------------------------------------------


def test_by_default_a_record_may_be_an_hour_ahead_and_any_time_behind() -> None:
    check(with_timestamps(NOW_MS + HOUR_MS, 0, 1))
    assert error_of(with_timestamps(NOW_MS + HOUR_MS + 1)).code is ErrorCode.INVALID_TIMESTAMP


def test_each_record_that_is_too_late_or_too_early_is_named() -> None:
    settings = config(message_timestamp_before_max_ms=10, message_timestamp_after_max_ms=20)
    check(with_timestamps(NOW_MS - 10, NOW_MS, NOW_MS + 20), settings)
    error = error_of(with_timestamps(NOW_MS, NOW_MS - 11, NOW_MS + 20, NOW_MS + 21), settings)
    assert isinstance(error, RecordsRejected)
    assert error.code is ErrorCode.INVALID_TIMESTAMP
    assert [index for index, _ in error.errors] == [1, 3]


def test_an_old_record_behind_a_new_one_is_found_where_age_is_bounded() -> None:
    """The header has the timestamp of the first record and of the largest: neither tells."""
    settings = config(message_timestamp_before_max_ms=10)
    error = error_of(with_timestamps(NOW_MS, NOW_MS - 1000, NOW_MS), settings)
    assert isinstance(error, RecordsRejected)
    assert [index for index, _ in error.errors] == [1]


def test_records_without_a_timestamp_are_neither_early_nor_late() -> None:
    check(with_timestamps(-1, -1), config(message_timestamp_before_max_ms=10))


def test_a_largest_timestamp_that_no_record_has_is_refused() -> None:
    data = changed(with_timestamps(NOW_MS), MAX_TIMESTAMP, ">q", 2**63 - 1)
    assert error_of(data).code is ErrorCode.INVALID_TIMESTAMP


@pytest.mark.parametrize("log_append_time", [False, True])
def test_a_producer_may_not_set_the_append_time(log_append_time: bool) -> None:
    data = batch(3, append_time=NOW_MS)
    error = error_of(data, config(log_append_time=log_append_time))
    assert isinstance(error, RecordsRejected)
    assert error.code is ErrorCode.INVALID_TIMESTAMP
    assert [index for index, _ in error.errors] == [0, 1, 2]


def test_where_the_broker_sets_the_time_that_of_the_client_does_not_matter() -> None:
    check(with_timestamps(2**62), config(log_append_time=True, message_timestamp_before_max_ms=10))
