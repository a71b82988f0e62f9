"""What a leader refuses, and with which error."""

from __future__ import annotations

import pytest

from ottla.storage.producer_checks import (
    PRODUCER_EPOCH_MAX,
    check_begins_verified,
    check_epoch,
    check_marker,
    check_no_open_transaction,
    check_sequence,
    read_marker,
)
from ottla.storage.producer_entry import SEQUENCE_MAX, ProducerEntry
from ottla.storage.producer_verification import Verification
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import BatchBuilder, ControlType, RecordBatch, control_key
from tests.storage.producer_batches import NOW_MS, data_batch, marker_batch


def known(*, epoch: int = 3, last_sequence: int = 9, transaction_first_offset: int = -1) -> ProducerEntry:
    entry = ProducerEntry(7, epoch, 5, NOW_MS, transaction_first_offset)
    entry.add_batch(last_sequence, last_sequence, 50, 0, NOW_MS)
    return entry


def code_of(check: object, *args: object) -> ErrorCode | None:
    assert callable(check)
    try:
        check(*args)
    except KafkaError as error:
        return error.code if "producer 7" in error.message else None
    return None


def test_an_old_epoch_is_fenced() -> None:
    assert code_of(check_epoch, known(), 2) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert code_of(check_epoch, known(), 3) is None
    assert code_of(check_epoch, known(), 4) is None


@pytest.mark.parametrize(
    ("epoch", "sequence", "code"),
    [
        (3, 10, None),
        (3, 11, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (3, 9, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (4, 0, None),
        (4, 10, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (3, -1, ErrorCode.INVALID_RECORD),
    ],
)
def test_sequence_numbers_follow_each_other(epoch: int, sequence: int, code: ErrorCode | None) -> None:
    assert code_of(check_sequence, known(), data_batch(epoch=epoch, sequence=sequence), None) is code


def test_zero_follows_the_largest_sequence_number() -> None:
    entry = known(last_sequence=SEQUENCE_MAX)
    assert code_of(check_sequence, entry, data_batch(epoch=3, sequence=0), None) is None
    assert code_of(check_sequence, entry, data_batch(epoch=3, sequence=1), None) is not None


def test_a_producer_that_was_forgotten_goes_on_where_it_was() -> None:
    assert code_of(check_sequence, ProducerEntry(7), data_batch(epoch=3, sequence=1234), None) is None


def test_only_the_lowest_of_the_batches_that_wait_for_verification_comes_first() -> None:
    asked = Verification(4, 3, is_epoch_bumped=False, now_ms=NOW_MS)
    assert code_of(check_sequence, ProducerEntry(7), data_batch(epoch=3, sequence=4), asked) is None
    refused = code_of(check_sequence, ProducerEntry(7), data_batch(epoch=3, sequence=5), asked)
    assert refused is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_with_an_epoch_per_transaction_a_producer_that_is_not_known_begins_at_zero() -> None:
    asked = Verification(4, 3, is_epoch_bumped=True, now_ms=NOW_MS)
    refused = code_of(check_sequence, ProducerEntry(7), data_batch(epoch=3, sequence=4), asked)
    assert refused is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert code_of(check_sequence, ProducerEntry(7), data_batch(epoch=3, sequence=0), asked) is None
    asked.lowest_sequence = 10
    assert code_of(check_sequence, known(), data_batch(epoch=3, sequence=10), asked) is None


def test_a_transaction_begins_only_with_the_guard_of_its_own_question() -> None:
    asked = Verification(0, 0, is_epoch_bumped=True, now_ms=NOW_MS)
    other = Verification(0, 0, is_epoch_bumped=True, now_ms=NOW_MS)
    assert code_of(check_begins_verified, known(), asked, asked) is None
    for guard, under_way in ((None, asked), (other, asked), (asked, None), (None, None)):
        assert code_of(check_begins_verified, known(), guard, under_way) is ErrorCode.INVALID_TXN_STATE


def test_a_plain_batch_does_not_fit_into_a_transaction() -> None:
    assert code_of(check_no_open_transaction, known()) is None
    assert code_of(check_no_open_transaction, known(transaction_first_offset=0)) is ErrorCode.INVALID_TXN_STATE


@pytest.mark.parametrize(
    ("version", "epoch", "is_open", "code"),
    [
        (1, 2, True, ErrorCode.INVALID_PRODUCER_EPOCH),
        (1, 3, True, None),
        (1, 4, True, None),
        (2, 2, True, ErrorCode.INVALID_PRODUCER_EPOCH),
        (2, 3, True, ErrorCode.INVALID_PRODUCER_EPOCH),
        (2, 3, False, None),  # the coordinator sends the marker once more
        (2, 4, True, None),
    ],
)
def test_a_marker_needs_the_epoch_that_its_transaction_version_asks_for(
    version: int, epoch: int, is_open: bool, code: ErrorCode | None
) -> None:
    entry = known(transaction_first_offset=0 if is_open else -1)
    assert code_of(check_marker, entry, marker_batch(epoch=epoch, coordinator_epoch=5), version) is code


def test_the_last_epoch_of_all_may_end_its_transaction() -> None:
    entry = known(epoch=PRODUCER_EPOCH_MAX, transaction_first_offset=0)
    assert code_of(check_marker, entry, marker_batch(epoch=PRODUCER_EPOCH_MAX, coordinator_epoch=5), 2) is None


def test_a_coordinator_that_was_replaced_is_fenced() -> None:
    fenced = code_of(check_marker, known(), marker_batch(epoch=3, coordinator_epoch=4), 1)
    assert fenced is ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert code_of(check_marker, known(), marker_batch(epoch=3, coordinator_epoch=6), 1) is None


def control_batch_with(key: bytes | None, value: bytes | None) -> RecordBatch:
    builder = BatchBuilder(producer_id=7, producer_epoch=0, is_control=True)
    builder.append(key, value, timestamp=NOW_MS)
    return RecordBatch(memoryview(builder.build()))


def test_a_marker_is_read_with_its_time() -> None:
    found = read_marker(marker_batch(is_commit=False, coordinator_epoch=5, timestamp=123))
    assert found is not None
    assert (found[0].is_commit, found[0].coordinator_epoch, found[1]) == (False, 5, 123)


def test_control_batches_that_are_no_markers_change_nothing() -> None:
    emptied = RecordBatch(
        memoryview(BatchBuilder(producer_id=7, is_control=True).build(last_offset=0, max_timestamp=1))
    )
    unknown = control_batch_with(control_key(ControlType.LEADER_CHANGE), b"")
    for batch in (emptied, unknown):
        assert read_marker(batch) is None
        check_marker(known(), batch, 2)


@pytest.mark.parametrize(
    ("key", "value"),
    [(None, b""), (b"\0", b""), (control_key(ControlType.COMMIT), None), (control_key(ControlType.ABORT), b"\0")],
)
def test_a_control_batch_that_cannot_be_read_is_refused(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(KafkaError):
        read_marker(control_batch_with(key, value))


def test_a_marker_that_is_too_large_is_refused_unread() -> None:
    with pytest.raises(KafkaError):
        read_marker(control_batch_with(control_key(ControlType.COMMIT), bytes(5000)))
