"""Three brokers under every fault there is, many seeds; a failure names the line that shows it again.

The counts are printed, and each has a floor: a simulation in which nothing happens would prove nothing. The mutants at
the end prove that the checks can fail: each breaks one rule of replication, and some seed must notice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from ottla.cluster.controller import fail_over, in_sync
from ottla.cluster.controller.draft import Draft
from ottla.cluster.in_sync_replicas import InSyncReplicas
from ottla.server.in_sync_keeping import InSyncKeeping
from ottla.server.partition import Partition
from ottla.server.replica_fetching import FollowingReplica
from ottla.storage import log_trimming
from ottla.storage.leader_epochs import LeaderEpochs
from ottla.storage.log import Log
from ottla.storage.log_directory import LogDirectory
from tests.cluster.controller.small_cluster import NODE_ID as CONTROLLER
from tests.simulation import broker
from tests.simulation.broker import Timing
from tests.simulation.network import Weather
from tests.simulation.world import Faults, OneController, World

DURATION_MS = 6_000


def troubled(seed: int, **worse: int) -> World:
    """A cluster of the kind that the seed says, after some time of trouble and some of peace."""
    choose = Random(seed).choice
    timing = Timing(
        session_ms=choose([300, 600, 1200]),
        lag_ms=choose([200, 500, 1500]),
        segment_bytes=choose([200, 2000]),
        fetch_bytes_max=choose([1, 300, 10_000]),
    )
    faults = Faults(
        weather=Weather(loss=choose([0, 20, 100]), duplication=choose([0, 50, 200]), delay_ms_max=choose([3, 20, 60])),
        power_cut=choose([0, 3, 15]),
        kill=choose([0, 5]),
        stop=choose([0, 5]),
        pause=choose([0, 5]),
        flush=choose([0, 10, 50]),
        partition=choose([0, 10, 40]),
        balance=choose([0, 20]),
    )
    for fault, chance in worse.items():
        setattr(faults, fault, chance)
    world: World | None = None
    try:
        world = OneController(seed, timing)
        world.trouble(DURATION_MS, faults)
        world.check_liveness()
    except Exception as error:
        error.add_note("" if world is None else world.describe())
        options = "".join(f" {name}={chance}" for name, chance in worse.items())
        error.add_note(f"again: python -m tests.simulation --replication --seed {seed}{options}")
        raise
    return world


# For 50 seeds, about a third of what is usual.
FLOORS = {
    "acknowledged": 1_000,
    "elections": 50,
    "ISR changes": 200,
    "truncations": 12,
    "power cuts with unsynced records": 20,
    "restarts with less": 12,
    "kills": 15,
    "clean stops": 20,
    "pauses": 30,
    "partitions": 60,
}


def survive(seeds: range) -> Counter[str]:
    counts: Counter[str] = Counter(seeds=len(seeds))
    for seed in seeds:
        counts += troubled(seed).counts
    lacking = {name: counts[name] for name, floor in FLOORS.items() if counts[name] < floor * len(seeds) // 50}
    assert not lacking, f"too little happened: {lacking} of {dict(counts)}"
    return counts


Counted = Callable[[str, dict[str, int]], None]


@pytest.mark.parametrize("first_seed", range(0, 1_000, 50))
def test_nothing_acknowledged_is_lost_whatever_happens(first_seed: int, counted: Counted) -> None:
    counted("simulated replication", survive(range(first_seed, first_seed + 50)))


@pytest.mark.soak
@pytest.mark.parametrize("first_seed", range(1_000, 41_000, 500))
def test_nothing_acknowledged_is_lost_in_many_more_worlds(first_seed: int, counted: Counted) -> None:
    counted("simulated replication", survive(range(first_seed, first_seed + 500)))


def test_the_same_seed_is_the_same_run() -> None:
    one, other = troubled(7), troubled(7)
    assert one.now_ms() == other.now_ms()
    assert one.committed == other.committed
    assert one.counts == other.counts


def test_whom_the_controller_may_have_taken_into_the_isr_counts_until_it_says_otherwise() -> None:
    """Its answer is lost, and then the one who has joined is cut off: the leader must not go on without it."""
    world = OneController(1, Timing(session_ms=600, lag_ms=200, segment_bytes=2000, fetch_bytes_max=10_000))
    world.run(300)
    leader, third = world.brokers[1], world.brokers[3]
    third.stop_cleanly()
    world.run_until(lambda: 3 not in world.controller.partition.isr)
    world.run(500)
    third.start()
    world.run_until(lambda: leader.image.brokers.by_id[3].is_active, step_ms=1)
    assert 3 not in world.controller.partition.isr
    world.network.cut([CONTROLLER], [1, 2], is_one_way=True)
    world.run_until(lambda: 3 in world.controller.partition.isr, step_ms=1)
    world.network.cut([CONTROLLER, 3], [1, 2], is_one_way=True)
    world.run(500)
    world.check_liveness()


# Mutants


def acknowledges_before_the_others_have_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Partition, "when_committed", lambda self, end_offset, tell: tell(None))


def counts_only_itself(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(InSyncReplicas, "committed_end", lambda self, leaders_end, active, **rest: leaders_end)


def forgets_whom_it_has_proposed(patch: pytest.MonkeyPatch) -> None:
    """And those who may join: the high watermark passes what a new member of the ISR has."""

    def committed_end(self: InSyncReplicas, leaders_end: int, active: Any, *, min_isr: int, **rest: int) -> int:
        ends = [self.followers[id].end_offset for id in self.isr if id != self.node_id]
        return -1 if self.is_under_min_isr(min_isr) else min([leaders_end, *ends])

    patch.setattr(InSyncReplicas, "committed_end", committed_end)


def joins_before_it_has_caught_up(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(InSyncReplicas, "_may_join", lambda self, id, high_watermark, active: id in active)


def commits_below_min_isr(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(InSyncReplicas, "is_under_min_isr", lambda self, min_isr: False)


def truncates_to_its_high_watermark(patch: pytest.MonkeyPatch) -> None:
    """As Kafka did before KIP-101."""

    def begin(self: FollowingReplica, topic: str, topic_id: bytes, index: int, log: Log, *leader: int) -> None:
        original(self, topic, topic_id, index, log, *leader)
        log_trimming.truncate_to(log, log.high_watermark, 0)

    original = FollowingReplica.__init__
    patch.setattr(FollowingReplica, "__init__", begin)


def truncates_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(broker, "divergence", lambda leader, fetch_offset, last_fetched_epoch: None)


def forgets_the_epochs_of_its_log(patch: pytest.MonkeyPatch) -> None:
    original = LeaderEpochs.end_offset_for
    patch.setattr(LeaderEpochs, "end_offset_for", lambda self, epoch, end: original(self, self.latest_epoch, end))


def keeps_an_epoch_that_nobody_wrote_in(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LeaderEpochs, "forget_announced", lambda self: None)


def leaves_checkpoints_when_it_cuts(patch: pytest.MonkeyPatch) -> None:
    def truncate_to(self: LogDirectory, key: Any, offset: int, now_ms: int) -> None:
        log_trimming.truncate_to(self.hosted[key].log, offset, now_ms)

    patch.setattr(LogDirectory, "truncate_to", truncate_to)


def elects_who_lost_its_page_cache(patch: pytest.MonkeyPatch) -> None:
    def restart(draft: Draft, broker_id: int, *, was_clean: bool) -> None:
        original(draft, broker_id, was_clean=True)

    original = fail_over.restart
    patch.setattr(fail_over, "restart", restart)


def takes_another_incarnation_for_the_one_in_sync(patch: pytest.MonkeyPatch) -> None:
    """KIP-903."""
    patch.setattr(in_sync, "_may_be_in_sync", lambda draft, member: draft.broker(member.broker_id) is not None)
    patch.setattr(
        InSyncReplicas,
        "_may_join",
        lambda self, id, high_watermark, active: self.followers[id].end_offset >= high_watermark,
    )


Mutant = Callable[[pytest.MonkeyPatch], None]
# Each with the faults that it wants more of than most seeds have.
MUTANTS: tuple[tuple[Mutant, dict[str, int]], ...] = (
    (acknowledges_before_the_others_have_it, {}),
    (counts_only_itself, {}),
    (forgets_whom_it_has_proposed, {}),
    (joins_before_it_has_caught_up, {}),
    (commits_below_min_isr, {}),
    (truncates_to_its_high_watermark, {}),
    (truncates_nothing, {}),
    (forgets_the_epochs_of_its_log, {}),
    (keeps_an_epoch_that_nobody_wrote_in, {"pause": 20, "balance": 60, "partition": 40}),
    (leaves_checkpoints_when_it_cuts, {"power_cut": 20, "pause": 20, "flush": 80, "partition": 40, "balance": 40}),
    (elects_who_lost_its_page_cache, {}),
    (takes_another_incarnation_for_the_one_in_sync, {}),
)
MUTANT_SEEDS = 1_000


@pytest.mark.parametrize(("mutant", "faults"), MUTANTS, ids=[mutant.__name__ for mutant, _ in MUTANTS])
def test_the_simulation_notices_a_broker_that(
    mutant: Mutant, faults: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)
    for seed in range(MUTANT_SEEDS):
        try:
            troubled(seed, **faults)
        except Exception as error:  # whatever the broken broker trips over first
            print(f"seed {seed}: {error}")  # noqa: T201 - shown by pytest -s
            return
    pytest.fail(f"{MUTANT_SEEDS} seeds did not notice")


def test_the_story_of_the_lost_answer_notices_a_leader_that_forgets_what_it_proposed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def forget(self: InSyncKeeping, undecided: list[Any]) -> None:
        for one in undecided:
            one.in_sync.refused(one.proposal)

    monkeypatch.setattr(InSyncKeeping, "_propose_again", forget)
    with pytest.raises(AssertionError, match="broker 3 may lead"):
        test_whom_the_controller_may_have_taken_into_the_isr_counts_until_it_says_otherwise()
