"""Where partitions are to go: plans in the JSON of Kafka's tool, and new ones that move as little as they must.

Pure. A plan names the replicas of each partition, the one that is to lead first. A new one keeps replicas where they
are, fills up from the brokers that hold least, on other racks first, moves on what makes one broker hold two more than
another, and lets all of them lead about as much.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ottla.client.metadata import TopicPartition
from ottla.commands import UsageError

VERSION = 1

Plan = dict[TopicPartition, list[int]]


def parse_plan(text: str, where: str) -> Plan:
    """`{"version": 1, "partitions": [{"topic": ..., "partition": ..., "replicas": [...]}]}`; more is not looked at."""
    try:
        content = json.loads(text)
        if content.get("version", VERSION) != VERSION:
            raise ValueError(f"version {content['version']} is not known")
        plan: Plan = {}
        for entry in content["partitions"]:
            place, replicas = _entry(entry)
            if place in plan:
                raise ValueError(f"{place} comes twice")
            plan[place] = replicas
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise UsageError(f"{where} is no plan: {reason}") from error
    if not plan:
        raise UsageError(f"{where} names no partition")
    return plan


def _entry(entry: Any) -> tuple[TopicPartition, list[int]]:
    topic, partition, replicas = entry["topic"], entry["partition"], entry["replicas"]
    if not isinstance(topic, str) or type(partition) is not int:
        raise ValueError(f"{topic!r} and {partition!r} are no topic and partition")
    place = TopicPartition(topic, partition)
    if not isinstance(replicas, list) or not replicas or any(type(one) is not int or one < 0 for one in replicas):
        raise ValueError(f"{place}: {replicas!r} is no list of brokers")
    if len(set(replicas)) < len(replicas):
        raise ValueError(f"{place}: a broker comes twice in {replicas}")
    return place, replicas


def plan_json(plan: Mapping[TopicPartition, Sequence[int]]) -> dict[str, Any]:
    """As Kafka's tool reads it, and `parse_plan`."""
    return {
        "version": VERSION,
        "partitions": [
            {"topic": place.topic, "partition": place.partition, "replicas": list(replicas)}
            for place, replicas in sorted(plan.items())
        ],
    }


def new_plan(
    current: Mapping[TopicPartition, Sequence[int]], racks: Mapping[int, str | None], count: int | None
) -> Plan:
    """Spread partitions over the brokers that `racks` names; each keeps its number of replicas unless one is given."""
    wanted = {place: count or len(replicas) for place, replicas in current.items()}
    most = max(wanted.values(), default=0)
    if most > len(racks):
        raise UsageError(f"{most} replicas need as many brokers; --brokers names {len(racks)}")
    load: Counter[int] = Counter()
    plan: Plan = {}
    for place in sorted(current):
        plan[place] = []
        for broker in current[place]:
            if broker in racks and len(plan[place]) < wanted[place]:
                plan[place].append(broker)
                load[broker] += 1
    for place, replicas in plan.items():
        while len(replicas) < wanted[place]:
            chosen = _lightest(replicas, racks, load)
            replicas.append(chosen)
            load[chosen] += 1
    while _evened(plan, racks, load):
        pass
    return _with_leaders(plan)


def _evened(plan: Plan, racks: Mapping[int, str | None], load: Counter[int]) -> bool:
    """Whether one replica has gone to a broker that holds at least two less, without two on a rack more than before."""
    for heavy in sorted(racks, key=lambda broker: (-load[broker], broker)):
        for light in sorted(racks, key=lambda broker: (load[broker], broker)):
            if load[heavy] - load[light] < 2:
                break
            for replicas in reversed(plan.values()):
                if heavy not in replicas or light in replicas:
                    continue
                others = [racks[broker] for broker in replicas if broker != heavy]
                if racks[light] in others and racks[light] is not None and racks[heavy] not in others:
                    continue
                replicas[replicas.index(heavy)] = light
                load[heavy] -= 1
                load[light] += 1
                return True
    return False


def _lightest(replicas: Sequence[int], racks: Mapping[int, str | None], load: Counter[int]) -> int:
    used = {racks[broker] for broker in replicas} - {None}
    return min(
        (broker for broker in racks if broker not in replicas),
        key=lambda broker: (racks[broker] in used, load[broker], broker),
    )


def _with_leaders(plan: Plan) -> Plan:
    """First the replica that is first in the fewest partitions so far; of several the one that was first before."""
    leads: Counter[int] = Counter()
    ordered: Plan = {}
    for place, replicas in plan.items():
        leader = min(replicas, key=lambda broker: leads[broker])
        leads[leader] += 1
        ordered[place] = [leader, *(broker for broker in replicas if broker != leader)]
    return ordered
