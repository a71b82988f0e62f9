"""A crowd of groups on one broker: it joins, stays, changes, commits and leaves; each step says what it took.

The clients' clock counts, and nothing is asked of the broker but what members ask. A step begins when the one before
it has ended.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from itertools import islice

from bench.groups.classic_member import ClassicGroup
from bench.groups.connections import Loop
from bench.groups.consumer_member import ConsumerGroup
from bench.groups.membership import Group, Member, Scene

MEMBERS_PER_GROUP = 5
PARTITIONS = 10
TICK_SECONDS = 0.005
HURRIED_SECONDS = 0.005
# So many members have a commit on its way.
COMMITTING_MEMBERS = 100

GROUP_KINDS: dict[str, Callable[[Scene, str], Group]] = {"classic": ClassicGroup, "consumer": ConsumerGroup}


class Crowd:
    def __init__(self, loop: Loop, kind: str, topic: str, topic_id: bytes, group_count: int) -> None:
        """Everybody is connected, and nobody has joined."""
        self.scene = Scene(loop, topic, topic_id, PARTITIONS)
        self._loop = loop
        self.groups = [GROUP_KINDS[kind](self.scene, f"{kind}-{number}") for number in range(group_count)]
        for group in self.groups:
            group.members = [group.new_member(loop.connect()) for _ in range(MEMBERS_PER_GROUP)]

    @property
    def group_ids(self) -> list[str]:
        return [group.group_id for group in self.groups]

    @property
    def members(self) -> Iterable[Member]:
        return (member for group in self.groups for member in group.members)

    def join(self) -> float:
        """Everybody joins at once; the seconds until every group is stable."""
        self.scene.unstable.update(self.groups)
        started = time.perf_counter()
        for member in self.members:
            member.join()
        self._loop.run_until(lambda: not self.scene.unstable, "all groups are stable")
        return time.perf_counter() - started

    def stay(self, seconds: float, interval_seconds: float) -> list[float]:
        """Heartbeats at a steady rate, one per member and interval; what each took."""
        beating = Beating(self, interval_seconds)
        self.scene.latencies.clear()
        self._loop.run_for(seconds)
        self._loop.run_until(lambda: bool(self.scene.latencies), "somebody has been heard")
        beating.stop()
        self._settle()
        return list(self.scene.latencies)

    def change(self, count: int, interval_seconds: float) -> list[float]:
        """In so many groups, one after the other, somebody joins and leaves, while all others stay; what each took."""
        beating = Beating(self, interval_seconds)
        self.scene.impatience_seconds = HURRIED_SECONDS
        taken = []
        for group in self.groups[:count]:
            newcomer = group.new_member(self._loop.connect())
            taken += [self._comes(group, newcomer), self._goes(group, newcomer)]
            self._loop.run_until(lambda one=newcomer: not one.connection.is_busy, "the member has left")
            self._loop.close(newcomer.connection)
        beating.stop()
        self._settle()
        return taken

    def _comes(self, group: Group, newcomer: Member) -> float:
        group.members.append(newcomer)
        started = time.perf_counter()
        newcomer.join()
        return self._rebalanced(group, started)

    def _goes(self, group: Group, newcomer: Member) -> float:
        self._loop.run_until(lambda: not newcomer.connection.is_busy, "the newcomer is idle")
        group.members.remove(newcomer)
        started = time.perf_counter()
        newcomer.leave()
        return self._rebalanced(group, started)

    def _rebalanced(self, group: Group, started: float) -> float:
        group.unsettle()
        self._loop.run_until(lambda: group not in self.scene.unstable, f"{group.group_id} is stable again")
        return time.perf_counter() - started

    def commit(self, seconds: float) -> tuple[int, float]:
        """Commits by members of many groups, each waiting for its answer: how many, and the seconds they took."""
        self._settle()
        self.scene.commit_count, self.scene.is_committing = 0, True
        started = time.perf_counter()
        for group in islice(self.groups, COMMITTING_MEMBERS):
            group.members[0].commit_again_and_again()
        self._loop.run_for(seconds)
        self.scene.is_committing = False
        self._settle()
        return self.scene.commit_count, time.perf_counter() - started

    def leave(self) -> None:
        self._settle()
        for group in self.groups:
            group.begin_leaving()
        self._settle()

    def _settle(self) -> None:
        """Every answer is there."""
        for member in self.members:
            self._loop.run_until(lambda one=member: not one.connection.is_busy, "everybody has an answer")


class Beating:
    """Heartbeats of everybody in turn, spread over the interval; whoever waits for something else is left out."""

    def __init__(self, crowd: Crowd, interval_seconds: float) -> None:
        self._loop = crowd.scene.loop
        self._turn = deque(crowd.members)
        self._rate = len(self._turn) / interval_seconds
        self._began = time.perf_counter()
        self._sent_count = 0
        self._is_over = False
        self._tick()

    def stop(self) -> None:
        self._is_over = True

    def _tick(self) -> None:
        if self._is_over:
            return
        due = int((time.perf_counter() - self._began) * self._rate) - self._sent_count
        for _ in range(min(due, len(self._turn))):
            member = self._turn[0]
            self._turn.rotate(-1)
            if not member.connection.is_busy:
                member.heartbeat()
        self._sent_count += due
        self._loop.later(TICK_SECONDS, self._tick)
