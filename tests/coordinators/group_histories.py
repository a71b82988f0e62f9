"""Random histories of one classic group: consumers that behave as real ones do, and all that can happen to them.

Consumers crash, pause past their sessions, come back with what they knew, leave and join; commits are held back; the
coordinator is lost, with all that was not committed, and another one loads the log. A history is drawn by seed and
checked as it goes; what is expected of a group is told here, by what it answered, and not by looking into it.
"""

from __future__ import annotations

import random
from typing import Any

from ottla.wire.errors import ErrorCode, KafkaError
from tests.coordinators.shard_world import ShardWorld, Token, code

PARTITIONS = 6
# A static member may miss a rebalance and still be a member.
SESSION_MS = 10_000
REBALANCE_MS = 8_000
# Enough for sessions and rebalances to time out one after the other.
CALM_ROUNDS = 30
CALM_MS = 2_000
START_AGAIN = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_SERVER_ERROR)


class Consumer:
    """Joins, syncs, beats and commits. `lost` is an answer that will never come."""

    def __init__(self, history: History, number: int, instance_id: str | None) -> None:
        self._history = history
        self._world = history.world
        self.number = number
        self.instance_id = instance_id
        self.member_id = ""
        self.generation = -1
        self.assigned: frozenset[int] = frozenset()
        self.is_fenced = False
        self._step = "join"
        self._waiting: Token | None = None
        self._told: Any = None

    @property
    def owner(self) -> str:
        """Who owns partitions: a static member stays the same under every id."""
        return self.instance_id or self.member_id

    def lost(self) -> None:
        """The coordinator is gone, and with it whatever was asked of it."""
        self._waiting = None
        if self._step in ("joining", "syncing"):
            self._step = "join"

    def act(self) -> None:
        if self.is_fenced:
            return
        if self._waiting is not None:
            self._look()
        elif self._step == "join":
            self.assigned = frozenset()
            self._waiting = self._world.join(
                self.member_id,
                instance_id=self.instance_id,
                session_timeout_ms=SESSION_MS,
                rebalance_timeout_ms=REBALANCE_MS,
            )
            self._step = "joining"
        elif self._step == "owns":
            self._beat()
            if self._step == "owns" and self._history.luck.random() < 0.5:
                self._commit()

    def leave(self) -> None:
        if self.member_id and not self.is_fenced:
            self._world.leave((self.member_id, self.instance_id))

    def _look(self) -> None:
        answer = self._world.answers.get(self._waiting)  # type: ignore[arg-type]
        if answer is None:
            return
        self._waiting = None
        error = code(answer)
        if error:
            self._failed(error, answer)
        elif self._step == "joining":
            self._joined(answer)
        else:
            self._step = "owns"
            self.assigned = frozenset(answer.assignment)
            self._history.assigned(self)

    def _joined(self, answer: Any) -> None:
        self.member_id, self.generation = answer.member_id, answer.generation_id
        assignments = {}
        if answer.leader == self.member_id and not answer.skip_assignment:
            members = sorted(one.member_id for one in answer.members)
            for number, member_id in enumerate(members):
                assignments[member_id] = bytes(range(number, PARTITIONS, len(members)))
        self._waiting = self._world.sync(self.member_id, self.generation, assignments, instance_id=self.instance_id)
        self._step = "syncing"

    def _failed(self, error: int, answer: Any) -> None:
        self._step = "join"
        self.assigned = frozenset()
        if error == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
        elif error == ErrorCode.FENCED_INSTANCE_ID:
            self.is_fenced = True
        elif error in START_AGAIN:
            self.member_id, self.generation = "", -1

    def _beat(self) -> None:
        error = self._world.heartbeat(self.member_id, self.generation, instance_id=self.instance_id)
        if error:
            self._failed(error, None)

    def _commit(self) -> None:
        for partition in sorted(self.assigned):
            self._history.commit(self, partition)


class History:
    """One group, its consumers, and what must be true of it."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.luck = random.Random(seed)
        self.world = ShardWorld(classic_initial_rebalance_delay_ms=self.luck.choice([0, 3000]))
        self.world.crash()
        self.consumers: list[Consumer] = []
        self._numbers = 0
        self._newest_generation = -1
        self._owners: dict[tuple[int, int], str] = {}
        self._sent: dict[int, list[int]] = {partition: [] for partition in range(PARTITIONS)}
        self._acknowledged = dict.fromkeys(range(PARTITIONS), -1)
        self._next_offset = 0

    # What must be true

    def assigned(self, consumer: Consumer) -> None:
        """In one generation a partition has one owner. A generation without assignment is lost with its coordinator."""
        self._newest_generation = max(self._newest_generation, consumer.generation)
        for partition in consumer.assigned:
            owner = self._owners.setdefault((consumer.generation, partition), consumer.owner)
            assert owner == consumer.owner, f"seed {self.seed}: partition {partition} has two owners"

    def commit(self, consumer: Consumer, partition: int) -> None:
        offset = self._next_offset = self._next_offset + 1
        generation, newest = consumer.generation, self._newest_generation
        self._sent[partition].append(offset)

        def tell(response: Any) -> None:
            if isinstance(response, KafkaError) or code(response):
                return
            assert generation == newest, f"seed {self.seed}: a commit of generation {generation} beside {newest}"
            self._acknowledged[partition] = max(self._acknowledged[partition], offset)

        self.world.commit_offset(
            offset,
            member_id=consumer.member_id,
            generation=generation,
            instance_id=consumer.instance_id,
            partition=partition,
            tell=tell,
        )

    def check_offsets(self) -> None:
        """What was acknowledged is there, or something later that was sent."""
        for partition, least in self._acknowledged.items():
            found = self.world.fetch_offset(partition=partition).committed_offset
            assert found >= least, f"seed {self.seed}: partition {partition} lost {least}, it is at {found}"
            assert found == -1 or found in self._sent[partition], f"seed {self.seed}: {found} was never committed"

    # What happens

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self._happen()
        self._calm_down()

    def _happen(self) -> None:
        dice = self.luck.random()
        if dice < 0.10 and len(self.consumers) < 5:
            self._start(self.luck.choice([None, None, f"static-{self.luck.randrange(3)}"]))
        elif dice < 0.55 and self.consumers:
            self.luck.choice(self.consumers).act()
        elif dice < 0.75:
            self.world.advance(self.luck.choice([1, 100, 1000, 3000, 7000]))
        elif dice < 0.80 and self.consumers:
            self.consumers.remove(self.luck.choice(self.consumers))
        elif dice < 0.84 and self.consumers:
            leaving = self.luck.choice(self.consumers)
            leaving.leave()
            self.consumers.remove(leaving)
        elif dice < 0.90:
            self.world.holds_commits = not self.world.holds_commits
            if not self.world.holds_commits:
                self.world.commit()
        elif dice < 0.93:
            self.world.write_error = KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)
        elif dice < 0.96:
            self._lose_coordinator()
        else:
            for consumer in self.consumers:
                consumer.act()

    def _start(self, instance_id: str | None) -> None:
        self._numbers += 1
        self.consumers.append(Consumer(self, self._numbers, instance_id))

    def _lose_coordinator(self) -> None:
        self.world.crash()
        for consumer in self.consumers:
            consumer.lost()

    def _calm_down(self) -> None:
        """Faults stop: the group becomes stable, with every live consumer in it, and nothing acknowledged is lost."""
        self.world.holds_commits, self.world.write_error = False, None
        self.world.commit()
        self._start(None)  # the others may be fenced, all of them
        self._become_stable()
        self.consumers.pop(0)  # one more crash, which only its session tells, if need be to a new coordinator
        if self.luck.random() < 0.5:
            self._lose_coordinator()
        if all(consumer.is_fenced for consumer in self.consumers):
            self._start(None)
        self._become_stable()
        self.check_offsets()

    def _become_stable(self) -> None:
        for _ in range(CALM_ROUNDS):
            self.world.advance(CALM_MS)
            for consumer in self.consumers:
                consumer.act()
        live = [consumer for consumer in self.consumers if not consumer.is_fenced]
        assert self.world.state() == "Stable", f"seed {self.seed}: {self.world.described()}"
        assert {consumer.generation for consumer in live} == {self._newest_generation}, f"seed {self.seed}"
        owned = sorted(partition for consumer in live for partition in consumer.assigned)
        assert owned == list(range(PARTITIONS)), f"seed {self.seed}: {owned}"
