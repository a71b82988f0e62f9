"""What a client may send, and what it is told otherwise."""

from __future__ import annotations

import pytest

from ottla.storage.log_config import LogConfig
from ottla.storage.record_check import check_client_batch, single_batch
from ottla.wire.compression import compress
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.primitives import varint
from ottla.wire.records import BatchBuilder, Codec, RecordBatch, control_batch, iter_records
from ottla.wire.records.batch import HEADER_BYTES
from ottla.wire.records.builder import encode_record
from ottla.wire.records.control import ControlType
from tests.storage.batches import NOW_MS, batch, changed, config, lz4_batch, old_message

HOUR_MS = 3600 * 1000
# In a short record: behind its length, its attributes and two deltas.
KEY_LENGTH = 4
LENGTH, ATTRIBUTES, LAST_DELTA, BASE_TIMESTAMP, MAX_TIMESTAMP, COUNT = 8, 21, 23, 27, 35, 57


def check(data: bytes, settings: LogConfig | None = None) -> RecordBatch:
    settings = settings or config()
    return check_client_batch(single_batch(memoryview(data), settings.max_message_bytes), settings, NOW_MS)


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
        assert (error.code, "independent blocks" in error.message) == (ErrorCode.UNKNOWN_SERVER_ERROR, True)


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
    assert error.code is ErrorCode.UNKNOWN_SERVER_ERROR


def test_records_that_do_not_decompress_are_refused() -> None:
    assert error_of(changed(batch(), ATTRIBUTES, ">h", Codec.GZIP)).code is ErrorCode.UNKNOWN_SERVER_ERROR


# -- timestamps -------------------------------------------------------------------------------------------------------


def test_by_default_a_record_may_be_an_hour_ahead_and_any_time_behind() -> None:
    check(with_timestamps(NOW_MS + HOUR_MS, 0, 1))
    assert error_of(with_timestamps(NOW_MS + HOUR_MS + 1)).code is ErrorCode.INVALID_TIMESTAMP


def test_a_batch_that_says_what_it_should_is_not_touched() -> None:
    data = with_timestamps(NOW_MS, NOW_MS + 5, NOW_MS + 1)
    view = memoryview(data)
    assert check_client_batch(found := single_batch(view, len(data)), config(), NOW_MS) is found


@pytest.mark.parametrize("settings", [config(compact=True), config(message_timestamp_before_max_ms=HOUR_MS)])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_a_largest_time_that_no_record_has_is_put_right_where_records_are_read(
    settings: LogConfig, codec: Codec
) -> None:
    honest = with_timestamps(NOW_MS, NOW_MS + 9, NOW_MS + 3, codec=codec)
    stored = check(changed(honest, MAX_TIMESTAMP, ">q", NOW_MS + 50), settings)
    assert bytes(stored.data) == honest


@pytest.mark.parametrize("claimed", [2**63 - 1, NOW_MS - 1, -1, -(2**63)])
def test_a_largest_time_that_cannot_be_is_put_right_everywhere(claimed: int) -> None:
    """Retention and rolling go by it: a segment that claims to be from the future would never be deleted."""
    honest = with_timestamps(NOW_MS, NOW_MS + 9)
    stored = check(changed(honest, MAX_TIMESTAMP, ">q", claimed))
    assert bytes(stored.data) == honest


def test_where_the_broker_sets_the_time_that_of_the_client_does_not_matter() -> None:
    check(with_timestamps(2**62), config(log_append_time=True, message_timestamp_before_max_ms=10))


def with_bad_key(count: int, at: int, codec: Codec = Codec.NONE, value: bytes = b"a") -> bytes:
    """Records that are all alike, one of which says that its key is longer than itself."""
    data = batch(count, value=value)
    record_bytes = (len(data) - HEADER_BYTES) // count
    key_length = len(varint(record_bytes)) - 1 + KEY_LENGTH
    records = bytearray(data[HEADER_BYTES:])
    records[at * record_bytes + key_length] = 0x40
    return rebuilt(data, bytes(records), codec)


def rebuilt(data: bytes, records: bytes, codec: Codec) -> bytes:
    """The batch with other records, compressed."""
    compressed = compress(codec, records)
    header = changed(data[:HEADER_BYTES] + compressed, LENGTH, ">i", HEADER_BYTES - LENGTH - 4 + len(compressed))
    return changed(header, ATTRIBUTES, ">h", codec)


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("value", [b"a", bytes(70), bytes(9000)])
@pytest.mark.parametrize(("count", "at"), [(1, 0), (2, 1), (40, 0), (60, 50)])
def test_records_whose_fields_do_not_fit_are_refused(count: int, at: int, value: bytes, codec: Codec) -> None:
    error = error_of(with_bad_key(count, at, codec, value), config(max_message_bytes=8 << 20))
    assert error.code is ErrorCode.INVALID_RECORD
    assert "field" in error.message


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("count", [1, 2, 500])
def test_a_largest_time_that_no_record_has_is_put_right(codec: Codec, count: int) -> None:
    lying = changed(batch(count, codec=codec), MAX_TIMESTAMP, ">q", NOW_MS + 5)
    stored = check(lying)
    stored.check_crc()
    assert stored.max_timestamp == NOW_MS


def test_where_the_log_sets_the_time_the_header_is_left_alone() -> None:
    lying = changed(batch(), MAX_TIMESTAMP, ">q", NOW_MS + 5)
    assert check(lying, config(log_append_time=True)).max_timestamp == NOW_MS + 5


def with_offsets(*deltas: int, codec: Codec = Codec.NONE) -> bytes:
    """Records that say of their offsets what they should not."""
    records = b"".join(encode_record(delta, 0, b"k", b"%d" % index) for index, delta in enumerate(deltas))
    return rebuilt(batch(len(deltas)), records, codec)


WRONG_OFFSETS = [(1, 0, 2), (0, 0, 0), (0, 1, 7), (0, -1, 1), (1, 2, 3)]


@pytest.mark.parametrize("deltas", WRONG_OFFSETS)
def test_offsets_of_plain_records_are_left_as_they_are(deltas: tuple[int, ...]) -> None:
    data = with_offsets(*deltas)
    assert bytes(check(data).data) == data


@pytest.mark.parametrize("deltas", WRONG_OFFSETS)
@pytest.mark.parametrize("codec", list(Codec)[1:])
def test_compressed_records_whose_offsets_do_not_go_up_by_one_are_refused_as_kafka_does(
    codec: Codec, deltas: tuple[int, ...]
) -> None:
    assert error_of(with_offsets(*deltas, codec=codec)).code is ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize("deltas", WRONG_OFFSETS)
def test_a_topic_that_is_cleaned_takes_no_offsets_that_do_not_go_up_by_one(deltas: tuple[int, ...]) -> None:
    error = error_of(with_offsets(*deltas), config(compact=True))
    assert error.code is ErrorCode.INVALID_RECORD
    assert "could not be cleaned" in error.message


@pytest.mark.parametrize("deltas", WRONG_OFFSETS)
@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize(("codec", "wanted"), [(Codec.NONE, "lz4"), (Codec.LZ4, "uncompressed"), (Codec.LZ4, "gzip")])
def test_where_the_codec_changes_records_get_offsets_that_go_up_by_one(
    codec: Codec, wanted: str, compact: bool, deltas: tuple[int, ...]
) -> None:
    stored = check(with_offsets(*deltas, codec=codec), config(compression_type=wanted, compact=compact))
    found = [(record.offset, record.value) for record in iter_records(stored, bytes_max=1 << 20)]
    assert found == [(0, b"0"), (1, b"1"), (2, b"2")]


@pytest.mark.parametrize("compact", [False, True])
def test_offsets_behind_a_long_compressed_record_are_looked_at(*, compact: bool) -> None:
    records = encode_record(0, 0, b"k", bytes(2 << 20)) + encode_record(0, 0, b"k", b"v")
    error = error_of(rebuilt(batch(2), records, Codec.LZ4), config(max_message_bytes=8 << 20, compact=compact))
    assert error.code is ErrorCode.UNKNOWN_SERVER_ERROR
