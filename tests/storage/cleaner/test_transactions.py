"""Which batches were aborted, and which markers have nothing left to mark."""

from __future__ import annotations

import pytest

from ottla.storage.cleaner.retention import emptied
from ottla.storage.cleaner.transactions import TransactionProgress
from ottla.storage.transaction_index import AbortedTransaction
from ottla.wire.errors import KafkaError
from ottla.wire.records import BatchBuilder, ControlType, RecordBatch, control_batch, iter_batches
from tests.storage.cleaner.histories import History


def batches(history: History) -> list[RecordBatch]:
    return [batch for segment in history.segments for data in segment for batch in iter_batches(data)]


def judged(progress: TransactionProgress, history: History) -> list[bool]:
    return [
        progress.is_needless(batch) if batch.is_control else progress.is_aborted(batch) for batch in batches(history)
    ]


def test_data_is_aborted_from_the_first_offset_to_the_marker() -> None:
    history = History()
    history.append((b"a", b"1"), producer_id=1, in_transaction=True)
    history.append((b"a", b"2"), producer_id=2, in_transaction=True)
    history.append((b"a", b"3"), producer_id=1, in_transaction=True)
    history.append((b"a", b"4"))
    history.end(1, is_commit=False)
    history.end(2, is_commit=True)
    history.append((b"a", b"5"), producer_id=1, in_transaction=True)
    history.end(1, is_commit=True)
    progress = TransactionProgress(history.aborted)
    assert judged(progress, history) == [True, False, True, False, False, False, False, False]
    assert progress.kept == history.aborted


@pytest.mark.parametrize("is_commit", [True, False])
def test_a_marker_without_data_is_needless(is_commit: bool) -> None:
    history = History()
    history.append((b"a", b"1"), producer_id=1, in_transaction=True)
    history.end(1, is_commit=is_commit)
    history.end(1, is_commit=is_commit)
    progress = TransactionProgress(history.aborted)
    assert judged(progress, history)[1:] == [False, True]


def test_a_transaction_whose_data_is_gone_leaves_the_index() -> None:
    history = History()
    marker = history.end(1, is_commit=False)
    progress = TransactionProgress([AbortedTransaction(1, 0, marker, marker + 1)])
    assert judged(progress, history) == [True]
    assert progress.kept == []


def test_a_transaction_that_is_told_of_twice_is_one() -> None:
    history = History()
    history.append((b"a", b"1"), producer_id=1, in_transaction=True)
    history.end(1, is_commit=False)
    progress = TransactionProgress([*history.aborted, *history.aborted])
    assert judged(progress, history) == [True, False]


def test_an_emptied_marker_is_needless() -> None:
    history = History()
    history.end(1, is_commit=True)
    [batch] = [next(iter_batches(emptied(batch))) for batch in batches(history)]
    assert TransactionProgress([]).is_needless(batch)


def test_control_records_of_the_quorum_are_never_needless() -> None:
    [batch] = iter_batches(control_batch([(ControlType.LEADER_CHANGE, b"")], timestamp=1))
    assert not TransactionProgress([]).is_needless(batch)


def test_a_control_record_without_a_type_is_an_error() -> None:
    builder = BatchBuilder(is_control=True)
    builder.append(b"", b"", timestamp=1)
    [batch] = iter_batches(builder.build())
    with pytest.raises(KafkaError):
        TransactionProgress([]).is_needless(batch)
