"""From fetched bytes to the records that a consumer may see."""

from __future__ import annotations

import struct
import zlib
from random import Random

import pytest

from ottla.client.failures import MalformedAnswer
from ottla.client.fetched import Aborted, visible_records, whole_entries
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import BatchBuilder, Codec, EndTransactionMarker, end_transaction_batch

BYTES_MAX = 1 << 20


def batch(base_offset: int, *values: bytes, producer_id: int = -1, codec: Codec = Codec.NONE) -> bytes:
    is_transactional = producer_id >= 0
    builder = BatchBuilder(
        base_offset=base_offset,
        codec=codec,
        producer_id=producer_id,
        producer_epoch=0 if is_transactional else -1,
        base_sequence=0 if is_transactional else -1,
        is_transactional=is_transactional,
    )
    for value in values:
        builder.append(None, value, timestamp=1)
    return builder.build()


def marker(base_offset: int, producer_id: int, *, is_commit: bool) -> bytes:
    end = EndTransactionMarker(is_commit, 0)
    return end_transaction_batch(end, producer_id=producer_id, producer_epoch=0, timestamp=1, base_offset=base_offset)


def legacy_message(offset: int, value: bytes) -> bytes:
    """A message of format v1."""
    body = struct.pack(">bbqi", 1, 0, 5, -1) + struct.pack(">i", len(value)) + value
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


def values(data: bytes, aborted: tuple[Aborted, ...] = (), offset: int = 0) -> list[bytes | None]:
    entries = whole_entries(memoryview(data), offset)
    return [record.value for record in visible_records(entries, aborted, batch_bytes_max=BYTES_MAX)]


@pytest.mark.parametrize("codec", list(Codec))
def test_records_of_every_codec_are_seen(codec: Codec) -> None:
    assert values(batch(0, b"a", b"b", codec=codec) + batch(2, b"c")) == [b"a", b"b", b"c"]


def test_messages_of_an_old_format_are_seen() -> None:
    assert values(legacy_message(0, b"old") + batch(1, b"new")) == [b"old", b"new"]


def test_nothing_is_nothing() -> None:
    assert whole_entries(memoryview(b""), 0) == []


def test_a_batch_that_is_cut_off_at_the_end_is_left_for_the_next_fetch() -> None:
    assert values(batch(0, b"a") + batch(1, b"b")[:-1]) == [b"a"]


@pytest.mark.parametrize("data", [b"x", batch(0, b"a")[:-1], batch(0, b"a", b"b")])
def test_bytes_that_lead_nowhere_are_refused(data: bytes) -> None:
    with pytest.raises(MalformedAnswer, match=f"{len(data)} bytes fetched from offset 7 hold nothing from there on"):
        values(data, offset=7)


def test_a_damaged_batch_is_not_shown() -> None:
    damaged = batch(0, b"a") + batch(1, b"b")[:-1] + b"x"
    entries = whole_entries(memoryview(damaged), 0)
    records = visible_records(entries, (), batch_bytes_max=BYTES_MAX)
    assert next(records).value == b"a"
    with pytest.raises(KafkaError) as raised:
        next(records)
    assert raised.value.code == ErrorCode.CORRUPT_MESSAGE


def test_a_batch_that_grows_beyond_the_bound_is_not_shown() -> None:
    bomb = batch(0, bytes(BYTES_MAX + 1), codec=Codec.ZSTD)
    with pytest.raises(KafkaError, match="1048576 are allowed"):
        values(bomb)


def test_control_batches_are_never_seen() -> None:
    assert values(batch(0, b"a", producer_id=1) + marker(1, 1, is_commit=True)) == [b"a"]


def test_aborted_transactions_are_left_out_and_others_are_not() -> None:
    data = b"".join(
        (
            batch(0, b"one", producer_id=1),
            batch(1, b"two", producer_id=2),
            batch(2, b"plain"),
            marker(3, 1, is_commit=False),
            batch(4, b"one again", producer_id=1),
            marker(5, 1, is_commit=True),
            batch(6, b"two more", producer_id=2),
            marker(7, 2, is_commit=False),
        )
    )
    assert values(data, (Aborted(2, 1), Aborted(1, 0))) == [b"plain", b"one again"]
    assert len(values(data)) == 5


def test_a_marker_that_the_cleaner_emptied_ends_nothing() -> None:
    emptied = BatchBuilder(base_offset=1, producer_id=1, producer_epoch=0, is_transactional=True, is_control=True)
    data = batch(0, b"a", producer_id=1) + emptied.build(last_offset=1) + batch(2, b"b", producer_id=1)
    assert values(data, (Aborted(1, 0),)) == []


def test_damaged_bytes_raise_nothing_but_errors_of_the_protocol() -> None:
    random = Random(5)
    intact = batch(0, b"a", b"b", codec=Codec.GZIP) + batch(2, b"c", producer_id=1) + marker(3, 1, is_commit=False)
    refused = 0
    for _ in range(3000):
        damaged = bytearray(intact)
        for _ in range(random.randrange(1, 4)):
            damaged[random.randrange(len(damaged))] = random.choice((0, 1, 127, 128, 255, random.randrange(256)))
        try:
            values(bytes(damaged), (Aborted(1, 2),))
        except KafkaError:
            refused += 1
    assert refused > 1000
