"""A shard with a driver that waits for nobody, and members of the consumer protocol in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ottla.coordinators.classic.group import ClassicGroup
from ottla.coordinators.consumer_group.group import ConsumerGroup
from ottla.coordinators.consumer_group.heartbeat import may_enter_first
from ottla.coordinators.contract import RequestContext
from ottla.coordinators.topics_view import FixedTopics, TopicInfo
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.consumer_groups import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from tests.coordinators.shard_world import ShardWorld

ORDERS, BILLS = b"o" * 16, b"b" * 16
ORDERS_TOPIC, BILLS_TOPIC = TopicInfo("orders", ORDERS, 4), TopicInfo("bills", BILLS, 2)
# Long enough for the next target to be due, short enough for a session.
A_WHILE_MS = 2_000


class ConsumerWorld(ShardWorld):
    def beat(self, member_id: str, epoch: int = 0, *, version: int = 1, **said: Any) -> Any:
        """The answer to a heartbeat, or the KafkaError."""
        return self.ask(
            lambda: self.shard.consumer_heartbeat(
                heartbeat_request(member_id, epoch, **said), said_by(version), self.now_ms
            )
        )

    def enter_first(self, member_id: str, **said: Any) -> Any:
        """One of several who join together; its heartbeat is to follow. The KafkaError, if it may not."""
        request = heartbeat_request(member_id, owned={}, **{"topics": ["orders"], "timeout_ms": 30_000} | said)
        assert may_enter_first(request)
        return self.ask(lambda: self.shard.consumer_enter(request, said_by(1), self.now_ms))

    def enter(self, member_id: str, **options: Any) -> ConsumerGroupHeartbeatResponse:
        """A member joins, for `orders` unless told otherwise."""
        if "regex" not in options:
            options.setdefault("topics", ["orders"])
        return self.good(self.beat(member_id, owned={}, timeout_ms=options.pop("timeout_ms", 30_000), **options))

    def good(self, response: Any) -> ConsumerGroupHeartbeatResponse:
        assert isinstance(response, ConsumerGroupHeartbeatResponse), response
        assert response.error_code == 0
        return response

    def refused(self, response: Any) -> ErrorCode:
        assert isinstance(response, KafkaError), response
        return response.code

    def settle(self, *member_ids: str, rounds: int = 4) -> None:
        """Heartbeats until all have what they are to have."""
        for _ in range(rounds):
            self.advance(A_WHILE_MS)
            for member_id in member_ids:
                member = self.group.members[member_id]
                owned = {topic: sorted(held) for topic, held in member.assigned.items()}
                self.good(self.beat(member_id, member.epoch, owned=owned, instance_id=member.instance_id))

    def change_topics(self, *topics: TopicInfo) -> None:
        version = self.shard.state.topics.version + 1
        self.run(self.shard.topics_changed(FixedTopics(topics, version)))

    @property
    def group(self) -> ConsumerGroup:
        group = self.shard.state.groups["g"]
        assert isinstance(group, ConsumerGroup), group
        return group

    @property
    def classic_group(self) -> ClassicGroup:
        group = self.shard.state.groups["g"]
        assert isinstance(group, ClassicGroup), group
        return group

    def held(self, member_id: str) -> dict[bytes, list[int]]:
        return {topic: sorted(held) for topic, held in self.group.members[member_id].assigned.items()}


def said_by(version: int) -> RequestContext:
    return RequestContext("client", "/127.0.0.1", version)


def heartbeat_request(
    member_id: str,
    epoch: int = 0,
    *,
    topics: list[str] | None = None,
    regex: str | None = None,
    owned: Mapping[bytes, list[int]] | None = None,
    timeout_ms: int = -1,
    instance_id: str | None = None,
    assignor: str | None = None,
) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id=member_id,
        member_epoch=epoch,
        instance_id=instance_id,
        rebalance_timeout_ms=timeout_ms,
        subscribed_topic_names=topics,
        subscribed_topic_regex=regex,
        server_assignor=assignor,
        topic_partitions=None
        if owned is None
        else [
            ConsumerGroupHeartbeatRequest.TopicPartitions(topic_id=topic, partitions=partitions)
            for topic, partitions in owned.items()
        ],
    )


def assigned(response: ConsumerGroupHeartbeatResponse) -> dict[bytes, list[int]] | None:
    """What the answer gives; None if it says nothing about it."""
    if response.assignment is None:
        return None
    return {entry.topic_id: entry.partitions for entry in response.assignment.topic_partitions}
