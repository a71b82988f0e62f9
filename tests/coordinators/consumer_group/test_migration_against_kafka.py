"""Groups with members of both protocols beside Kafka's own coordinator, in random histories.

Classic consumers join, sync, give back and leave as librdkafka and the Java client do; members of the new protocol come
and go, so that groups go up and down. The assignor is `range`, which sorts its members: ids are drawn by Kafka here.
"""

from __future__ import annotations

import contextlib
import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from ottla.coordinators import embedded
from ottla.coordinators.classic.group import ClassicGroup
from ottla.coordinators.consumer_group.group import ConsumerGroup
from ottla.coordinators.settings import GroupSettings
from ottla.coordinators.topics_view import TopicInfo
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.classic_groups import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    SyncGroupRequest,
)
from ottla.wire.messages.consumer_groups import ConsumerGroupHeartbeatRequest
from ottla.wire.stored.consumer_protocol import ConsumerProtocolSubscription
from tests.coordinators import kafka_shard
from tests.coordinators.kafka_groups import Kafka, topic_id
from tests.coordinators.kafka_shard import KafkaFailed, Pair

pytestmark = pytest.mark.jvm

HISTORIES = 60
STEPS = 80
TOPICS = [TopicInfo("t1", topic_id(1), 4), TopicInfo("t2", topic_id(2), 3)]
POLICIES = ["bidirectional", "bidirectional", "bidirectional", "upgrade", "downgrade", "disabled"]


@pytest.fixture(scope="module")
def kafka() -> Iterator[Kafka]:
    with kafka_shard.running() as kafka:
        yield kafka


@dataclass(eq=False)
class Classic:
    """A consumer of the classic protocol."""

    topics: list[str]
    instance_id: str | None
    number: int  # makes its timeouts its own: the order of deadlines that fall together is nobody's promise
    member_id: str = ""
    generation: int = -1
    owned: dict[str, list[int]] = field(default_factory=dict)
    joining: str | None = None
    syncing: str | None = None
    must_join: bool = True

    @property
    def subscription(self) -> bytes:
        message = ConsumerProtocolSubscription(
            topics=self.topics,
            owned_partitions=[
                ConsumerProtocolSubscription.TopicPartition(topic=topic, partitions=partitions)
                for topic, partitions in self.owned.items()
            ],
            generation_id=self.generation,
        )
        return struct.pack(">h", 2) + message.encode(2)


@dataclass
class Modern:
    """A consumer of the new protocol."""

    member_id: str
    instance_id: str | None
    epoch: int = 0
    owned: dict[bytes, list[int]] = field(default_factory=dict)


class History:
    def __init__(self, pair: Pair, chance: random.Random) -> None:
        self.pair = pair
        self.chance = chance
        self.classics: list[Classic] = []
        self.moderns: dict[str, Modern] = {}

    def step(self) -> None:
        self.chance.choice([self.classic, self.classic, self.classic, self.modern, self.modern, self.pause])()
        self.pair.compare_descriptions()
        self.pair.advance(1)

    def pause(self) -> None:
        self.pair.advance(self.chance.choice([107, 1_009, 3_001, 6_007, 11_003, 30_011]))

    # The new protocol

    def modern(self) -> None:
        kind = self.chance.random()
        if not self.moderns or kind < 0.15:
            member_id = self.chance.choice("abc")
            instance_id = "static" if member_id == "c" else None
            self.send(Modern(member_id, instance_id), topics=self.chance.choice([["t1"], ["t1", "t2"]]))
            return
        member = self.chance.choice(list(self.moderns.values()))
        if kind < 0.35:
            member.epoch = -1 if member.instance_id is None or self.chance.random() < 0.3 else -2
            self.moderns.pop(member.member_id)
        self.send(member)

    def send(self, member: Modern, topics: list[str] | None = None) -> None:
        request = ConsumerGroupHeartbeatRequest(
            group_id="g",
            member_id=member.member_id,
            instance_id=member.instance_id,
            member_epoch=member.epoch,
            rebalance_timeout_ms=-1 if topics is None else 60_000,
            subscribed_topic_names=topics,
            topic_partitions=[
                ConsumerGroupHeartbeatRequest.TopicPartitions(topic_id=topic, partitions=partitions)
                for topic, partitions in member.owned.items()
            ],
        )
        response: Any = self.pair.request(
            request, 1, lambda context, _: self.pair.shard.consumer_heartbeat(request, context, self.pair.now_ms)
        )
        if isinstance(response, KafkaError) or response.member_epoch < 0:
            self.moderns.pop(member.member_id, None)
            return
        member.epoch = response.member_epoch
        if response.assignment is not None:
            member.owned = {entry.topic_id: entry.partitions for entry in response.assignment.topic_partitions}
        self.moderns[member.member_id] = member

    # The classic protocol

    def classic(self) -> None:
        if len(self.classics) < 3 and self.chance.random() < 0.3:
            has_static = any(one.instance_id for one in self.classics)
            is_group = self.is_classic_group()
            instance_id = "static" if not has_static and not is_group and self.chance.random() < 0.4 else None
            self.classics.append(Classic(self.chance.choice([["t1"], ["t1", "t2"]]), instance_id, len(self.pair.story)))
        if not self.classics:
            return
        one = self.chance.choice(self.classics)
        self.receive(one)
        if one.joining or one.syncing or one not in self.classics:
            return
        if one.must_join:
            # A static member's id would be told later only, and ours has to draw the same. One who comes with an id
            # to an empty group of the new protocol makes Kafka forget the group, without a tombstone.
            if self.is_classic_group() and (one.instance_id is not None or (one.member_id and self.is_empty())):
                self.classics.remove(one)
            else:
                self.join(one)
        elif self.chance.random() < 0.12 and not self.leads(one):
            self.leave(one)
        else:
            self.beat(one)

    def is_classic_group(self) -> bool:
        group = self.pair.shard.state.groups.get("g")
        return group is None or isinstance(group, ClassicGroup) or group.is_empty

    def is_empty(self) -> bool:
        group = self.pair.shard.state.groups.get("g")
        return isinstance(group, ConsumerGroup) and group.is_empty

    def leads(self, one: Classic) -> bool:
        group = self.pair.shard.state.groups.get("g")
        return isinstance(group, ClassicGroup) and group.leader == one.member_id

    def join(self, one: Classic) -> None:
        names = self.chance.choice([["range", "sticky"], ["range"]])
        request = JoinGroupRequest(
            group_id="g",
            session_timeout_ms=10_000 + 3 * one.number,
            rebalance_timeout_ms=20_000 + 5 * one.number,
            member_id=one.member_id,
            group_instance_id=one.instance_id,
            protocol_type="consumer",
            protocols=[
                JoinGroupRequest.JoinGroupRequestProtocol(name=name, metadata=one.subscription) for name in names
            ],
        )
        one.joining = f"token{len(self.pair.story)}"
        response = self.pair.request(
            request, 9, lambda context, token: self.pair.shard.join(request, context, token, self.pair.now_ms)
        )
        if isinstance(response, KafkaError):
            one.joining = None
            self.forget(one)
        else:
            self.receive(one)

    def receive(self, one: Classic) -> None:
        """Take what was answered meanwhile."""
        if one.joining in self.pair.answers:
            response = self.pair.answers[one.joining]
            one.joining = None
            one.member_id = response.member_id or one.member_id
            if response.error_code == ErrorCode.NONE:
                one.generation = response.generation_id
                self.sync(one, response)
            elif response.error_code not in (ErrorCode.MEMBER_ID_REQUIRED, ErrorCode.REBALANCE_IN_PROGRESS):
                self.forget(one)
        if one.syncing in self.pair.answers:
            response = self.pair.answers[one.syncing]
            one.syncing = None
            one.must_join = response.error_code != ErrorCode.NONE
            if response.error_code == ErrorCode.NONE and response.assignment:
                assignment = embedded.assignment_of(response.assignment)
                one.owned = {entry.topic: entry.partitions for entry in assignment.assigned_partitions}
            elif response.error_code not in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS):
                self.forget(one)

    def sync(self, one: Classic, joined: Any) -> None:
        ids = sorted(member.member_id for member in joined.members)
        assignments = [
            SyncGroupRequest.SyncGroupRequestAssignment(
                member_id=member_id,
                assignment=embedded.assignment_bytes({"t1": range(place, 4, len(ids))}, 2),
            )
            for place, member_id in enumerate(ids)
        ]
        request = SyncGroupRequest(
            group_id="g",
            generation_id=one.generation,
            member_id=one.member_id,
            group_instance_id=one.instance_id,
            protocol_type="consumer",
            protocol_name=joined.protocol_name,
            assignments=assignments,
        )
        one.syncing = f"token{len(self.pair.story)}"
        response = self.pair.request(
            request, 5, lambda context, token: self.pair.shard.sync(request, context, token, self.pair.now_ms)
        )
        if isinstance(response, KafkaError):
            one.syncing = None
            one.must_join = True
            if response.code is not ErrorCode.REBALANCE_IN_PROGRESS:
                self.forget(one)
        else:
            self.receive(one)

    def beat(self, one: Classic) -> None:
        request = HeartbeatRequest(
            group_id="g", generation_id=one.generation, member_id=one.member_id, group_instance_id=one.instance_id
        )
        response: Any = self.pair.request(
            request, 4, lambda context, _: self.pair.shard.heartbeat(request, context, self.pair.now_ms)
        )
        if isinstance(response, KafkaError):
            self.forget(one)
        else:
            one.must_join = response.error_code == ErrorCode.REBALANCE_IN_PROGRESS

    def leave(self, one: Classic) -> None:
        identity = LeaveGroupRequest.MemberIdentity(member_id=one.member_id, group_instance_id=one.instance_id)
        request = LeaveGroupRequest(group_id="g", members=[identity])
        self.pair.request(request, 5, lambda context, _: self.pair.shard.leave(request, context, self.pair.now_ms))
        self.forget(one)

    def forget(self, one: Classic) -> None:
        if one in self.classics:
            self.classics.remove(one)


def run(kafka: Kafka, seeds: range) -> None:
    for seed in seeds:
        chance = random.Random(seed)
        policy = chance.choice(POLICIES)
        config = {
            "group.initial.rebalance.delay.ms": "0",
            "group.consumer.assignors": "range",
            "group.consumer.migration.policy": policy,
        }
        settings = GroupSettings(
            classic_initial_rebalance_delay_ms=0, consumer_assignors=("range",), consumer_migration_policy=policy
        )
        pair = Pair(kafka, TOPICS, config, settings, seed=seed)
        pair.story.append(f"seed {seed}, {policy}")
        history = History(pair, chance)
        with contextlib.suppress(KafkaFailed):
            for _ in range(STEPS):
                history.step()
        pair.compare_reloaded()


@pytest.mark.parametrize("first_seed", range(0, HISTORIES, 20))
def test_kafka_does_the_same(kafka: Kafka, first_seed: int) -> None:
    run(kafka, range(first_seed, first_seed + 20))


@pytest.mark.soak
def test_kafka_does_the_same_in_many_histories(kafka: Kafka) -> None:
    run(kafka, range(1_000, 3_000))
