"""Random histories of members, crashes, lost answers and failed writes against the pure core.

What has to hold whatever happens: a partition never has two owners in the coordinator's books, and no member reads what
it does not hold there (one that was removed may not know it yet); no commit that was acknowledged is lost, and none is
taken from who is not the owner any more; once faults stop, the group becomes stable and every partition has its owner.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pytest

from ottla.coordinators.consumer_group.group import held_by
from ottla.coordinators.subscriptions import wanted_names
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.consumer_groups import ConsumerGroupHeartbeatResponse
from tests.coordinators.consumer_group.world import BILLS, ORDERS, ConsumerWorld

HISTORIES = 2_000
STEPS = 40
REBALANCE_TIMEOUT_MS = 30_000
NAMES = {ORDERS: "orders", BILLS: "bills"}
SUBSCRIPTIONS: list[dict[str, Any]] = [
    {"topics": ["orders"], "regex": ""},
    {"topics": ["orders", "bills"], "regex": ""},
    {"topics": [], "regex": ".*s"},
]
Partition = tuple[bytes, int]


@dataclass
class Client:
    """A consumer: what it was told, and what it reads. It stops reading when it is told so, and says so later."""

    member_id: str
    instance_id: str | None
    subscription: dict[str, Any]
    epoch: int = 0
    assignment: set[Partition] = field(default_factory=set)
    reads: set[Partition] = field(default_factory=set)
    heard_ms: int = 0
    is_unsure: bool = False  # an answer was lost: it says all about itself, so that it is told all

    def forget(self) -> None:
        self.epoch, self.assignment, self.reads = 0, set(), set()


class Model:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.world = ConsumerWorld(consumer_assignment_interval_ms=self.chance.choice([0, 1_000]))
        self.clients = [
            Client(f"m{number}", self.chance.choice([None, None, f"i{number}"]), self.chance.choice(SUBSCRIPTIONS))
            for number in range(self.chance.randint(1, 4))
        ]
        self.acknowledged: dict[Partition, int] = {}
        self.attempted: dict[Partition, int] = {}
        self.past: list[tuple[str, int, Partition]] = []

    def step(self) -> None:
        client = self.chance.choice(self.clients)
        kind = self.chance.random()
        if kind < 0.6:
            self.heartbeat(client)
        elif kind < 0.75:
            self.commit_offset(client)
        elif kind < 0.85:
            self.pass_time(self.chance.choice([100, 1_500, 6_000, 20_000, 46_000]))
        elif kind < 0.90:
            self.leave(client)
        elif kind < 0.94:
            client.subscription = self.chance.choice(SUBSCRIPTIONS)
        elif kind < 0.97:
            self.world.commit()
            self.world.crash()
        else:
            self.world.write_error = KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)
        self.check()

    # What happens

    def heartbeat(self, client: Client, *, loses: bool = True) -> None:
        client.reads &= client.assignment
        says_all = client.epoch == 0 or client.is_unsure or self.chance.random() < 0.2
        if client.epoch == 0 and client.instance_id is None and not client.subscription["regex"]:
            self.enter_first(client)
        owned: dict[bytes, list[int]] = {}
        for topic, partition in sorted(client.reads):
            owned.setdefault(topic, []).append(partition)
        told = self.deliver(
            lambda: self.world.beat(
                client.member_id,
                client.epoch,
                instance_id=client.instance_id,
                owned=owned,
                timeout_ms=REBALANCE_TIMEOUT_MS if says_all else -1,
                **(client.subscription if says_all else {}),
            ),
            loses=loses,
        )
        client.is_unsure = not isinstance(told, ConsumerGroupHeartbeatResponse)
        if isinstance(told, ConsumerGroupHeartbeatResponse):
            client.epoch = told.member_epoch
            client.heard_ms = self.world.now_ms
            if told.assignment is not None:
                client.assignment = {
                    (entry.topic_id, partition)
                    for entry in told.assignment.topic_partitions
                    for partition in entry.partitions
                }
                client.reads |= client.assignment
        elif isinstance(told, KafkaError) and not told.code.retriable:
            client.forget()

    def enter_first(self, client: Client) -> None:
        """Now and then others join with it, and all enter before one of them is assigned anything."""
        if self.chance.random() < 0.5:
            self.world.enter_first(client.member_id, **client.subscription, timeout_ms=REBALANCE_TIMEOUT_MS)

    def deliver(self, call: Any, *, loses: bool) -> Any:
        """The answer, when it is committed; now and then it comes too late, or what was written is lost."""
        fate = self.chance.random() if loses else 1.0
        self.world.holds_commits = fate < 0.15
        told = call()
        if self.world.holds_commits:
            self.world.holds_commits = False
            if fate < 0.05:
                self.world.crash()
            else:
                self.world.commit()
            return None
        return told

    def commit_offset(self, client: Client) -> None:
        """A commit of a consumer, or of one of its former selves that woke up."""
        self.past += ((client.member_id, client.epoch, place) for place in sorted(client.reads))
        if not self.past:
            return
        member_id, epoch, place = self.past[-1] if client.reads else self.chance.choice(self.past)
        topic, partition = place
        offset = self.attempted.get(place, 0) + 1
        held = place in self.holdings().get(member_id, set())
        is_current = held or self.epoch_of(member_id) == epoch
        failing = self.world.write_error is not None
        code = self.world.commit_offset(
            offset, member_id=member_id, generation=epoch, topic=NAMES[topic], partition=partition
        )
        if code == 0:
            assert is_current, f"a commit of {member_id} in {epoch} was taken, which does not own {place}"
            self.acknowledged[place] = self.attempted[place] = offset
        elif failing:
            self.attempted[place] = offset

    def epoch_of(self, member_id: str) -> int | None:
        return self.world.group.members[member_id].epoch if member_id in self.holdings() else None

    def leave(self, client: Client) -> None:
        client.reads = set()
        epoch = -2 if client.instance_id is not None and self.chance.random() < 0.5 else -1
        self.deliver(lambda: self.world.beat(client.member_id, epoch, instance_id=client.instance_id), loses=True)
        client.forget()
        if client.instance_id is not None:
            client.member_id += "'"

    def pass_time(self, ms: int) -> None:
        """A consumer that was silent for its rebalance timeout stops by itself, as the clients do."""
        self.world.advance(ms)
        for client in self.clients:
            if self.world.now_ms - client.heard_ms >= REBALANCE_TIMEOUT_MS:
                client.forget()

    # What has to hold

    def holdings(self) -> dict[str, set[Partition]]:
        group = self.world.shard.state.groups.get("g")
        if group is None or not hasattr(group, "target"):
            return {}
        return {member.member_id: set(held_by(member)) for member in self.world.group.members.values()}

    def check(self) -> None:
        holdings = self.holdings()
        held = [place for places in holdings.values() for place in places]
        assert len(held) == len(set(held)), f"two owners in the books: {holdings}"
        for client in self.clients:
            if client.epoch > 0 and client.member_id in holdings:
                assert client.reads <= holdings[client.member_id], f"{client} reads what it does not hold"
        for (topic, partition), offset in self.acknowledged.items():
            found = self.world.fetch_offset(topic=NAMES[topic], partition=partition).committed_offset
            assert found == offset, f"{NAMES[topic]}-{partition}: {offset} was acknowledged, {found} is there"

    def check_becomes_stable(self) -> None:
        self.world.write_error = None
        for _ in range(50):
            for client in self.clients:
                self.pass_time(1_500)
                self.heartbeat(client, loses=False)
            self.check()
        group = self.world.group
        assert group.state_text == "Stable", group.members
        wanted = set()
        for client in self.clients:
            member = group.members[client.member_id]
            wanted |= wanted_names(member.subscription, group.resolved)
            assert member.epoch == client.epoch
        counts = {ORDERS: 4, BILLS: 2}
        everything = {(topic, number) for topic in counts if NAMES[topic] in wanted for number in range(counts[topic])}
        assert set().union(*(client.reads for client in self.clients)) == everything


def run(seeds: range) -> None:
    for seed in seeds:
        model = Model(seed)
        try:
            for _ in range(STEPS):
                model.step()
            model.check_becomes_stable()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}") from error


@pytest.mark.parametrize("first_seed", range(0, HISTORIES, 500))
def test_no_history_makes_two_owners_or_loses_a_commit_and_all_become_stable(first_seed: int) -> None:
    run(range(first_seed, first_seed + 500))


@pytest.mark.soak
@pytest.mark.parametrize("first_seed", range(100_000, 120_000, 1_000))
def test_no_long_series_of_histories_does(first_seed: int) -> None:
    run(range(first_seed, first_seed + 1_000))
