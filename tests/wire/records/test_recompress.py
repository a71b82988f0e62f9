"""The same records under another codec, for every codec from every other."""

from __future__ import annotations

import pytest

from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import BatchBuilder, Codec, RecordBatch, iter_records, read_batch, recompress

NOW_MS = 1_700_000_000_000
BYTES_MAX = 1 << 20
CODEC_MASK = 0x07
DELETE_HORIZON_AND_UNKNOWN_BITS = 0x1C0


def batch_of(codec: Codec, *, count: int = 50, is_transactional: bool = True) -> RecordBatch:
    builder = BatchBuilder(
        base_offset=7,
        codec=codec,
        producer_id=9,
        producer_epoch=2,
        base_sequence=11,
        leader_epoch=4,
        is_transactional=is_transactional,
    )
    for number in range(count):
        headers = [(b"number", b"%d" % number), (b"null", None)]
        builder.append(b"key" if number % 2 else None, b"value " * number, timestamp=NOW_MS + number, headers=headers)
    found = read_batch(memoryview(builder.build()))
    assert found is not None
    return found


def facts(batch: RecordBatch) -> tuple[int, ...]:
    """All of the header that must not depend on the codec."""
    return (
        *(batch.base_offset, batch.leader_epoch, batch.attributes & ~CODEC_MASK, batch.last_offset_delta),
        *(batch.base_timestamp, batch.max_timestamp, batch.producer_id, batch.producer_epoch),
        *(batch.base_sequence, batch.count),
    )


@pytest.mark.parametrize("target", list(Codec))
@pytest.mark.parametrize("source", list(Codec))
def test_the_records_and_all_else_in_the_header_stay(source: Codec, target: Codec) -> None:
    before = batch_of(source)
    after = recompress(before, target, bytes_max=BYTES_MAX)
    after.check_crc()
    assert (after.codec, after.start, after.end) == (target, 0, len(after.view))
    assert facts(after) == facts(before)
    assert list(iter_records(after, bytes_max=BYTES_MAX)) == list(iter_records(before, bytes_max=BYTES_MAX))


@pytest.mark.parametrize("codec", [Codec.ZSTD, Codec.LZ4])
def test_the_level_is_the_callers(codec: Codec) -> None:
    before = batch_of(Codec.NONE, count=300)
    low, high = (recompress(before, codec, level=level, bytes_max=BYTES_MAX) for level in (1, 12))
    assert low.size_bytes != high.size_bytes


def test_bits_that_are_not_a_producers_to_set_are_left_behind() -> None:
    before = batch_of(Codec.NONE, is_transactional=False)
    before.attributes |= DELETE_HORIZON_AND_UNKNOWN_BITS
    assert recompress(before, Codec.GZIP, bytes_max=BYTES_MAX).attributes == Codec.GZIP


def test_what_would_come_out_is_bounded() -> None:
    before = batch_of(Codec.ZSTD)
    records_bytes = batch_of(Codec.NONE).records_data.nbytes
    recompress(before, Codec.NONE, bytes_max=records_bytes)
    with pytest.raises(KafkaError) as caught:
        recompress(before, Codec.NONE, bytes_max=records_bytes - 1)
    assert caught.value.code is ErrorCode.MESSAGE_TOO_LARGE
