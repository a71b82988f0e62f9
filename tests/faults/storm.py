"""Faults, one after another and now and then two at once, as a seed chooses them.

    kill      SIGKILL; started again when it is healed
    stop      SIGTERM, the administrator's way; started again when it is healed
    pause     SIGSTOP, then SIGCONT: a process that does not know that time went by
    cut       nothing between this broker and the others, both ways, while clients reach it: it may think it leads
    isolate   the same, and no clients either
    deaf      nothing from other brokers reaches it, while they hear it
    mute      the other way round
    link      nothing between this broker and one other, both ways
    outage    every broker is killed

Each is done to a leader, to the active controller and to a follower, in an order that the seed chooses, and again from
the beginning. Who leads is what the brokers say at that moment; if none says anything, the seed chooses a victim.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random

from tests.faults.broker_processes import BrokerProcesses
from tests.faults.history import HistoryFile
from tests.faults.namespaces import CLIENTS

Heal = Callable[[], None]
Fault = Callable[[BrokerProcesses, int], Heal]
Pairs = list[tuple[str, str]]

ROLES = ("leader", "controller", "follower")
# How long a fault lasts, and how long the next one is waited for: less and more than a session.
LASTS_SECONDS = (0.5, 6.0)
CALM_SECONDS = (0.3, 2.5)
TWO_AT_ONCE = 0.25


def kill(cluster: BrokerProcesses, victim: int) -> Heal:
    cluster.brokers[victim].kill()
    return lambda: cluster.start(victim)


def stop(cluster: BrokerProcesses, victim: int) -> Heal:
    cluster.brokers[victim].stop()
    return lambda: cluster.start(victim)


def pause(cluster: BrokerProcesses, victim: int) -> Heal:
    cluster.brokers[victim].pause()
    return cluster.brokers[victim].resume


def outage(cluster: BrokerProcesses, victim: int) -> Heal:
    for broker in cluster.ups:
        broker.kill()
    return cluster.start


def cut(cluster: BrokerProcesses, victim: int) -> Heal:
    return _drop(cluster, [*_to_others(cluster, victim), *_from_others(cluster, victim)])


def isolate(cluster: BrokerProcesses, victim: int) -> Heal:
    name = str(victim)
    clients = [(CLIENTS, name), (name, CLIENTS)]
    return _drop(cluster, [*_to_others(cluster, victim), *_from_others(cluster, victim), *clients])


def deaf(cluster: BrokerProcesses, victim: int) -> Heal:
    return _drop(cluster, _from_others(cluster, victim))


def mute(cluster: BrokerProcesses, victim: int) -> Heal:
    return _drop(cluster, _to_others(cluster, victim))


def link(cluster: BrokerProcesses, victim: int) -> Heal:
    one, other = _to_others(cluster, victim)[0]
    return _drop(cluster, [(one, other), (other, one)])


def _to_others(cluster: BrokerProcesses, victim: int) -> Pairs:
    return [(str(victim), str(other)) for other in cluster.brokers if other != victim]


def _from_others(cluster: BrokerProcesses, victim: int) -> Pairs:
    return [(other, one) for one, other in _to_others(cluster, victim)]


def _drop(cluster: BrokerProcesses, pairs: Pairs) -> Heal:
    cluster.network.drop(*pairs)
    return lambda: cluster.network.heal(*pairs)


PROCESS_FAULTS: tuple[Fault, ...] = (kill, stop, pause)
NETWORK_FAULTS: tuple[Fault, ...] = (cut, isolate, deaf, mute, link)


@dataclass
class Storm:
    cluster: BrokerProcesses
    history: HistoryFile
    random: Random
    partitions: int
    counts: Counter[str] = field(default_factory=Counter)

    def rage(self, seconds_min: float, is_calm: Callable[[float], bool]) -> None:
        """For that long, and until every kind of fault has happened. `is_calm` waits, unless something is wrong."""
        deadline = time.monotonic() + seconds_min
        plan = planned(self.random)
        missing = {fault.__name__ for fault in (*PROCESS_FAULTS, *NETWORK_FAULTS, outage)}
        while missing or time.monotonic() < deadline:
            missing -= set(self._strike_and_heal(plan, is_calm))
            if not is_calm(self.random.uniform(*CALM_SECONDS)):
                return

    def _strike_and_heal(self, plan: Iterator[tuple[Fault, str]], is_calm: Callable[[float], bool]) -> list[str]:
        """One fault or two; both are over at the end."""
        struck, heals, victims = [], [], set()
        for _ in range(1 + (self.random.random() < TWO_AT_ONCE)):
            fault, role = next(plan)
            victim = self._victim(role)
            if victim in victims:  # what is down or paused cannot be struck again
                victim = next(id for id in self.cluster.brokers if id not in victims)
            self.history.add("fault", kind=fault.__name__, role=role, broker=victim)
            heals.append(fault(self.cluster, victim))
            self.counts[fault.__name__] += 1
            struck.append(fault.__name__)
            victims.add(victim)
            is_calm(self.random.uniform(*LASTS_SECONDS))
            if fault is outage:
                break
        for heal in heals:
            heal()
        self.history.add("healed", kinds=struck)
        return struck

    def _victim(self, role: str) -> int:
        picture = self.cluster.picture()
        seen = picture.partitions.get(self.random.randrange(self.partitions))
        if role == "leader" and seen is not None:
            found = seen.leader
        elif role == "follower" and seen is not None:
            found = self.random.choice([id for id in self.cluster.brokers if id != seen.leader])
        else:
            found = picture.controller
        return found if found in self.cluster.brokers else self.random.choice(list(self.cluster.brokers))


def planned(random: Random) -> Iterator[tuple[Fault, str]]:
    """Everything in some order, each kind before any comes again, since a round may be cut short; then anew."""
    everything = [*itertools.product((*PROCESS_FAULTS, *NETWORK_FAULTS), ROLES), (outage, "all")]
    while True:
        random.shuffle(everything)
        yield from sorted(everything, key=lambda one: _nth_of_its_kind(everything, one))


def _nth_of_its_kind(everything: list[tuple[Fault, str]], one: tuple[Fault, str]) -> int:
    return [role for fault, role in everything if fault is one[0]].index(one[1])
