"""Whole clusters under every fault there is, many seeds; a failure names the line that shows it again.

What happened is counted, printed at the end of the run, and has to be enough. That the checks can fail is proven by the
mutants of tests/mutants, which are run on the tests below.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import pytest

from tests.simulation import __main__ as command
from tests.simulation.clusters import survive, troubled

Counted = Callable[[str, dict[str, int]], None]
SEEDS_PER_TEST = 50


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Crashes are nothing special here."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("first_seed", range(0, 2_000, SEEDS_PER_TEST))
def test_clusters_keep_their_promises_whatever_happens(first_seed: int, counted: Counted) -> None:
    counted("simulated clusters", survive(range(first_seed, first_seed + SEEDS_PER_TEST)))


@pytest.mark.soak
@pytest.mark.parametrize("first_seed", range(10_000, 55_000, 100))
def test_many_more_clusters_keep_their_promises(first_seed: int, counted: Counted) -> None:
    counted("simulated clusters", survive(range(first_seed, first_seed + 100)))


@pytest.mark.parametrize(
    "seed",
    [
        13_630,  # a controller that starts from a snapshot with all there is, and hears of nothing new
        13_950,  # a leader that is about to stop answers for what is committed just then
        47_588,  # the power fails while a snapshot takes the place of a log that went farther, in vain
        1_000_967,  # a leader that slept hears what is committed when others have a snapshot of it
    ],
)
def test_worlds_that_have_found_something_are_survived(seed: int) -> None:
    troubled(seed)


def test_the_same_seed_is_the_same_run() -> None:
    one, other = troubled(5), troubled(5)
    assert one.now_ms() == other.now_ms()
    assert one.committed == other.committed
    assert one.image == other.image
    assert one.counts == other.counts


def test_a_line_shows_a_world_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--seed", "5", "pause=0", "partition=0"]) == 0
    shown = capsys.readouterr().out
    assert "quorum elections" in shown
    assert "pauses" not in shown


# Worlds with more of one fault than most seeds have. Each finds a kind of mistake soon, as the mutants show.
STORMS: dict[str, dict[str, int]] = {
    "elections": {"assassination": 60, "partition": 40},
    "crashes": {"cut_within": 20, "power_cut": 20, "assassination": 40},
    "voters": {"reconfiguration": 500, "partition": 40, "assassination": 40, "reassignment": 0},
    "moves": {"reassignment": 200, "pause": 10, "power_cut": 10},
    "pauses": {"pause": 20, "partition": 40, "operation": 300},
    "everything": {"pause": 20, "stop": 10, "power_cut": 15, "cut_within": 10, "partition": 30, "reassignment": 10},
    "snapshots": {"operation": 500, "pause": 10, "partition": 40, "kill": 5},
}


STORM_SEEDS = range(1_000, 1_012)


@pytest.mark.parametrize("seed", STORM_SEEDS)
@pytest.mark.parametrize("storm", STORMS)
def test_clusters_survive_a_storm_of(storm: str, seed: int) -> None:
    troubled(seed, **STORMS[storm])
