"""Worlds by their seed: what a seed chooses, what happens then, and the line that shows a failure again.

`troubled` is a whole cluster with its quorum. `survive` adds up what happened in many, and wants enough of everything:
a simulation in which nothing happens would prove nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from random import Random

from tests.simulation.broker import Timing
from tests.simulation.cluster_world import ClusterFaults, ClusterWorld, NothingPromised
from tests.simulation.network import Weather
from tests.simulation.quorum_replica import QuorumSetup

DURATION_MS = 5_000


def new_world(seed: int) -> tuple[ClusterWorld, ClusterFaults]:
    choose = Random(seed).choice
    is_combined = choose([True, False])
    is_dynamic = choose([True, True, False])
    timing = Timing(
        session_ms=choose([300, 600, 1200]),
        lag_ms=choose([200, 500, 1500]),
        segment_bytes=choose([200, 2000]),
        fetch_bytes_max=choose([1, 300, 10_000]),
    )
    setup = QuorumSetup(
        voter_ids=choose([(1, 2, 3), (1, 2, 3), (1,), (1, 2)]),
        is_dynamic=is_dynamic,
        session_ms=timing.session_ms,
        bytes_between_snapshots=choose([500, 2_000, 100_000]),
        # As small as it may be: a batch of the controller's has to fit.
        segment_bytes=choose([1_000, 4_000]),
        fetch_bytes_max=choose([300, 1_000_000]),
    )
    faults = ClusterFaults(
        weather=Weather(loss=choose([0, 20, 100]), duplication=choose([0, 50, 200]), delay_ms_max=choose([3, 20, 60])),
        power_cut=choose([0, 3, 15]),
        cut_within=choose([0, 3, 15]),
        kill=choose([0, 5]),
        stop=choose([0, 5]),
        pause=choose([0, 5]),
        flush=choose([0, 10, 50]),
        partition=choose([0, 10, 40]),
        assassination=choose([0, 10, 40]),
        operation=choose([50, 200]),
        reassignment=choose([0, 10, 50]),
        reconfiguration=choose([0, 20, 100]) if is_dynamic else 0,
    )
    world = ClusterWorld(seed, timing, setup, controllers=4, brokers=range(1, 5) if is_combined else range(11, 15))
    return world, faults


def troubled(seed: int, **worse: int) -> ClusterWorld:
    """A cluster of the kind that the seed says, after some time of trouble and some of peace."""
    world = None
    try:
        world, faults = new_world(seed)
        for fault, chance in worse.items():
            setattr(faults, fault, chance)
        world.trouble(DURATION_MS, faults)
        world.check_liveness()
    except NothingPromised:
        assert world is not None
        world.counts["nothing promised"] += 1
    except Exception as error:
        error.add_note("" if world is None else world.describe())
        options = "".join(f" {name}={chance}" for name, chance in worse.items())
        error.add_note(f"again: python -m tests.simulation --seed {seed}{options}")
        raise
    assert world is not None
    return world


# For 50 seeds, about a third of what is usual; less of what is rare and comes in heaps.
FLOORS = {
    "acknowledged": 1_000,
    "quorum elections": 50,
    "controllers lost": 25,
    "elections": 30,
    "ISR changes": 100,
    "truncations": 5,
    "metadata truncations": 3,
    "snapshot installs": 50,
    "reassignments": 5,
    "AddRaftVoter done": 1,
    "RemoveRaftVoter done": 1,
    "CreateTopics done": 50,
    "power cuts with unsynced records": 15,
    "power cuts with unsynced metadata": 15,
    "power cuts within": 40,
    "kills": 20,
    "clean stops": 30,
    "pauses": 40,
    "partitions": 60,
}
NOTHING_PROMISED_MAX = 3


def survive(seeds: Iterable[int]) -> Counter[str]:
    seeds = list(seeds)
    counts: Counter[str] = Counter(seeds=len(seeds))
    for seed in seeds:
        counts += troubled(seed).counts
    lacking = {name: counts[name] for name, floor in FLOORS.items() if counts[name] < floor * len(seeds) // 50}
    assert not lacking, f"too little happened: {lacking} of {dict(counts)}"
    assert counts["nothing promised"] <= max(1, NOTHING_PROMISED_MAX * len(seeds) // 50), "too many have no end"
    return counts
