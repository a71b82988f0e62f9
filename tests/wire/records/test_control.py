"""Control records: keys, transaction markers, batches of the quorum."""

from __future__ import annotations

import struct

import pytest

from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import (
    ControlType,
    EndTransactionMarker,
    Record,
    control_batch,
    control_key,
    control_type,
    end_transaction_batch,
    iter_batches,
    iter_records,
    parse_end_transaction,
)
from tests.wire.records.samples import NOW_MS


def control_record(key: bytes | None, value: bytes | None) -> Record:
    return Record(0, 0, key, value, ())


@pytest.mark.parametrize("is_commit", [False, True])
def test_a_marker_comes_back_from_its_batch(is_commit: bool) -> None:
    marker = EndTransactionMarker(is_commit, 12)
    data = end_transaction_batch(
        marker, producer_id=9, producer_epoch=2, timestamp=NOW_MS, base_offset=40, leader_epoch=3
    )
    (batch,) = iter_batches(data)
    batch.check_crc()
    assert (batch.is_control, batch.is_transactional, batch.producer_id, batch.producer_epoch) == (True, True, 9, 2)
    (record,) = iter_records(batch, bytes_max=1000)
    assert record.offset == 40
    assert parse_end_transaction(record) == marker


def test_the_quorums_records_are_types_and_bytes() -> None:
    data = control_batch(
        [(ControlType.SNAPSHOT_HEADER, b"h"), (ControlType.KRAFT_VOTERS, b"v")], timestamp=NOW_MS, base_offset=3
    )
    (batch,) = iter_batches(data)
    assert (batch.is_control, batch.is_transactional, batch.has_producer_id) == (True, False, False)
    found = [(control_type(record.key), record.value) for record in iter_records(batch, bytes_max=1000)]
    assert found == [(ControlType.SNAPSHOT_HEADER, b"h"), (ControlType.KRAFT_VOTERS, b"v")]


def test_a_control_record_of_another_type_is_no_marker() -> None:
    assert parse_end_transaction(control_record(control_key(ControlType.LEADER_CHANGE), b"")) is None


def test_what_a_later_kafka_adds_is_skipped_or_ignored() -> None:
    assert control_type(struct.pack(">hh", 0, 99)) is None
    assert control_type(struct.pack(">hhq", 1, 1, 5)) is ControlType.COMMIT
    longer = control_record(control_key(ControlType.COMMIT), struct.pack(">hiq", 1, 4, 5))
    assert parse_end_transaction(longer) == EndTransactionMarker(True, 4)


@pytest.mark.parametrize("key", [None, b"", b"\0\0\0", struct.pack(">hh", -1, 0)])
def test_a_key_that_is_none_is_invalid(key: bytes | None) -> None:
    with pytest.raises(KafkaError) as caught:
        control_type(key)
    assert caught.value.code == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("value", [None, b"", b"\0\0\0\0\0", struct.pack(">hi", -1, 0)])
def test_a_marker_without_its_value_is_invalid(value: bytes | None) -> None:
    with pytest.raises(KafkaError) as caught:
        parse_end_transaction(control_record(control_key(ControlType.ABORT), value))
    assert caught.value.code == ErrorCode.INVALID_RECORD
