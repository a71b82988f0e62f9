"""What a controller is told once: plain values and the rules of configs, which another layer knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ottla.cluster.features import VersionRange
from ottla.cluster.image import ConfigResource
from ottla.cluster.placement import Randomness
from ottla.wire.messages.topics import CreateTopicsResponse


class ConfigRules(Protocol):
    """Which configs there are and what values they take; asked, never told."""

    def validate(self, resource: ConfigResource, configs: Mapping[str, str], existing: Mapping[str, str]) -> None:
        """Raise KafkaError unless the resource may have these configs instead of the existing ones."""

    def is_list(self, resource_type: int, key: str) -> bool:
        """Whether APPEND and SUBTRACT make sense."""

    def default(self, resource_type: int, key: str) -> str | None:
        """What holds where nothing is set."""

    def describe_topic(self, overrides: Mapping[str, str]) -> list[CreateTopicsResponse.CreatableTopicConfigs]:
        """Every config of a topic with these overrides, for the answer to CreateTopics.

        What brokers have set, for themselves or for all, the rules know from elsewhere.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSettings:
    """`supported_features` is what this node can serve; `quorum_node_ids` the voters by configuration or by the log."""

    cluster_id: str
    node_id: int
    config_rules: ConfigRules
    random: Randomness
    supported_features: Mapping[str, VersionRange] = field(default_factory=dict)
    quorum_node_ids: tuple[int, ...] = ()
    default_partition_count: int = 1
    default_replication_factor: int = 1
    min_insync_replicas: int = 1
    unclean_leader_election_enabled: bool = False
    delete_topics_enabled: bool = True
    broker_session_timeout_ms: int = 9_000
