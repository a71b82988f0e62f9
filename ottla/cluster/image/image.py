"""The state of a cluster at one offset of the metadata log: immutable, complete, cheap to look things up in.

Every kind of record that describes state is kept, whether this release serves it or not: a snapshot is written from
here, and what it lacks is gone. Tagged fields that are not known ride along. Changed only by way of
`ottla.cluster.image.delta`; read by anybody. The tables are plain dicts that nobody writes to.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from ottla.cluster.features import ELIGIBLE_LEADER_REPLICAS_VERSION, METADATA_VERSION
from ottla.cluster.image.brokers import Brokers
from ottla.cluster.image.topics import Topics
from ottla.wire.stored.metadata_records import (
    AccessControlEntryRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    FeatureLevelRecord,
    ProducerIdsRecord,
    RegisterControllerRecord,
    UserScramCredentialRecord,
    ZkMigrationStateRecord,
)


class ConfigType(IntEnum):
    """What a configuration belongs to."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigResource(NamedTuple):
    """One of them; the broker with the empty name stands for all brokers."""

    type: int
    name: str


ALL_BROKERS = ConfigResource(ConfigType.BROKER, "")

# (entity type, entity name) pairs in the order of their types; None is the default entity (KIP-546).
QuotaEntity = tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, slots=True)
class MetadataImage:
    """`offset`, `epoch` and `timestamp_ms` are those of the last record in it: offset -1 is the empty log."""

    offset: int = -1
    epoch: int = -1
    timestamp_ms: int = -1
    features: dict[str, FeatureLevelRecord] = field(default_factory=dict)
    zk_migration_state: ZkMigrationStateRecord | None = None
    brokers: Brokers = field(default_factory=Brokers)
    controllers: dict[int, RegisterControllerRecord] = field(default_factory=dict)
    topics: Topics = field(default_factory=Topics)
    configs: dict[ConfigResource, dict[str, ConfigRecord]] = field(default_factory=dict)
    client_quotas: dict[QuotaEntity, dict[str, ClientQuotaRecord]] = field(default_factory=dict)
    producer_ids: ProducerIdsRecord | None = None
    acls: dict[bytes, AccessControlEntryRecord] = field(default_factory=dict)
    scram: dict[tuple[int, str], UserScramCredentialRecord] = field(default_factory=dict)
    delegation_tokens: dict[str, DelegationTokenRecord] = field(default_factory=dict)

    def feature_level(self, name: str) -> int:
        """The finalized level; 0 where nothing is finalized."""
        record = self.features.get(name)
        return 0 if record is None else record.feature_level

    @property
    def feature_levels(self) -> dict[str, int]:
        return {name: record.feature_level for name, record in self.features.items()}

    @property
    def metadata_version(self) -> int:
        return self.feature_level(METADATA_VERSION)

    @property
    def elr_enabled(self) -> bool:
        return self.feature_level(ELIGIBLE_LEADER_REPLICAS_VERSION) > 0

    @property
    def next_producer_id(self) -> int:
        return 0 if self.producer_ids is None else self.producer_ids.next_producer_id

    def config_overrides(self, type: int, name: str) -> dict[str, str]:
        """What was set for a resource itself, defaults and other levels left out."""
        records = self.configs.get(ConfigResource(type, name))
        if not records:
            return {}
        return {key: record.value for key, record in records.items() if record.value is not None}

    def config_override(self, type: int, name: str, key: str) -> str | None:
        record = self.configs.get(ConfigResource(type, name), {}).get(key)
        return None if record is None else record.value

    def topic_config(self, topic: str, key: str, node_id: int) -> str | None:
        """What is set for a topic by records: the topic's own, else the node's, else that of all brokers."""
        levels = ((ConfigType.TOPIC, topic), (ConfigType.BROKER, str(node_id)), ALL_BROKERS)
        found = (self.config_override(type, name, key) for type, name in levels)
        return next((value for value in found if value is not None), None)

    def quota_values(self, entity: QuotaEntity) -> dict[str, float]:
        return {key: record.value for key, record in self.client_quotas.get(entity, {}).items()}


EMPTY = MetadataImage()
