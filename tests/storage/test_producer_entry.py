"""One producer: its last five batches, and sequence numbers that wrap around."""

from __future__ import annotations

from ottla.storage.producer_entry import SEQUENCE_MAX, AppendedBatch, ProducerEntry


def test_a_new_producer_is_known_by_nothing() -> None:
    entry = ProducerEntry(7)
    assert (entry.last_sequence, entry.last_offset, entry.last_offset_delta, entry.next_sequence) == (-1, -1, 0, 0)
    assert (entry.producer_epoch, entry.coordinator_epoch, entry.last_timestamp) == (-1, -1, -1)
    assert repr(entry) == "<producer 7, epoch -1, last sequence -1>"


def test_five_batches_are_remembered() -> None:
    entry = ProducerEntry(7, 0)
    for number in range(7):
        entry.add_batch(number, number, 100 + number, 0, 1000 + number)
    assert [batch[0] for batch in entry.batches] == [2, 3, 4, 5, 6]
    assert entry.find_batch(1, 1) is None
    assert entry.find_batch(2, 2) == (2, 102, 0, 1002)
    assert (entry.last_sequence, entry.last_offset, entry.last_timestamp, entry.next_sequence) == (6, 106, 1006, 7)


def test_a_batch_is_found_by_both_of_its_sequence_numbers() -> None:
    entry = ProducerEntry(7, 0)
    entry.add_batch(5, 9, 109, 4, 1000)
    found = entry.find_batch(5, 9)
    assert found is not None
    assert (found.first_offset, found.last_offset, found.first_sequence) == (105, 109, 5)
    assert entry.find_batch(6, 9) is None
    assert entry.find_batch(5, 8) is None


def test_sequence_numbers_begin_again_after_the_largest() -> None:
    entry = ProducerEntry(7, 0)
    entry.add_batch(SEQUENCE_MAX, SEQUENCE_MAX, 10, 0, 0)
    assert entry.next_sequence == 0
    entry.add_batch(SEQUENCE_MAX - 1, 1, 14, 3, 0)
    assert entry.next_sequence == 2
    assert AppendedBatch(*entry.batches[-1]).first_sequence == SEQUENCE_MAX - 1
    assert entry.find_batch(SEQUENCE_MAX - 1, 1) == (1, 14, 3, 0)


def test_a_new_epoch_forgets_the_batches_of_the_old() -> None:
    entry = ProducerEntry(7, 0)
    entry.add_batch(5, 5, 10, 0, 0)
    entry.begin_epoch(1)
    assert (entry.producer_epoch, entry.batches, entry.next_sequence) == (1, [], 0)


def test_a_gap_is_remembered_as_long_as_the_batch_before_it() -> None:
    entry = ProducerEntry(7, 0)
    for number, sequence in enumerate([5, 6, 4, 5, 6, 7, 8]):
        entry.add_batch(sequence, sequence, number, 0, 0)
        assert (entry.gap_count > 0) is (number in (2, 3, 4, 5))
    entry.add_batch(99, 99, 10, 0, 0)
    assert entry.gap_count
    entry.begin_epoch(1)
    assert not entry.gap_count
