"""The history of leader epochs: Kafka's rules, and on the disk before anybody relies on it (failure class 23)."""

from __future__ import annotations

from itertools import count

import pytest

from ottla.storage.checkpoint_file import CheckpointError
from ottla.storage.leader_epochs import FILE_NAME, EpochEntry, LeaderEpochs
from tests.storage.fake_disk import FakeDisk, PowerCut

DIRECTORY = "/t-0"
PATH = f"{DIRECTORY}/{FILE_NAME}"


def new_disk(seed: int = 0) -> FakeDisk:
    disk = FakeDisk(seed)
    disk.make_directory(DIRECTORY)
    disk.sync_directory("/")
    return disk


def history(*entries: tuple[int, int]) -> LeaderEpochs:
    epochs = LeaderEpochs(new_disk(), DIRECTORY)
    for epoch, start_offset in entries:
        epochs.assign(epoch, start_offset)
    return epochs


def test_an_epoch_is_on_the_disk_when_assign_returns() -> None:
    """KAFKA-7415: whatever the power cut takes, it does not take an epoch that records may have been written in."""
    for seed in range(30):
        disk = new_disk(seed)
        epochs = LeaderEpochs(disk, DIRECTORY)
        epochs.assign(0, 0)
        epochs.assign(3, 100)
        disk.crash()
        assert LeaderEpochs.load(disk, DIRECTORY).entries == [(0, 0), (3, 100)], disk.story()


def test_a_power_cut_within_assign_leaves_the_old_history_or_the_new() -> None:
    """KAFKA-16541: never a torn file."""
    for cut in count(1):
        disk = new_disk(seed=cut)
        epochs = LeaderEpochs(disk, DIRECTORY)
        epochs.assign(0, 0)
        disk.crash_after(cut)
        try:
            epochs.assign(1, 10)
        except PowerCut:
            disk.crash()
        else:
            break
        assert LeaderEpochs.load(disk, DIRECTORY).entries in ([(0, 0)], [(0, 0), (1, 10)]), disk.story()
    assert cut > 4


def test_after_a_failed_write_nothing_has_changed() -> None:
    epochs = history((0, 0))
    disk = epochs._disk
    assert isinstance(disk, FakeDisk)
    disk.fail("sync")
    with pytest.raises(OSError, match="error"):
        epochs.assign(1, 10)
    assert epochs.latest_epoch == 0
    assert epochs.entries == LeaderEpochs.load(disk, DIRECTORY).entries == [(0, 0)]


def test_the_latest_epoch_is_minus_one_before_the_first() -> None:
    epochs = LeaderEpochs.load(new_disk(), DIRECTORY)
    assert (epochs.latest_epoch, len(epochs), epochs.entries) == (-1, 0, [])
    epochs.assign(0, 0)
    assert (epochs.latest_epoch, len(epochs)) == (0, 1)


def test_the_same_epoch_again_writes_nothing() -> None:
    epochs = history((2, 10))
    disk = epochs._disk
    assert isinstance(disk, FakeDisk)
    before = disk.operation_count
    epochs.assign(2, 10)
    epochs.assign(2, 50)
    assert disk.operation_count == before
    assert epochs.entries == [(2, 10)]


@pytest.mark.parametrize(
    ("new", "left"),
    [
        ((5, 40), [(1, 10), (2, 20), (4, 30), (5, 40)]),
        ((5, 30), [(1, 10), (2, 20), (5, 30)]),  # nothing was written in epoch 4
        ((5, 15), [(1, 10), (5, 15)]),
        ((4, 25), [(1, 10), (2, 20), (4, 25)]),
        ((3, 40), [(1, 10), (2, 20), (3, 40)]),
        ((1, 40), [(1, 40)]),
        ((0, 0), [(0, 0)]),
    ],
)
def test_what_contradicts_a_new_epoch_is_dropped(new: tuple[int, int], left: list[tuple[int, int]]) -> None:
    epochs = history((1, 10), (2, 20), (4, 30))
    epochs.assign(*new)
    assert epochs.entries == left
    assert epochs.latest_epoch == left[-1][0]
    assert LeaderEpochs.load(epochs._disk, DIRECTORY).entries == left


@pytest.mark.parametrize(
    ("epoch", "answer"),
    [
        (-1, (-1, -1)),
        (0, (0, 10)),  # before all that is known: its records are gone
        (1, (1, 20)),
        (2, (2, 30)),
        (3, (2, 30)),  # a gap: the epoch below it, and where that ended (KIP-279)
        (4, (4, 99)),  # the current one
        (5, (-1, -1)),
    ],
)
def test_an_epoch_ends_where_the_next_begins(epoch: int, answer: tuple[int, int]) -> None:
    assert history((1, 10), (2, 20), (4, 30)).end_offset_for(epoch, 99) == answer


def test_an_empty_history_knows_no_end() -> None:
    assert history().end_offset_for(0, 99) == (-1, -1)
    assert history().end_offset_for(-1, 99) == (-1, -1)


def test_an_offset_belongs_to_the_epoch_before_it() -> None:
    epochs = history((1, 10), (2, 20))
    assert [epochs.epoch_for_offset(offset) for offset in (9, 10, 19, 20, 1000)] == [-1, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("end_offset", "left"),
    [(31, [(1, 10), (2, 20), (4, 30)]), (30, [(1, 10), (2, 20)]), (11, [(1, 10)]), (10, []), (0, [])],
)
def test_truncation_at_the_end_drops_epochs_that_began_there(end_offset: int, left: list[tuple[int, int]]) -> None:
    epochs = history((1, 10), (2, 20), (4, 30))
    epochs.truncate_from_end(end_offset)
    assert epochs.entries == left
    assert LeaderEpochs.load(epochs._disk, DIRECTORY).entries == left


@pytest.mark.parametrize(
    ("start_offset", "left"),
    [
        (9, [(1, 10), (2, 20), (4, 30)]),
        (10, [(1, 10), (2, 20), (4, 30)]),
        (15, [(1, 15), (2, 20), (4, 30)]),
        (20, [(2, 20), (4, 30)]),
        (99, [(4, 99)]),
    ],
)
def test_truncation_at_the_start_keeps_the_epoch_of_the_first_offset(
    start_offset: int, left: list[tuple[int, int]]
) -> None:
    epochs = history((1, 10), (2, 20), (4, 30))
    epochs.truncate_from_start(start_offset)
    assert epochs.entries == left
    assert LeaderEpochs.load(epochs._disk, DIRECTORY).entries == left


def test_an_empty_history_is_truncated_without_a_write() -> None:
    epochs = history()
    epochs.truncate_from_start(5)
    epochs.truncate_from_end(5)
    assert not epochs._disk.exists(PATH)


def test_clear_is_durable() -> None:
    epochs = history((1, 10))
    epochs.clear()
    assert (epochs.entries, epochs.latest_epoch) == ([], -1)
    assert epochs._disk.read(PATH) == b"0\n0\n"


def test_a_history_is_rebuilt_by_the_rules_of_assign() -> None:
    found = [EpochEntry(*pair) for pair in [(1, 0), (1, 5), (2, 9), (5, 9), (3, 20), (4, 15)]]
    epochs = history((9, 99))
    epochs.rebuild(found)
    assert epochs.entries == history(*found).entries == [(1, 0), (4, 15)]
    assert LeaderEpochs.load(epochs._disk, DIRECTORY).entries == epochs.entries


def test_a_history_follows_its_directory() -> None:
    epochs = history((1, 10))
    epochs._disk.rename(DIRECTORY, "/t-0.gone")
    epochs.moved("/t-0.gone")
    epochs.assign(2, 20)
    assert LeaderEpochs.load(epochs._disk, "/t-0.gone").entries == [(1, 10), (2, 20)]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"0\n1\n1 x\n", "not a number"),
        (b"0\n1\n-1 5\n", "out of range"),
        (b"0\n2\n1 5\n1 6\n", "follows"),
        (b"0\n2\n1 5\n2 5\n", "follows"),
        (b"0\n2\n1 5\n", "announced"),
    ],
)
def test_a_damaged_history_is_refused_so_that_it_is_rebuilt(data: bytes, why: str) -> None:
    disk = new_disk()
    disk.replace(PATH, data)
    with pytest.raises(CheckpointError, match=why):
        LeaderEpochs.load(disk, DIRECTORY)


def test_a_negative_epoch_is_our_mistake() -> None:
    with pytest.raises(AssertionError):
        history((-1, 0))
    with pytest.raises(AssertionError):
        history((0, -1))


def test_an_epoch_that_is_announced_is_answered_for_and_written_with_its_first_batch() -> None:
    epochs = history((0, 0))
    epochs.announce(3, 100)
    assert (epochs.latest_epoch, epochs.written_epoch) == (3, 0)
    assert epochs.end_offset_for(2, 100) == (0, 100), "later than any epoch that a follower may ask for"
    assert epochs.end_offset_for(3, 100) == (3, 100)
    assert LeaderEpochs.load(epochs._disk, DIRECTORY).entries == [(0, 0)]
    epochs.assign(3, 100)
    assert epochs.written_epoch == 3
    assert LeaderEpochs.load(epochs._disk, DIRECTORY).entries == [(0, 0), (3, 100)]


def test_one_that_is_announced_takes_the_place_of_one_that_nobody_wrote_in() -> None:
    epochs = history((0, 0))
    epochs.announce(1, 10)
    epochs.announce(2, 10)
    epochs.announce(1, 10)
    assert epochs.entries == [(0, 0), (2, 10)]


def test_what_was_announced_is_forgotten_when_others_write_and_what_was_written_is_not() -> None:
    epochs = history((0, 0), (1, 5))
    epochs.announce(3, 10)
    epochs.forget_announced()
    epochs.forget_announced()
    assert epochs.entries == [(0, 0), (1, 5)]
    assert (epochs.latest_epoch, epochs.written_epoch) == (1, 1)


def test_what_was_announced_is_written_with_whatever_else_changes() -> None:
    epochs = history((0, 0), (1, 5))
    epochs.announce(2, 10)
    epochs.truncate_from_start(7)
    assert LeaderEpochs.load(epochs._disk, DIRECTORY).entries == epochs.entries == [(1, 7), (2, 10)]
    assert epochs.written_epoch == 2
