"""The records of `__cluster_metadata`: the state of a cluster, one change at a time."""

from __future__ import annotations

from ottla.wire.schema import StoredRecord, Struct, Uuid, field, float64, int8, int16, int32, int64, uint16


class RegisterBrokerRecord(StoredRecord, type_id=0, versions="0-4", flexible="0+"):
    class BrokerEndpoint(Struct):
        name: str
        host: str
        port: uint16
        security_protocol: int16

    class BrokerFeature(Struct):
        name: str
        min_supported_version: int16
        max_supported_version: int16

    broker_id: int32
    is_migrating_zk_broker: bool = field("2+", default=False)
    incarnation_id: Uuid
    broker_epoch: int64
    end_points: list[BrokerEndpoint]
    features: list[BrokerFeature]
    rack: str | None
    fenced: bool = True
    in_controlled_shutdown: bool = field("1+", default=False)
    log_dirs: list[Uuid] = field("3+", default=[], tag=0, tagged="3+")
    cordoned_log_dirs: list[Uuid] | None = field("4+", default=None, tag=1, tagged="4+")


class UnregisterBrokerRecord(StoredRecord, type_id=1, versions="0", flexible="0+"):
    broker_id: int32
    broker_epoch: int64


class TopicRecord(StoredRecord, type_id=2, versions="0", flexible="0+"):
    name: str
    topic_id: Uuid


class PartitionRecord(StoredRecord, type_id=3, versions="0-2", flexible="0+"):
    partition_id: int32 = -1
    topic_id: Uuid
    replicas: list[int32]
    isr: list[int32]
    removing_replicas: list[int32]
    adding_replicas: list[int32]
    leader: int32 = -1
    leader_recovery_state: int8 = field(default=0, tag=0, tagged="0+")
    leader_epoch: int32 = -1
    partition_epoch: int32 = -1
    directories: list[Uuid] = field("1+", default=[])
    eligible_leader_replicas: list[int32] | None = field("2+", default=None, tag=1, tagged="2+")
    last_known_elr: list[int32] | None = field("2+", default=None, tag=2, tagged="2+")


class ConfigRecord(StoredRecord, type_id=4, versions="0", flexible="0+"):
    resource_type: int8
    resource_name: str
    name: str
    value: str | None = field(secret=True)


class PartitionChangeRecord(StoredRecord, type_id=5, versions="0-2", flexible="0+"):
    partition_id: int32 = -1
    topic_id: Uuid
    isr: list[int32] | None = field(default=None, tag=0, tagged="0+")
    leader: int32 = field(default=-2, tag=1, tagged="0+")
    replicas: list[int32] | None = field(default=None, tag=2, tagged="0+")
    removing_replicas: list[int32] | None = field(default=None, tag=3, tagged="0+")
    adding_replicas: list[int32] | None = field(default=None, tag=4, tagged="0+")
    leader_recovery_state: int8 = field(default=-1, tag=5, tagged="0+")
    directories: list[Uuid] | None = field("1+", default=None, tag=8, tagged="1+")
    eligible_leader_replicas: list[int32] | None = field("2+", default=None, tag=6, tagged="2+")
    last_known_elr: list[int32] | None = field("2+", default=None, tag=7, tagged="2+")


class FenceBrokerRecord(StoredRecord, type_id=7, versions="0", flexible="0+"):
    id: int32
    epoch: int64


class UnfenceBrokerRecord(StoredRecord, type_id=8, versions="0", flexible="0+"):
    id: int32
    epoch: int64


class RemoveTopicRecord(StoredRecord, type_id=9, versions="0", flexible="0+"):
    topic_id: Uuid


class DelegationTokenRecord(StoredRecord, type_id=10, versions="0", flexible="0+"):
    owner: str
    requester: str
    renewers: list[str]
    issue_timestamp: int64
    max_timestamp: int64
    expiration_timestamp: int64
    token_id: str


class UserScramCredentialRecord(StoredRecord, type_id=11, versions="0", flexible="0+"):
    name: str
    mechanism: int8
    salt: bytes = field(secret=True)
    stored_key: bytes = field(secret=True)
    server_key: bytes = field(secret=True)
    iterations: int32


class FeatureLevelRecord(StoredRecord, type_id=12, versions="0", flexible="0+"):
    name: str
    feature_level: int16


class ClientQuotaRecord(StoredRecord, type_id=14, versions="0", flexible="0+"):
    class EntityData(Struct):
        entity_type: str
        entity_name: str | None

    entity: list[EntityData]
    key: str
    value: float64
    remove: bool


class ProducerIdsRecord(StoredRecord, type_id=15, versions="0", flexible="0+"):
    broker_id: int32
    broker_epoch: int64 = -1
    next_producer_id: int64


class BrokerRegistrationChangeRecord(StoredRecord, type_id=17, versions="0-3", flexible="0+"):
    broker_id: int32
    broker_epoch: int64
    fenced: int8 = field(default=0, tag=0, tagged="0+")
    in_controlled_shutdown: int8 = field("1+", default=0, tag=1, tagged="1+")
    log_dirs: list[Uuid] = field("2+", default=[], tag=2, tagged="2+")
    cordoned_log_dirs: list[Uuid] | None = field("3+", default=None, tag=3, tagged="3+")


class AccessControlEntryRecord(StoredRecord, type_id=18, versions="0", flexible="0+"):
    id: Uuid
    resource_type: int8
    resource_name: str
    pattern_type: int8
    principal: str
    host: str
    operation: int8
    permission_type: int8


class RemoveAccessControlEntryRecord(StoredRecord, type_id=19, versions="0", flexible="0+"):
    id: Uuid


class NoOpRecord(StoredRecord, type_id=20, versions="0", flexible="0+"):
    pass


class ZkMigrationStateRecord(StoredRecord, type_id=21, versions="0", flexible="0+"):
    zk_migration_state: int8


class RemoveUserScramCredentialRecord(StoredRecord, type_id=22, versions="0", flexible="0+"):
    name: str
    mechanism: int8


class BeginTransactionRecord(StoredRecord, type_id=23, versions="0", flexible="0+"):
    name: str | None = field(default=None, tag=0, tagged="0+")


class EndTransactionRecord(StoredRecord, type_id=24, versions="0", flexible="0+"):
    pass


class AbortTransactionRecord(StoredRecord, type_id=25, versions="0", flexible="0+"):
    reason: str | None = field(default=None, tag=0, tagged="0+")


class RemoveDelegationTokenRecord(StoredRecord, type_id=26, versions="0", flexible="0+"):
    token_id: str


class RegisterControllerRecord(StoredRecord, type_id=27, versions="0", flexible="0+"):
    class ControllerEndpoint(Struct):
        name: str
        host: str
        port: uint16
        security_protocol: int16

    class ControllerFeature(Struct):
        name: str
        min_supported_version: int16
        max_supported_version: int16

    controller_id: int32
    incarnation_id: Uuid
    zk_migration_ready: bool
    end_points: list[ControllerEndpoint]
    features: list[ControllerFeature]


class ClearElrRecord(StoredRecord, type_id=28, versions="0", flexible="0+"):
    topic_name: str
