"""The table of rows: what is measured of groups, and what is to be reached.

Times are the clients'; CPU is the broker's alone. Rates of heartbeats are those of Java's clients: every member sends
one in three seconds. "must" is what Ottla promises, "goal" what it would like.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from bench.broker.contenders import Broker
from bench.broker.figures import Figure, Sample, at_least, at_most
from bench.broker.lab import Lab
from bench.broker.loads import Row
from bench.broker.processes import cpu_seconds, memory_mb
from bench.groups.connections import Loop
from bench.groups.coordinator import wait_for_coordinator
from bench.groups.crowd import MEMBERS_PER_GROUP, PARTITIONS, Crowd

TOPIC = "groups"
INTERVAL_SECONDS = 3.0
STAYING_SECONDS = 9.0
COMMITTING_SECONDS = 3.0
CHANGED_GROUPS = 40
GROUPS_MIN = 2

# Beyond what bench.broker tells both: the topic of groups as it comes, and no waiting that would hide the work.
PROPERTIES = {
    "offsets.topic.num.partitions": "50",
    "group.initial.rebalance.delay.ms": "100",
    "group.consumer.assignment.interval.ms": "0",
}

NO_WORSE = at_most(1.0)
TIMES = (
    Figure("stable", "s until all are stable", must=NO_WORSE),
    Figure("stable_cpu", "CPU s until then", goal=NO_WORSE),
    Figure("heartbeat_p50", "heartbeat p50 ms", goal=NO_WORSE),
    Figure("heartbeat_p99", "heartbeat p99 ms", goal=NO_WORSE),
    Figure("heartbeat_cpu", "CPU ms/1000 heartbeats", goal=NO_WORSE),
    Figure("change_p50", "one rebalances, p50 ms", must=NO_WORSE),
    Figure("change_p99", "one rebalances, p99 ms", must=NO_WORSE),
    Figure("commits", "commits/s", goal=at_least(1.0)),
    Figure("commit_cpu", "CPU ms/1000 commits", goal=NO_WORSE),
)
MEMORY = (
    Figure("before", "MB before"),
    Figure("memory", "MB with all groups", must=at_most(0.2)),
    Figure("member", "KB per member"),
)


@dataclass(frozen=True)
class GroupRow(Row):
    kind: str
    group_count: int

    def prepare(self, lab: Lab, broker: Broker) -> None:
        lab.topic(broker, TOPIC, PARTITIONS)

    def finish(self, lab: Lab, broker: Broker) -> None:
        """The topic stays for the rows that follow."""

    def count(self, share: float) -> int:
        return max(GROUPS_MIN, int(self.group_count * share))

    def crowd(self, lab: Lab, broker: Broker, loop: Loop, count: int) -> Crowd:
        crowd = Crowd(loop, self.kind, TOPIC, lab.topic_id(broker, TOPIC), count)
        wait_for_coordinator(broker.address, crowd.group_ids)
        return crowd


class Times(GroupRow):
    """A crowd from its first join to its last commit."""

    def measure(self, lab: Lab, broker: Broker, share: float) -> Sample:
        count = self.count(share)
        with Loop(broker.address) as loop:
            crowd = self.crowd(lab, broker, loop, count)
            before = cpu_seconds(*broker.pids)
            stable = crowd.join()
            joined = cpu_seconds(*broker.pids)
            heartbeats = crowd.stay(lab.scaled(STAYING_SECONDS * share), INTERVAL_SECONDS)
            stayed = cpu_seconds(*broker.pids)
            changes = crowd.change(max(GROUPS_MIN, int(lab.scaled(CHANGED_GROUPS * share))), INTERVAL_SECONDS)
            changed = cpu_seconds(*broker.pids)
            commits, commit_seconds = crowd.commit(lab.scaled(COMMITTING_SECONDS * share))
            committed = cpu_seconds(*broker.pids)
            crowd.leave()
        return {
            "stable": stable,
            "stable_cpu": joined - before,
            "heartbeat_p50": at_share(heartbeats, 0.50) * 1e3,
            "heartbeat_p99": at_share(heartbeats, 0.99) * 1e3,
            "heartbeat_cpu": (stayed - joined) / len(heartbeats) * 1e6,
            "change_p50": at_share(changes, 0.50) * 1e3,
            "change_p99": at_share(changes, 0.99) * 1e3,
            "commits": commits / commit_seconds,
            "commit_cpu": (committed - changed) / commits * 1e6,
        }


class Memory(GroupRow):
    """A new broker before anybody came, and when all groups are stable and have sent some heartbeats."""

    warms_up = False

    def prepare(self, lab: Lab, broker: Broker) -> None:
        pass

    def measure(self, lab: Lab, broker: Broker, share: float) -> Sample:
        with ExitStack() as stack:
            fresh = lab.start(broker.name, stack)
            lab.topic(fresh, TOPIC, PARTITIONS)
            before = memory_mb(*fresh.pids)
            count = self.count(share)
            crowd = self.crowd(lab, fresh, stack.enter_context(Loop(fresh.address)), count)
            crowd.join()
            crowd.stay(lab.scaled(INTERVAL_SECONDS * 2), INTERVAL_SECONDS)
            after = memory_mb(*fresh.pids)
        return {"before": before, "memory": after, "member": (after - before) * 1024 / count / MEMBERS_PER_GROUP}


def at_share(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def all_rows(group_count: int) -> list[Row]:
    rows: list[Row] = []
    for kind in ("classic", "consumer"):
        rows.append(Memory(f"{kind} protocol, memory", MEMORY, kind, group_count))
        rows.append(Times(f"{kind} protocol", TIMES, kind, group_count))
    return rows
