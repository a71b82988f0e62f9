"""What of a batch survives: records by key, tombstones by horizon, markers by transaction, headers by producer."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ottla.storage.cleaner.job import LastRecord
from ottla.storage.cleaner.key_map import KeyMap
from ottla.storage.cleaner.retention import Kept, Retention
from ottla.storage.cleaner.transactions import TransactionProgress
from ottla.storage.transaction_index import AbortedTransaction
from ottla.wire.records import (
    BatchBuilder,
    Codec,
    EndTransactionMarker,
    Record,
    RecordBatch,
    TimestampType,
    end_transaction_batch,
    iter_batches,
    iter_records,
    read_legacy_entry,
)
from tests.storage.cleaner.legacy_messages import message, wrapper

NOW_MS = 10_000
RETENTION_MS = 500
NOTHING: Mapping[bytes, int] = {}
LOG_APPEND_TIME = 0x08


def retention(
    last_offsets: Mapping[bytes, int] = NOTHING,
    *,
    latest_offset: int = 100,
    aborted: tuple[AbortedTransaction, ...] = (),
    last_records: Mapping[int, LastRecord] | None = None,
    round_end_offset: int = 1000,
    now_ms: int = NOW_MS,
) -> Retention:
    key_map = KeyMap(1 << 12)
    for key, offset in last_offsets.items():
        key_map.put(key, offset)
    key_map.latest_offset = latest_offset
    return Retention(
        key_map,
        TransactionProgress(aborted),
        last_records or {},
        round_end_offset=round_end_offset,
        now_ms=now_ms,
        delete_retention_ms=RETENTION_MS,
        decompressed_bytes_max=1 << 20,
    )


def batch_of(*pairs: tuple[bytes | None, bytes | None], base_offset: int = 10, **kind: object) -> RecordBatch:
    builder = BatchBuilder(base_offset=base_offset, leader_epoch=4, **kind)  # type: ignore[arg-type]
    for number, (key, value) in enumerate(pairs):
        builder.append(key, value, timestamp=1000 + number, headers=((b"h", None),))
    return next(iter_batches(builder.build()))


def marker(*, is_commit: bool = True) -> RecordBatch:
    data = end_transaction_batch(
        EndTransactionMarker(is_commit, 0), producer_id=7, producer_epoch=2, timestamp=1000, base_offset=20
    )
    return next(iter_batches(data))


def read(kept: Kept | None) -> RecordBatch:
    assert kept is not None
    [batch] = iter_batches(kept.data)
    batch.check_crc()
    assert (kept.last_offset, kept.max_timestamp, kept.records_count) == (
        batch.last_offset,
        batch.max_timestamp,
        batch.count,
    )
    return batch


def records(kept: Kept | None) -> list[Record]:
    return list(iter_records(read(kept), bytes_max=1 << 20))


def values(kept: Kept | None) -> list[bytes | None]:
    return [record.value for record in records(kept)]


# Records


def test_a_batch_that_keeps_all_its_records_is_copied_byte_for_byte() -> None:
    batch = batch_of((b"a", b"1"), (b"b", b"2"), codec=Codec.SNAPPY)
    kept = retention({b"a": 10, b"b": 11}).of_batch(batch)
    assert kept is not None
    assert kept.data == bytes(batch.data)


def test_only_the_last_record_of_a_key_survives() -> None:
    batch = batch_of((b"a", b"1"), (b"a", b"2"), (b"b", b"3"), (b"c", b"4"))
    assert values(retention({b"a": 11, b"b": 50}).of_batch(batch)) == [b"2", b"4"]


def test_records_behind_the_end_of_the_map_survive_whatever_their_key() -> None:
    batch = batch_of((b"a", b"1"), (None, b"2"), (b"a", b"3"))
    assert values(retention({b"a": 50}, latest_offset=10).of_batch(batch)) == [b"2", b"3"]


def test_records_without_a_key_are_dropped_and_counted() -> None:
    rules = retention()
    assert values(rules.of_batch(batch_of((None, b"1"), (b"a", b"2")))) == [b"2"]
    assert (rules.keyless_count, rules.read_count) == (1, 2)


@pytest.mark.parametrize("codec", list(Codec))
def test_what_is_built_anew_keeps_offsets_times_headers_producer_epoch_and_codec(codec: Codec) -> None:
    kind = {"producer_id": 7, "producer_epoch": 2, "base_sequence": 30, "is_transactional": True, "codec": codec}
    batch = batch_of((b"a", b"1"), (b"b", b"2"), (b"c", b"3"), **kind)
    kept = retention({b"a": 99, b"c": 99}).of_batch(batch)
    assert records(kept) == [Record(11, 1001, b"b", b"2", ((b"h", None),))]
    fields = ("base_offset", "last_offset", "leader_epoch", "attributes", "producer_id", "producer_epoch")
    fields += ("base_sequence", "last_sequence")
    assert [getattr(read(kept), name) for name in fields] == [getattr(batch, name) for name in fields]
    assert (read(kept).base_timestamp, read(kept).max_timestamp) == (1001, 1001)


def test_append_time_stays() -> None:
    batch = batch_of((b"a", b"1"), (b"b", b"2"), append_time=5555)
    kept = retention({b"a": 99}).of_batch(batch)
    assert read(kept).timestamp_type == TimestampType.LOG_APPEND_TIME
    assert [record.timestamp for record in records(kept)] == [5555]


def test_a_batch_that_loses_all_its_records_is_dropped() -> None:
    assert retention({b"a": 99}).of_batch(batch_of((b"a", b"1"))) is None


# Tombstones (KIP-534)


def test_a_tombstone_gets_a_horizon_when_it_is_first_cleaned() -> None:
    kept = retention({b"a": 10}).of_batch(batch_of((b"a", None), (b"b", b"2")))
    assert read(kept).delete_horizon_ms == NOW_MS + RETENTION_MS
    assert [(record.value, record.timestamp) for record in records(kept)] == [(None, 1000), (b"2", 1001)]


def test_until_the_horizon_it_is_copied_and_then_it_is_dropped() -> None:
    first = read(retention({b"a": 10}).of_batch(batch_of((b"a", None), (b"b", b"2"))))
    before = retention(now_ms=NOW_MS + RETENTION_MS - 1).of_batch(first)
    assert before is not None
    assert before.data == bytes(first.data)
    after = retention(now_ms=NOW_MS + RETENTION_MS).of_batch(first)
    assert values(after) == [b"2"]
    assert read(after).delete_horizon_ms == NOW_MS + RETENTION_MS


def test_a_tombstone_that_is_not_the_last_of_its_key_goes_at_once() -> None:
    kept = retention({b"a": 50}).of_batch(batch_of((b"a", None), (b"b", b"2")))
    assert values(kept) == [b"2"]
    assert read(kept).delete_horizon_ms is None


# Transactions


def test_aborted_data_is_dropped() -> None:
    batch = batch_of((b"a", b"1"), producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)
    assert retention(aborted=(AbortedTransaction(7, 10, 20, 21),)).of_batch(batch) is None
    assert retention().of_batch(batch) is not None


def test_a_marker_with_data_before_it_stays_as_it_is() -> None:
    rules = retention()
    rules.of_batch(batch_of((b"a", b"1"), producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True))
    kept = rules.of_batch(marker())
    assert kept is not None
    assert kept.data == bytes(marker().data)


@pytest.mark.parametrize("is_commit", [True, False])
def test_a_marker_without_data_gets_a_horizon_and_goes_after_it(is_commit: bool) -> None:
    first = read(retention().of_batch(marker(is_commit=is_commit)))
    assert (first.delete_horizon_ms, first.count) == (NOW_MS + RETENTION_MS, 1)
    kept = retention(now_ms=NOW_MS + RETENTION_MS - 1).of_batch(first)
    assert kept is not None
    assert kept.data == bytes(first.data)
    assert retention(now_ms=NOW_MS + RETENTION_MS).of_batch(first) is None


# Headers that stay


def test_the_last_batch_of_a_producer_stays_as_a_header() -> None:
    batch = batch_of((b"a", b"1"), (b"b", None), producer_id=7, producer_epoch=2, base_sequence=30, codec=Codec.GZIP)
    kept = retention({b"a": 99, b"b": 99}, last_records={7: LastRecord(11, 2)}).of_batch(batch)
    left = read(kept)
    assert (left.count, left.size_bytes, left.attributes, left.base_timestamp) == (0, 61, 0, -1)
    fields = ("base_offset", "last_offset", "last_sequence", "producer_epoch", "leader_epoch", "max_timestamp")
    assert [getattr(left, name) for name in fields] == [getattr(batch, name) for name in fields]
    assert retention({b"a": 99, b"b": 99}, last_records={7: LastRecord(9, 2)}).of_batch(batch) is None


def test_a_header_that_stayed_stays_as_long_as_its_producer() -> None:
    last_records = {7: LastRecord(10, 2)}
    batch = batch_of((b"a", b"1"), producer_id=7, producer_epoch=2, base_sequence=0, is_transactional=True)
    aborted = (AbortedTransaction(7, 10, 20, 21),)
    kept = retention(aborted=aborted, last_records=last_records).of_batch(batch)
    again = retention(aborted=aborted, last_records=last_records).of_batch(read(kept))
    assert kept == again
    assert read(kept).is_transactional
    assert retention().of_batch(read(kept)) is None


def test_a_producer_known_by_its_marker_only_keeps_the_marker_of_its_epoch() -> None:
    past = {"now_ms": NOW_MS + RETENTION_MS}
    first = read(retention().of_batch(marker()))
    kept = retention(last_records={7: LastRecord(None, 2)}, **past).of_batch(first)  # type: ignore[arg-type]
    assert (read(kept).count, read(kept).is_control) == (0, True)
    assert retention(last_records={7: LastRecord(None, 3)}, **past).of_batch(first) is None  # type: ignore[arg-type]


def test_the_last_batch_of_the_round_stays_as_a_header_so_that_the_end_is_known() -> None:
    batch = batch_of((b"a", b"1"), (b"a", b"2"))
    kept = retention({b"a": 99}, round_end_offset=12).of_batch(batch)
    assert (read(kept).count, read(kept).last_offset) == (0, 11)


# Old formats


def legacy(data: bytes, rules: Retention, *, keeps_tombstones: bool = True) -> bytes | None:
    entry = read_legacy_entry(memoryview(b"junk" + data), 4)
    assert entry is not None
    kept = rules.of_legacy(entry, keeps_tombstones=keeps_tombstones)
    return None if kept is None else kept.data


@pytest.mark.parametrize("magic", [0, 1])
def test_an_old_message_is_copied_or_dropped(magic: int) -> None:
    data = message(10, b"a", b"1", magic=magic)
    assert legacy(data, retention({b"a": 10})) == data
    assert legacy(data, retention({b"a": 11})) is None
    assert legacy(message(10, None, b"1", magic=magic), retention()) is None


def test_an_old_tombstone_goes_with_the_age_of_its_segment() -> None:
    data = message(10, b"a", None)
    assert legacy(data, retention()) == data
    assert legacy(data, retention(), keeps_tombstones=False) is None


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
def test_an_old_wrapper_that_loses_a_message_becomes_a_batch(codec: Codec) -> None:
    data = wrapper(12, message(0, b"a", b"1"), message(1, b"b", b"2"), message(2, b"a", None), codec=codec)
    assert legacy(data, retention({b"a": 12})) is not None
    [batch] = iter_batches(legacy(data, retention({b"a": 12})) or b"")
    assert batch.codec == codec
    assert (batch.base_offset, batch.last_offset, batch.delete_horizon_ms) == (11, 12, NOW_MS + RETENTION_MS)
    found = [(record.offset, record.timestamp, record.value) for record in iter_records(batch, bytes_max=1 << 20)]
    assert found == [(11, 5, b"2"), (12, 5, None)]


def test_an_old_wrapper_that_loses_nothing_or_everything_is_copied_or_dropped() -> None:
    data = wrapper(11, message(0, b"a", b"1"), message(1, b"b", b"2"))
    assert legacy(data, retention()) == data
    assert legacy(data, retention({b"a": 50, b"b": 50})) is None


def test_a_wrapper_keeps_its_append_time_and_its_end() -> None:
    data = wrapper(11, message(0, b"a", b"1"), message(1, b"b", b"2"), attributes=LOG_APPEND_TIME)
    [batch] = iter_batches(legacy(data, retention({b"b": 50})) or b"")
    assert (batch.base_offset, batch.last_offset, batch.delete_horizon_ms) == (10, 11, None)
    assert batch.timestamp_type == TimestampType.LOG_APPEND_TIME
    assert [record.timestamp for record in iter_records(batch, bytes_max=1 << 20)] == [9]


def test_a_wrapper_whose_own_offset_is_zero_ends_with_its_last_message() -> None:
    data = wrapper(0, message(0, b"a", b"1"), message(1, b"b", b"2"))
    [batch] = iter_batches(legacy(data, retention({b"a": 50})) or b"")
    assert (batch.base_offset, batch.last_offset) == (1, 1)
