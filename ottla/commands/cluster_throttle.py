"""Throttles of `ottla cluster reassign` (KIP-73): set before partitions move, gone when they are in place.

The same keys as Kafka's tool sets: topics say which replicas are held back, brokers at how many bytes a second. What
other replicas fetch is not held back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ottla.client.blocking import Client
from ottla.client.configs import Resource, ResourceType, alter_configs
from ottla.commands import CommandFailed
from ottla.commands.cluster_plan import Plan
from ottla.wire.errors import KafkaError

RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
LEADERS, FOLLOWERS = REPLICAS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
REMAINS = "`ottla cluster reassign --file PLAN.json --verify` takes the throttle away when all is done"


def throttle(client: Client, plan: Plan, current: Plan, bytes_per_second: int) -> None:
    """Hold back what is about to move: the replicas that it is read from, and those that are new."""
    for topic, texts in held_back(plan, current).items():
        _alter(client, Resource(ResourceType.TOPIC, topic), texts)
    brokers = {broker for place, target in plan.items() for broker in (*target, *current[place])}
    for broker in sorted(brokers):
        _alter(client, Resource(ResourceType.BROKER, str(broker)), dict.fromkeys(RATES, str(bytes_per_second)))


def release(client: Client, plan: Plan, brokers: Iterable[int]) -> None:
    """Take throttles away from the topics of a plan, and from brokers."""
    for broker in sorted(brokers):
        _alter(client, Resource(ResourceType.BROKER, str(broker)), dict.fromkeys(RATES))
    for topic in sorted({place.topic for place in plan}):
        _alter(client, Resource(ResourceType.TOPIC, topic), dict.fromkeys(REPLICAS))


def held_back(plan: Plan, current: Plan) -> dict[str, dict[str, str]]:
    """What the topics say: PARTITION:BROKER of all that have the data, and of all that are to get it."""
    replicas: dict[str, tuple[list[str], list[str]]] = {}
    for place, target in sorted(plan.items()):
        leaders, followers = replicas.setdefault(place.topic, ([], []))
        new = [broker for broker in target if broker not in current[place]]
        if new:
            leaders += [f"{place.partition}:{broker}" for broker in current[place]]
            followers += [f"{place.partition}:{broker}" for broker in new]
    return {
        topic: {LEADERS: ",".join(leaders), FOLLOWERS: ",".join(followers)}
        for topic, (leaders, followers) in replicas.items()
        if followers
    }


def _alter(client: Client, resource: Resource, texts: Mapping[str, str | None]) -> None:
    try:
        client.call(alter_configs, resource, texts)
    except KafkaError as error:
        raise CommandFailed(f"the throttle of {resource}: {error.message}") from error
