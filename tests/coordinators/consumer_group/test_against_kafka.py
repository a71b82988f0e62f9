"""Our consumer groups beside Kafka's own coordinator, in random histories: the same answers, errors and records.

The members are clients as they are in the field: they keep the epoch and the partitions they were given, give back what
is not in their assignment, sometimes late, sometimes wrongly. Ids are such that Java's hash maps go over them in order,
since Kafka's choice among equal members is the order of its maps.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from ottla.coordinators.consumer_group.group import ConsumerGroup
from ottla.coordinators.consumer_group.surroundings import ConsumerTimes
from ottla.coordinators.settings import GroupSettings
from ottla.coordinators.topics_view import TopicInfo
from ottla.wire.errors import KafkaError
from ottla.wire.messages.classic_groups import LeaveGroupRequest
from ottla.wire.messages.consumer_groups import ConsumerGroupHeartbeatRequest
from ottla.wire.messages.group_offsets import OffsetCommitRequest
from tests.coordinators import kafka_shard
from tests.coordinators.kafka_groups import Kafka, topic_id
from tests.coordinators.kafka_shard import Pair

pytestmark = pytest.mark.jvm

HISTORIES = 100
STEPS = 60
MEMBER_IDS = "abcdefghij"
NAMES = ("t1", "t2", "t3", "s1", "s2", "missing")
EXPRESSIONS = ("t.*", "s.*", "[ts]1", "nothing", "", "(")
OwnedPartitions = ConsumerGroupHeartbeatRequest.TopicPartitions


@pytest.fixture(scope="module")
def kafka() -> Iterator[Kafka]:
    with kafka_shard.running() as kafka:
        yield kafka


@dataclass
class Client:
    """A member as it sees itself."""

    member_id: str
    instance_id: str | None
    epoch: int = 0
    owned: dict[bytes, set[int]] = field(default_factory=dict)
    assignment: dict[bytes, set[int]] = field(default_factory=dict)


class History:
    def __init__(self, pair: Pair, chance: random.Random) -> None:
        self.pair = pair
        self.chance = chance
        self.clients: dict[str, Client] = {}
        self.next_topic = 6
        # A member keeps its instance id: in Kafka, one that changes it leaves the old one pointing nowhere.
        self.instances = {id_: chance.choice([None, None, "instance-x", "instance-y"]) for id_ in MEMBER_IDS}
        # One for all who name one: which of two Kafka prefers when as many want the one as the other is an accident.
        self.assignor = chance.choice(["uniform", "range"])

    def step(self) -> None:
        actions = [self.join, self.beat, self.beat, self.beat, self.beat, self.disturb, self.leave, self.pause]
        self.chance.choice([*actions, self.beat, self.beat, self.topics, self.commit, self.administrate])()
        self.pair.advance(1)  # so that no two deadlines fall together: their order is nobody's promise
        self.pair.compare_descriptions()

    # Members

    def join(self) -> None:
        member_id = self.chance.choice(MEMBER_IDS)
        client = self.clients.get(member_id)
        if client is None or self.chance.random() < 0.2:
            client = Client(member_id, self.instances[member_id])
        client.epoch = 0
        client.owned = {}
        names, regex = self.subscription()
        self.send(client, names=names, regex=regex, timeout_ms=self.chance.choice([5_000, 60_000]), owned={})

    def subscription(self) -> tuple[list[str] | None, str | None]:
        kind = self.chance.random()
        names = self.chance.sample(NAMES, self.chance.randint(0, 3))
        if kind < 0.6:
            return self.chance.choice([["t1", "t2"], names]), None
        regex = self.chance.choice(EXPRESSIONS)
        return (None, regex) if kind < 0.9 else (names, regex)

    def beat(self) -> None:
        """A heartbeat of a good client: it reports what it owns when that changed, and now and then everything."""
        client = self.some_client()
        if client is None:
            return
        if self.chance.random() < 0.8:
            client.owned = {topic: set(partitions) for topic, partitions in client.assignment.items()}
            self.send(client, owned=client.owned)
        else:
            self.send(client)

    def disturb(self) -> None:
        """What is not so good: another subscription, a wrong epoch, a wrong claim, a lost answer."""
        client = self.some_client()
        if client is None:
            return
        kind = self.chance.randrange(5)
        if kind == 0:
            names, regex = self.subscription()
            self.send(client, names=names, regex=regex, owned=self.chance.choice([None, client.owned]))
        elif kind == 1:
            client.epoch = max(client.epoch + self.chance.choice([-1, 1, 5]), 1)
            self.send(client, owned=client.owned)
        elif kind == 2:
            self.send(client, owned={topic_id(1): {0, 1, 2}, topic_id(9): {0}})
        elif kind == 3:
            epoch = client.epoch
            self.send(client, owned=client.owned)
            client.epoch = epoch
        else:
            names, regex = self.subscription()
            self.send(client, names=names, regex=regex, timeout_ms=10_000, owned=client.owned)

    def leave(self) -> None:
        client = self.some_client()
        if client is None or self.chance.random() < 0.4:
            return
        client.epoch = -2 if client.instance_id is not None and self.chance.random() < 0.7 else -1
        self.send(client)
        self.clients.pop(client.member_id, None)

    def administrate(self) -> None:
        """LeaveGroup from outside, as Kafka's tool removes members."""
        members = [
            LeaveGroupRequest.MemberIdentity(
                member_id=self.chance.choice([*MEMBER_IDS, ""]),
                group_instance_id=self.chance.choice([None, None, "instance-x", "instance-y"]),
            )
            for _ in range(self.chance.randint(0, 2))
        ]
        request = LeaveGroupRequest(group_id="g", members=members)
        self.pair.request(request, 5, lambda context, _: self.pair.shard.leave(request, context, self.pair.now_ms))

    def some_client(self) -> Client | None:
        return self.chance.choice(list(self.clients.values())) if self.clients else None

    def send(
        self,
        client: Client,
        *,
        names: list[str] | None = None,
        regex: str | None = None,
        timeout_ms: int = -1,
        owned: dict[bytes, set[int]] | None = None,
    ) -> None:
        says_topics = names is not None or regex is not None
        if says_topics and self.is_kafkas_blind_spot(names or [], regex or ""):
            self.clients.pop(client.member_id, None)
            return
        request = ConsumerGroupHeartbeatRequest(
            group_id="g",
            member_id=client.member_id,
            member_epoch=client.epoch,
            instance_id=client.instance_id,
            rack_id=self.chance.choice([None, None, "rack"]),
            rebalance_timeout_ms=timeout_ms,
            subscribed_topic_names=names,
            subscribed_topic_regex=regex,
            server_assignor=self.chance.choice([None, self.assignor]),
            topic_partitions=None
            if owned is None
            else [OwnedPartitions(topic_id=topic, partitions=sorted(owned[topic])) for topic in owned],
        )
        response: Any = self.pair.request(
            request, 1, lambda context, _: self.pair.shard.consumer_heartbeat(request, context, self.pair.now_ms)
        )
        self.take(client, response)

    def is_kafkas_blind_spot(self, names: list[str], regex: str) -> bool:
        """Whether Kafka would compute a target while it takes members for alike that are not.

        A new expression that is not resolved makes no new epoch, nor does a new member that wants nothing; if a target
        is due all the same, Kafka goes by the subscriptions as they were, and may assign nothing to anybody. We go by
        those that there are.
        """
        group = self.pair.shard.state.groups.get("g")
        if not isinstance(group, ConsumerGroup) or group.epoch <= group.target_epoch:
            return False
        return regex not in group.resolved if regex else not names

    def take(self, client: Client, response: Any) -> None:
        if isinstance(response, KafkaError):
            self.clients.pop(client.member_id, None)
            return
        client.epoch = response.member_epoch
        if response.assignment is not None:
            client.assignment = {
                entry.topic_id: set(entry.partitions) for entry in response.assignment.topic_partitions
            }
        self.clients[client.member_id] = client

    # The world

    def pause(self) -> None:
        self.pair.advance(self.chance.choice([0, 107, 1_009, 3_001, 6_007, 11_003, 30_011, 50_021]))

    def topics(self) -> None:
        topics = list(self.pair.topics)
        kind = self.chance.randrange(4)
        if kind == 0 and topics:
            topics.remove(self.chance.choice(topics))
        elif kind == 1 and topics:
            place = self.chance.randrange(len(topics))
            grown = min(topics[place].partition_count + self.chance.randint(1, 3), 14)
            topics[place] = topics[place]._replace(partition_count=grown)
        elif self.next_topic < 15:
            free = [name for name in NAMES if name not in {topic.name for topic in topics}]
            if free:
                topics.append(TopicInfo(self.chance.choice(free), topic_id(self.next_topic), self.chance.randint(1, 5)))
                self.next_topic += 1
        self.pair.change_topics(topics)

    def commit(self) -> None:
        client = self.some_client()
        if client is None or not self.pair.topics:
            return
        topic = self.chance.choice(self.pair.topics)
        request = OffsetCommitRequest(
            group_id="g",
            generation_id_or_member_epoch=client.epoch - self.chance.choice([0, 0, 1, 2, -1]),
            member_id=self.chance.choice([client.member_id, client.member_id, "nobody"]),
            topics=[
                OffsetCommitRequest.OffsetCommitRequestTopic(
                    name=topic.name,
                    topic_id=topic.id,
                    partitions=[
                        OffsetCommitRequest.OffsetCommitRequestPartition(
                            partition_index=partition, committed_offset=7, committed_metadata=""
                        )
                        for partition in range(min(topic.partition_count, 3))
                    ],
                )
            ],
        )
        version = self.chance.choice([8, 9, 9])
        self.pair.request(
            request, version, lambda context, _: self.pair.shard.commit_offsets(request, context, self.pair.now_ms)
        )


def topics() -> list[TopicInfo]:
    return [TopicInfo(name, topic_id(number), 2 * number) for number, name in enumerate(NAMES[:5], start=1)]


def run(kafka: Kafka, seeds: range) -> None:
    for seed in seeds:
        chance = random.Random(seed)
        members_max = chance.choice([3, 100])
        config = {"group.consumer.max.size": str(members_max), "group.consumer.regex.refresh.interval.ms": "20000"}
        settings = GroupSettings(consumer_members_max=members_max, consumer_regex_refresh_interval_ms=20_000)
        overrides = {"consumer.session.timeout.ms": "50000", "consumer.heartbeat.interval.ms": "7000"}
        overrides["consumer.assignment.interval.ms"] = "5000"
        has_own = chance.random() < 0.3
        pair = Pair(
            kafka,
            topics(),
            config,
            settings,
            (lambda _: ConsumerTimes(50_000, 7_000, 5_000)) if has_own else None,
            {"g": overrides} if has_own else None,
        )
        pair.story.append(f"seed {seed}")
        history = History(pair, chance)
        for _ in range(STEPS):
            history.step()
        pair.compare_reloaded()


@pytest.mark.parametrize("first_seed", range(0, HISTORIES, 20))
def test_kafka_does_the_same(kafka: Kafka, first_seed: int) -> None:
    run(kafka, range(first_seed, first_seed + 20))


@pytest.mark.soak
def test_kafka_does_the_same_in_many_histories(kafka: Kafka) -> None:
    run(kafka, range(1_000, 3_000))
