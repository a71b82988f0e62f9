"""Transactions that readers wait for: undecided ones, and decided ones whose marker may still be lost."""

from __future__ import annotations

from random import Random

import pytest

from ottla.storage.open_transactions import CompletedTransaction, OpenTransactions


def completed(producer_id: int, first_offset: int, last_offset: int) -> CompletedTransaction:
    return CompletedTransaction(producer_id, first_offset, last_offset, is_aborted=False)


def test_without_transactions_all_is_stable() -> None:
    transactions = OpenTransactions()
    transactions.replicated_to(100)
    assert transactions.first_unstable_offset is None
    assert transactions.first_undecided_offset is None
    assert transactions.oldest_producer_id is None


def test_a_transaction_is_unstable_until_its_marker_is_replicated() -> None:
    transactions = OpenTransactions()
    transactions.begin(1, 10)
    assert (transactions.first_unstable_offset, transactions.first_undecided_offset) == (10, 10)
    transactions.complete(completed(1, 10, 20))
    assert (transactions.first_unstable_offset, transactions.first_undecided_offset) == (10, None)
    transactions.replicated_to(20)
    assert transactions.first_unstable_offset == 10
    transactions.replicated_to(21)
    assert transactions.first_unstable_offset is None


def test_the_oldest_transaction_holds_back_the_others() -> None:
    transactions = OpenTransactions()
    transactions.begin(1, 10)
    transactions.begin(2, 11)
    transactions.complete(completed(2, 11, 12))
    transactions.replicated_to(100)
    assert transactions.first_unstable_offset == 10
    assert transactions.oldest_producer_id == 1


def test_the_index_learns_how_far_all_is_decided() -> None:
    transactions = OpenTransactions()
    transactions.begin(1, 10)
    transactions.begin(2, 11)
    assert transactions.stable_offset_after(completed(1, 10, 20)) == 11
    assert transactions.stable_offset_after(completed(2, 11, 20)) == 10
    transactions.complete(completed(1, 10, 20))
    assert transactions.stable_offset_after(completed(2, 11, 21)) == 22
    transactions.begin(3, 30)  # began after the marker, before it was completed here
    assert transactions.stable_offset_after(completed(2, 11, 21)) == 22


def test_what_never_began_cannot_be_completed() -> None:
    transactions = OpenTransactions()
    transactions.begin(1, 10)
    with pytest.raises(AssertionError):
        transactions.complete(completed(2, 10, 20))


def test_transactions_begin_in_the_order_of_offsets() -> None:
    transactions = OpenTransactions()
    transactions.begin(1, 10)
    with pytest.raises(AssertionError):
        transactions.begin(2, 10)


def test_clear_forgets_all() -> None:
    transactions = OpenTransactions()
    transactions.begin(1, 10)
    transactions.begin(2, 11)
    transactions.complete(completed(1, 10, 12))
    transactions.clear()
    assert (transactions.first_unstable_offset, transactions.first_undecided_offset) == (None, None)
    transactions.begin(1, 5)
    assert transactions.first_unstable_offset == 5


@pytest.mark.parametrize("seed", range(5))
def test_any_history_agrees_with_a_plain_search(seed: int) -> None:
    random = Random(seed)
    transactions = OpenTransactions()
    ongoing: dict[int, int] = {}
    unreplicated: dict[int, int] = {}
    high_watermark = 0
    for offset in range(1000):
        choice = random.random()
        if choice < 0.5:
            transactions.begin(offset, offset)
            ongoing[offset] = offset
        elif choice < 0.85 and ongoing:
            first_offset = random.choice(list(ongoing))
            transactions.complete(completed(ongoing.pop(first_offset), first_offset, offset))
            unreplicated[first_offset] = offset
        else:
            high_watermark = random.randint(high_watermark, offset)
            transactions.replicated_to(high_watermark)
            unreplicated = {first: last for first, last in unreplicated.items() if last >= high_watermark}
        assert transactions.first_unstable_offset == min([*ongoing, *unreplicated], default=None)
        assert transactions.first_undecided_offset == min(ongoing, default=None)
