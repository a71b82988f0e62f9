"""What is known of a cluster: its brokers, and who leads what. A value that never changes; news makes a new one.

Built from answers to Metadata. It does not know when it was learned nor how to ask again: that is the cluster's. What
is missing or has an error is raised as a KafkaError that names the topic, when somebody wants it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ottla.client.addresses import Address
from ottla.client.failures import check
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.metadata import MetadataResponse
from ottla.wire.primitives import ZERO_UUID

NO_NODE = -1


class TopicPartition(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class PartitionMetadata(NamedTuple):
    """Who holds a partition; the leader may be NO_NODE."""

    leader_id: int
    leader_epoch: int
    replicas: Sequence[int]
    isr: Sequence[int]


class TopicMetadata(NamedTuple):
    """A topic as a broker described it. The id is zero where the broker is too old for ids."""

    error_code: int
    topic_id: bytes
    is_internal: bool
    partitions: Mapping[int, PartitionMetadata]


@dataclass(frozen=True)
class ClusterMetadata:
    cluster_id: str | None = None
    controller_id: int = NO_NODE
    brokers: Mapping[int, Address] = field(default_factory=dict)
    topics: Mapping[str, TopicMetadata] = field(default_factory=dict)

    def updated(self, response: MetadataResponse) -> ClusterMetadata:
        """With what an answer says: all of the brokers, and those topics that it names."""
        described = {
            topic.name: _described(topic, self.topics.get(topic.name))
            for topic in response.topics
            if topic.name is not None  # a topic asked for by an id that there is not
        }
        return ClusterMetadata(
            cluster_id=response.cluster_id,
            controller_id=response.controller_id,
            brokers={broker.node_id: Address(broker.host, broker.port) for broker in response.brokers},
            topics={**self.topics, **described},
        )

    def with_broker(self, node_id: int, address: Address) -> ClusterMetadata:
        """With a broker that was named elsewhere, as coordinators are."""
        return replace(self, brokers={**self.brokers, node_id: address})

    def topic(self, name: str) -> TopicMetadata:
        """A topic that exists; otherwise the error, which may pass."""
        found = self.topics.get(name)
        if found is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {name}: it has not been described")
        check(found.error_code, f"topic {name}")
        return found

    def leader(self, partition: TopicPartition) -> int:
        """The node that leads a partition now and whose address is known."""
        found = self.topic(partition.topic).partitions.get(partition.partition)
        if found is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{partition}: there is no such partition")
        if found.leader_id not in self.brokers:
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"{partition}: no broker leads it now")
        return found.leader_id

    def available(self, topic: str) -> list[int]:
        """The partitions of a topic that have a leader; all of them where none has."""
        partitions = self.topic(topic).partitions
        led = [index for index, partition in partitions.items() if partition.leader_id in self.brokers]
        return sorted(led or partitions)


def _described(topic: MetadataResponse.MetadataResponseTopic, before: TopicMetadata | None) -> TopicMetadata:
    partitions = {}
    for one in topic.partitions:
        found = PartitionMetadata(one.leader_id, one.leader_epoch, one.replica_nodes, one.isr_nodes)
        known = before.partitions.get(one.partition_index) if before is not None else None
        # A broker that lags behind may tell old news. Epochs only grow while the topic is the same (KIP-320).
        if known is not None and before is not None and before.topic_id == topic.topic_id != ZERO_UUID:
            found = max(found, known, key=lambda candidate: candidate.leader_epoch)
        partitions[one.partition_index] = found
    return TopicMetadata(topic.error_code, topic.topic_id, topic.is_internal, partitions)
