"""Whole quorums under every fault there is, many seeds of each kind; a failure names the seed that shows it again.

The mutants at the end prove that the checks can fail: each breaks one rule of raft, and some seed must notice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from ottla.cluster import raft_election, raft_membership, raft_replication
from ottla.cluster.raft_effects import PersistQuorumState
from ottla.cluster.raft_leader import Leader
from ottla.cluster.raft_log import OffsetAndEpoch
from ottla.cluster.raft_roles import Ballot
from ottla.cluster.raft_state import RaftState
from ottla.wire.errors import ErrorCode, KafkaError
from tests.cluster.raft_simulation import Faults, World

DURATION_MS = 2_500


def troubled(seed: int, **worse: int) -> World:
    """A world of the kind that the seed says, after some time of trouble and some of peace."""
    dice = Random(seed)
    is_dynamic = dice.randrange(3) > 0
    faults = Faults(
        loss=dice.choice([0, 20, 100]),
        duplication=dice.choice([0, 100]),
        delay_ms_max=dice.choice([5, 20, 60]),
        sync_ms_max=dice.choice([5, 20, 60]),
        crash=dice.choice([0, 5, 20]),
        partition=dice.choice([0, 50, 100]),
        snapshot=dice.choice([0, 10, 50]),
        reconfiguration=dice.choice([0, 50, 200]) if is_dynamic else 0,
        assassination=dice.choice([0, 50, 100]),
        amnesia=dice.choice([0, 0, 200]),
    )
    for fault, chance in worse.items():
        setattr(faults, fault, chance)
    world = World(
        seed,
        voters=dice.choice([1, 2, 3, 3, 3, 4, 5]),
        observers=dice.choice([0, 1, 2]),
        is_dynamic=is_dynamic,
        faults=faults,
        linger_ms=dice.choice([0, 5, 25]),
        fetch_bytes_max=dice.choice([1, 1_000_000]),
    )
    try:
        world.trouble(DURATION_MS)
        world.check_logs()
        world.check_liveness()
    except Exception as error:
        error.add_note(f"reproduce with troubled({seed}, **{worse})")
        raise
    return world


@pytest.mark.parametrize("first_seed", range(0, 160, 20))
def test_quorums_keep_their_promises_whatever_happens(first_seed: int) -> None:
    counts: Counter[str] = Counter()
    for seed in range(first_seed, first_seed + 20):
        counts += troubled(seed).counts
    assert counts["elections"] > 20
    assert counts["crashes"] > 10


def test_the_same_seed_is_the_same_run() -> None:
    one, other = troubled(7), troubled(7)
    assert one.now_ms == other.now_ms
    assert repr(one) == repr(other)
    assert one.counts == other.counts


def test_a_quorum_of_one_leads_at_once_and_commits_alone() -> None:
    world = World(1, voters=1)
    world.run(20)
    assert world.active is world.nodes[1]
    offset = world.propose()
    world.run(50)
    assert offset is not None
    assert world.nodes[1].high_watermark == offset + 1


def test_a_leader_cut_off_from_the_majority_steps_down_and_the_others_go_on() -> None:
    world = World(2, voters=3)
    world.run_until(lambda: world.active)
    old = world.active
    assert old is not None
    world.partition([old.id], {1, 2, 3} - {old.id})
    world.run_until(lambda: world.active not in (None, old))
    world.run(3_000)
    assert old.active_epoch is None, "1.5 fetch timeouts without a majority: the old leader has resigned"
    assert world.propose() is not None
    world.check_liveness()


def test_a_follower_that_cannot_reach_the_others_does_not_disturb_them_when_it_comes_back() -> None:
    world = World(3, voters=3)
    world.run_until(lambda: world.active)
    leader = world.active
    assert leader is not None
    assert leader.raft is not None
    epoch = leader.raft.epoch
    lonely = next(node for node in world.nodes.values() if node is not leader)
    world.partition([lonely.id], {1, 2, 3} - {lonely.id})
    world.run(30_000)
    world.heal()
    world.run(5_000)
    assert (world.active, leader.raft.epoch) == (leader, epoch), "pre-vote keeps the epoch (KIP-996)"


def test_a_new_node_joins_by_itself_where_that_is_allowed() -> None:
    world = World(4, voters=1, observers=2, is_auto_join_enabled=True)
    world.run_until(lambda: world.active and len(world.active.raft.voters) == 3)  # type: ignore[union-attr]
    world.check_liveness()


def test_a_new_node_loads_the_snapshot_and_follows() -> None:
    world = World(5, voters=1, observers=1)
    world.partition([1], [2])
    world.run_until(lambda: world.active)
    for _ in range(20):
        world.propose()
        world.run(20)
    world.take_snapshot(world.nodes[1])
    world.check_liveness()
    assert world.counts["snapshots installed"] == 1
    assert world.nodes[2].log.start_offset == world.nodes[1].log.start_offset > 0


# Mutants


def commits_what_earlier_leaders_left(patch: pytest.MonkeyPatch) -> None:
    def advance(self: Leader) -> bool:
        ends = sorted((progress.end_offset for progress in self.voters.values()), reverse=True)
        committed = ends[len(ends) // 2]
        if committed <= (self.high_watermark or 0):
            return False
        self.high_watermark = committed
        return True

    patch.setattr(Leader, "_advance", advance)


def counts_its_own_log_before_it_is_synced(patch: pytest.MonkeyPatch) -> None:
    def flushed(self: Leader, end_offset: int) -> bool:
        return False

    def fetched(self: Leader, key: Any, offset: int, leader_end: int, now_ms: int) -> bool:
        self.voters[self.key.id].end_offset = leader_end
        return original(self, key, offset, leader_end, now_ms)

    original = Leader.fetched
    patch.setattr(Leader, "flushed", flushed)
    patch.setattr(Leader, "fetched", fetched)


def fetches_on_before_the_log_is_synced(patch: pytest.MonkeyPatch) -> None:
    def flush(self: RaftState) -> None:
        original(self)
        self.flushed_offset = self.end.offset

    original = RaftState.flush
    patch.setattr(RaftState, "flush", flush)


def forgets_its_vote_in_a_crash(patch: pytest.MonkeyPatch) -> None:
    def persist(self: RaftState) -> None:
        original(self)
        effect = self.effects[-1]
        assert isinstance(effect, PersistQuorumState)
        if self.role.leader_id is None:
            self.effects.pop()

    original = RaftState._persist
    patch.setattr(RaftState, "_persist", persist)


def votes_for_anybody(patch: pytest.MonkeyPatch) -> None:
    def age(self: OffsetAndEpoch) -> tuple[int, int]:
        return 0, 0

    patch.setattr(OffsetAndEpoch, "age", property(age))


def is_elected_by_a_minority(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Ballot, "_majority", property(lambda self: max(1, len(self._voters) // 2)))


def truncates_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(raft_replication, "divergence", lambda log, offset, epoch: None)


def changes_voters_before_its_epoch_is_committed(patch: pytest.MonkeyPatch) -> None:
    def check(state: RaftState, leader: Leader) -> None:
        if leader.change is not None or not state.is_reconfigurable:
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, "")

    patch.setattr(raft_membership, "_check_no_change_pending", check)


def leads_again_in_the_epoch_it_led(patch: pytest.MonkeyPatch) -> None:
    def first_role(self: RaftState, saved: Any, now_ms: int) -> Any:
        if saved.leader_id == self.key.id:
            saved = saved._replace(leader_id=None, voted=self.key)
        return original(self, saved, now_ms)

    original = RaftState._first_role
    patch.setattr(RaftState, "_first_role", first_role)


def believes_every_leader(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(raft_election, "_voter_request_error", lambda state, sender_id, epoch: ErrorCode.NONE)


Mutant = Callable[[pytest.MonkeyPatch], None]
# Each with the faults that it wants more of than most seeds have.
MUTANTS: list[tuple[Mutant, dict[str, int]]] = [
    (commits_what_earlier_leaders_left, {}),
    (counts_its_own_log_before_it_is_synced, {}),
    (fetches_on_before_the_log_is_synced, {}),
    (forgets_its_vote_in_a_crash, {"amnesia": 400, "assassination": 150}),
    (votes_for_anybody, {}),
    (is_elected_by_a_minority, {}),
    (truncates_nothing, {}),
    (changes_voters_before_its_epoch_is_committed, {"reconfiguration": 700, "partition": 150, "assassination": 100}),
    (leads_again_in_the_epoch_it_led, {}),
    (believes_every_leader, {}),
]
MUTANT_SEEDS = 400


@pytest.mark.parametrize(("mutant", "faults"), MUTANTS, ids=[mutant.__name__ for mutant, _ in MUTANTS])
def test_the_simulation_notices_a_raft_that(
    mutant: Mutant, faults: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)
    for seed in range(MUTANT_SEEDS):
        try:
            troubled(seed, **faults)
        except Exception:  # whatever the broken raft trips over first
            return
    pytest.fail(f"{MUTANT_SEEDS} seeds did not notice")
