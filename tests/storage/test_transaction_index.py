"""The index of aborted transactions: searched by range, and never silently short (failure class 30)."""

from __future__ import annotations

import errno
from random import Random

import pytest

from ottla.storage.open_transactions import CompletedTransaction
from ottla.storage.producer_state import ProducerState
from ottla.storage.sparse_index import IndexDamaged
from ottla.storage.transaction_index import AbortedTransaction, TransactionIndex
from tests.storage.fake_disk import FakeDisk
from tests.storage.producer_batches import NOW_MS, data_batch, marker_batch

PATH = "/00000000000000000000.txnindex"
SAMPLE = [
    AbortedTransaction(0, 0, 10, 11),
    AbortedTransaction(1, 5, 15, 13),
    AbortedTransaction(2, 18, 35, 25),
    AbortedTransaction(3, 32, 50, 40),
]


def index_of(transactions: list[AbortedTransaction], disk: FakeDisk | None = None) -> TransactionIndex:
    index = TransactionIndex(disk or FakeDisk(), PATH, 0)
    for producer_id, first_offset, last_offset, last_stable_offset in transactions:
        index.append(CompletedTransaction(producer_id, first_offset, last_offset, True), last_stable_offset)
    return index


def test_what_is_appended_is_read_again() -> None:
    disk = FakeDisk()
    index_of(SAMPLE, disk)
    again = TransactionIndex(disk, PATH, 0, len(disk.read(PATH)))
    again.check()
    assert again.entries() == SAMPLE
    assert len(disk.read(PATH)) == 34 * len(SAMPLE)


def test_there_is_no_file_before_the_first_entry() -> None:
    disk = FakeDisk()
    index = TransactionIndex(disk, PATH, 0)
    index.truncate(5)
    index.check()
    index.reset()
    assert index.file_to_sync() is None
    assert index.search(0, 100) == ([], False)
    assert not disk.exists(PATH)


@pytest.mark.parametrize(
    ("fetch_offset", "end_offset", "producer_ids", "is_complete"),
    [
        (0, 100, [0, 1, 2, 3], False),
        (0, 32, [0, 1, 2], True),
        (0, 35, [0, 1, 2, 3], True),
        (10, 35, [0, 1, 2, 3], True),
        (11, 35, [1, 2, 3], True),
        (20, 41, [2, 3], False),
        (60, 100, [], False),
        (0, 5, [0], True),
    ],
)
def test_a_range_finds_the_transactions_that_touch_it(
    fetch_offset: int, end_offset: int, producer_ids: list[int], is_complete: bool
) -> None:
    found = index_of(SAMPLE).search(fetch_offset, end_offset)
    assert ([transaction.producer_id for transaction in found.transactions], found.is_complete) == (
        producer_ids,
        is_complete,
    )


def test_a_search_agrees_with_a_plain_walk_over_many_entries() -> None:
    random = Random(7)
    transactions = []
    stable = 0
    for number in range(3000):
        stable = random.randint(stable, number * 10)
        transactions.append(AbortedTransaction(number, random.randint(stable, number * 10), number * 10 + 5, stable))
    index = index_of(transactions)
    for _ in range(50):
        fetch_offset = random.randint(0, 30_000)
        end_offset = fetch_offset + random.randint(1, 5000)
        expected = []
        for transaction in transactions:
            if transaction.last_offset >= fetch_offset and transaction.first_offset < end_offset:
                expected.append(transaction)
            if transaction.last_offset >= fetch_offset and transaction.last_stable_offset >= end_offset:
                break
        assert index.search(fetch_offset, end_offset).transactions == expected


@pytest.mark.parametrize(("offset", "left_count"), [(51, 4), (50, 3), (16, 2), (11, 1), (10, 0)])
def test_truncation_drops_the_markers_that_the_log_lost(offset: int, left_count: int) -> None:
    disk = FakeDisk()
    index = index_of(SAMPLE, disk)
    index.truncate(offset)
    assert index.entries() == SAMPLE[:left_count]
    assert len(disk.read(PATH)) == 34 * left_count


def test_reset_empties_the_index_whatever_is_in_the_file() -> None:
    disk = FakeDisk()
    index = index_of(SAMPLE, disk)
    index.reset()
    assert (index.entries(), disk.read(PATH)) == ([], b"")
    disk.replace(PATH, b"torn")
    fresh = TransactionIndex(disk, PATH, 0)
    fresh.reset()
    assert disk.read(PATH) == b""


@pytest.mark.parametrize(
    "wrong",
    [
        [AbortedTransaction(0, 0, -1, 0)],
        [AbortedTransaction(0, 11, 10, 0)],
        [AbortedTransaction(0, -1, 10, 0)],
    ],
)
def test_entries_that_cannot_be_of_this_segment_are_damage(wrong: list[AbortedTransaction]) -> None:
    with pytest.raises(IndexDamaged, match="txnindex"):
        index_of(wrong).check()


def test_markers_before_the_segment_or_out_of_order_are_damage() -> None:
    disk = FakeDisk()
    index_of(SAMPLE, disk)
    with pytest.raises(IndexDamaged):
        TransactionIndex(disk, PATH, 11, 4 * 34).check()
    data = disk.read(PATH)
    disk.replace(PATH, data[34:68] + data[:34])
    with pytest.raises(IndexDamaged):
        TransactionIndex(disk, PATH, 0, 2 * 34).check()


def test_another_version_a_torn_end_and_a_short_file_are_damage() -> None:
    disk = FakeDisk()
    index = index_of(SAMPLE, disk)
    disk.flip(PATH, 34 + 1)
    with pytest.raises(IndexDamaged, match="version 1"):
        index.check()
    with pytest.raises(IndexDamaged, match="multiple"):
        TransactionIndex(disk, PATH, 0, 35)
    with pytest.raises(IndexDamaged, match="ends before"):
        TransactionIndex(disk, PATH, 0, 34 * 9).search(1000, 2000)


def test_our_own_mistakes_are_noticed() -> None:
    index = index_of(SAMPLE)
    with pytest.raises(AssertionError):
        index.append(CompletedTransaction(9, 40, 50, True), 0)
    with pytest.raises(AssertionError):
        index.append(CompletedTransaction(9, 40, 60, False), 0)


def test_a_failed_append_changes_nothing_and_the_next_writes_over_it() -> None:
    disk = FakeDisk(seed=3)
    index = index_of(SAMPLE[:2], disk)
    disk.fail("write", error=errno.ENOSPC)
    with pytest.raises(OSError, match="space"):
        index_append(index, SAMPLE[2])
    assert index.entries() == SAMPLE[:2]
    index_append(index, SAMPLE[2])
    assert index.entries() == SAMPLE[:3]
    assert len(disk.read(PATH)) == 34 * 3


def index_append(index: TransactionIndex, transaction: AbortedTransaction) -> None:
    completed = CompletedTransaction(transaction.producer_id, transaction.first_offset, transaction.last_offset, True)
    index.append(completed, transaction.last_stable_offset)


def test_the_last_stable_offset_stays_while_the_index_cannot_be_written() -> None:
    """KAFKA-7866: readers of committed records must not get past a transaction that nobody told them was aborted."""
    disk = FakeDisk()
    index = TransactionIndex(disk, PATH, 0)
    producers = ProducerState("t-0")
    producers.apply(data_batch(7, 0, 0, count=10, is_transactional=True), NOW_MS)
    completed = producers.apply(marker_batch(7, 10, is_commit=False), NOW_MS)
    assert completed is not None
    disk.fail("write", "*.txnindex", forever=True)
    with pytest.raises(OSError, match="error"):
        index.append(completed, producers.stable_offset_after(completed))
    producers.advance_high_watermark(11)
    assert producers.last_stable_offset(11, 0) == 0

    disk.heal()
    index.append(completed, producers.stable_offset_after(completed))
    producers.complete(completed)
    producers.advance_high_watermark(11)
    assert producers.last_stable_offset(11, 0) == 11
    assert index.search(0, 11).transactions == [(7, 0, 10, 11)]


def test_the_file_is_given_up_and_found_again_under_another_name() -> None:
    disk = FakeDisk()
    index = index_of(SAMPLE, disk)
    file = index.file_to_sync()
    assert file is not None
    file.sync()
    index.release()
    assert index.entries() == SAMPLE
    disk.rename(PATH, PATH + ".deleted")
    index.moved(PATH + ".deleted")
    assert index.entries() == SAMPLE
