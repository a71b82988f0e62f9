"""What topics look like that nobody created: those that clients just use, and those that brokers keep for themselves.

Pure: from names to the CreateTopics request that the controller gets. Names that cannot be are left out. Internal
topics have their own keys; where their replication factor is not set, the number of live brokers bounds it.
"""

from __future__ import annotations

from collections.abc import Iterable

from ottla.cluster.controller.topic_names import CLUSTER_METADATA_TOPIC, check_topic_name
from ottla.config.broker import BrokerConfig
from ottla.config.internal_topics import internal_topic_factor
from ottla.wire.errors import KafkaError
from ottla.wire.messages.topics import CreateTopicsRequest

DEFAULT = -1
CREATION_VERSION = CreateTopicsRequest.versions.high
CONSUMER_OFFSETS = "__consumer_offsets"
TRANSACTION_STATE = "__transaction_state"
SHARE_GROUP_STATE = "__share_group_state"

CreatableTopic = CreateTopicsRequest.CreatableTopic


def creation_request(names: Iterable[str], config: BrokerConfig, broker_count: int) -> CreateTopicsRequest:
    topics = [creatable_topic(name, config, broker_count) for name in names if _may_be_created(name)]
    return CreateTopicsRequest(topics=topics)


def _may_be_created(name: str) -> bool:
    try:
        check_topic_name(name)
    except KafkaError:
        return False
    return name != CLUSTER_METADATA_TOPIC


def creatable_topic(name: str, config: BrokerConfig, broker_count: int) -> CreatableTopic:
    """The topic, with what the cluster's configuration says about it."""
    live = max(broker_count, 1)
    if name == CONSUMER_OFFSETS:
        return _internal(
            name,
            config.offsets_topic_num_partitions,
            internal_topic_factor(config, BrokerConfig.offsets_topic_replication_factor, live),
            {
                "cleanup.policy": "compact",
                "segment.bytes": str(config.offsets_topic_segment_bytes),
                "compression.type": "producer",
            },
        )
    if name == TRANSACTION_STATE:
        return _internal(
            name,
            config.transaction_state_log_num_partitions,
            internal_topic_factor(config, BrokerConfig.transaction_state_log_replication_factor, live),
            {
                "cleanup.policy": "compact",
                "segment.bytes": str(config.transaction_state_log_segment_bytes),
                "compression.type": "uncompressed",
                "unclean.leader.election.enable": "false",
                "min.insync.replicas": str(
                    internal_topic_factor(config, BrokerConfig.transaction_state_log_min_isr, live)
                ),
            },
        )
    if name == SHARE_GROUP_STATE:
        return _internal(
            name,
            config.share_coordinator_state_topic_num_partitions,
            internal_topic_factor(config, BrokerConfig.share_coordinator_state_topic_replication_factor, live),
            {
                "cleanup.policy": "delete",
                "retention.ms": "-1",
                "segment.bytes": str(config.share_coordinator_state_topic_segment_bytes),
                "compression.type": "producer",
                "min.insync.replicas": str(
                    internal_topic_factor(config, BrokerConfig.share_coordinator_state_topic_min_isr, live)
                ),
            },
        )
    return CreatableTopic(name=name, num_partitions=DEFAULT, replication_factor=DEFAULT, assignments=[], configs=[])


def _internal(name: str, partition_count: int, factor: int, configs: dict[str, str]) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partition_count,
        replication_factor=factor,
        assignments=[],
        configs=[CreateTopicsRequest.CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
    )
