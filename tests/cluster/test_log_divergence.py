"""Where a follower cuts: the public cases by hand, then any two histories until they agree."""

from __future__ import annotations

import random

import pytest

from ottla.cluster.log_divergence import NO_EPOCH, EpochEnd, divergence, truncation_offset

Log = list[int]  # the epoch of each record, by offset


class History:
    """Epochs of a log, asked as Kafka's LeaderEpochFileCache is."""

    def __init__(self, log: Log) -> None:
        self.log = log

    def end_of(self, epoch: int) -> EpochEnd:
        if not self.log or epoch > max(self.log):
            return EpochEnd(NO_EPOCH, NO_EPOCH)
        known = [one for one in self.log if one <= epoch]
        found = max(known) if known else epoch
        return EpochEnd(found, sum(one <= epoch for one in self.log))


def cut(follower: Log, leader: Log) -> tuple[Log, int]:
    """Ask and cut until the leader has no objection; how often that was."""
    rounds = 0
    while follower:
        ends = divergence(History(leader), len(follower), follower[-1])
        if ends is None:
            break
        rounds += 1
        assert rounds < 50
        offset = truncation_offset(History(follower), len(follower), ends)
        assert offset < len(follower), "every round must bring it nearer"
        follower = follower[:offset]
    return follower, rounds


def test_a_log_that_is_only_behind_is_not_cut() -> None:
    assert cut([0, 0, 1], [0, 0, 1, 1, 2]) == ([0, 0, 1], 0)


def test_a_record_of_a_leader_that_nobody_else_had_goes() -> None:
    """KIP-101: by the high watermark it would have stayed, or too much would have gone."""
    assert cut([0, 0, 0], [0, 0, 1]) == ([0, 0], 1)


def test_epochs_that_the_leader_does_not_know_take_more_than_one_question() -> None:
    """KIP-279: two fast elections."""
    found, rounds = cut([0, 0, 1, 1, 3, 3], [0, 0, 0, 2, 2, 4])
    assert (found, rounds) == ([0, 0], 2)


def test_an_empty_log_has_nothing_to_cut() -> None:
    assert divergence(History([0, 0]), 0, NO_EPOCH) is None


@pytest.mark.parametrize("seed", range(300))
def test_any_two_logs_agree_in_the_end_on_all_that_they_share(seed: int) -> None:
    rng = random.Random(seed)

    def grown(log: Log, epochs: list[int]) -> Log:
        for epoch in sorted(rng.sample(epochs, rng.randint(0, len(epochs)))):
            log = log + [epoch] * rng.randint(1, 4)
        return log

    shared = grown([], [0, 1, 2])
    first = max(shared, default=0) + 1
    # An epoch has one leader, so that two logs which have it have it from the same one: odd here, even there.
    follower = grown(shared, [first + number for number in range(0, 6, 2)])
    leader = grown(shared, [first + number for number in range(1, 7, 2)])
    found, _ = cut(follower, leader)
    assert found == follower[: len(found)]
    assert found == leader[: len(found)]
    assert len(found) >= len(shared)
