"""Our assignors and Kafka's own, on random groups: the same assignment, partition for partition.

Kafka goes over its hash maps; the harness hands it members and topics in the order of their ids, in which ours go.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from ottla.coordinators.assignors import ASSIGNORS
from ottla.coordinators.assignors.spec import Assignable, Subscriber
from ottla.wire.primitives import uuid_text
from tests.coordinators import kafka_groups
from tests.coordinators.kafka_groups import shown, topic_id

pytestmark = pytest.mark.jvm

GROUPS = 400


@pytest.fixture(scope="module")
def kafka() -> Iterator[kafka_groups.Kafka]:
    with kafka_groups.running() as kafka:
        yield kafka


def random_group(chance: random.Random, alike: bool) -> Assignable:
    """A group with a past: some of what is assigned is of topics that are not wanted any more, or is out of balance."""
    topics = [topic_id(number) for number in sorted(chance.sample(range(1, 15), chance.randint(1, 10)))]
    counts = {topic: chance.choice([1, 2, 3, 5, 8, 20]) for topic in topics}
    wanted = frozenset(chance.sample(topics, chance.randint(1, len(topics))))
    ids = [f"member{number:02}" for number in chance.sample(range(40), chance.randint(1, 12))]
    owners = chance.sample(ids, chance.randint(1, len(ids)))
    assigned: dict[str, dict[bytes, set[int]]] = {member_id: {} for member_id in ids}
    for topic in topics:
        for partition in range(counts[topic]):
            if chance.random() < 0.7:
                assigned[chance.choice(owners)].setdefault(topic, set()).add(partition)
    subscribers = {}
    for number, member_id in enumerate(sorted(ids)):
        own = wanted if alike else frozenset(chance.sample(topics, chance.randint(0, len(topics))))
        subscribers[member_id] = Subscriber(
            topics=own,
            assigned={topic: frozenset(assigned[member_id][topic]) for topic in sorted(assigned[member_id])},
            instance_id=f"instance{99 - number}" if chance.random() < 0.3 else None,
        )
    return Assignable(subscribers, counts, alike)


def as_question(group: Assignable) -> dict[str, Any]:
    return {
        "alike": group.alike,
        "partition_counts": {uuid_text(topic): count for topic, count in group.partition_counts.items()},
        "members": {
            member_id: {
                "topics": [uuid_text(topic) for topic in sorted(subscriber.topics)],
                "assigned": shown(subscriber.assigned),
                "instance_id": subscriber.instance_id,
            }
            for member_id, subscriber in group.subscribers.items()
        },
    }


@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_kafka_assigns_the_same(kafka: kafka_groups.Kafka, assignor: str, alike: bool) -> None:
    for seed in range(GROUPS):
        group = random_group(random.Random(f"{assignor} {alike} {seed}"), alike)
        ours = {member_id: shown(partitions) for member_id, partitions in ASSIGNORS[assignor](group).items()}
        assert ours == kafka.ask("assign", assignor=assignor, **as_question(group)), f"seed {seed}: {group}"
