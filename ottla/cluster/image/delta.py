"""From one image to the next: records go in, each changes a part, and only the parts that changed are copied.

`replay` is the only writer of cluster state, for every kind of record but the three that mark transactions, which the
loader keeps to itself. A record that does not fit the state is a MetadataLogError, and the delta is useless afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ottla.cluster.features import KRAFT_VERSION, METADATA_VERSION
from ottla.cluster.image.brokers import FENCE, UNFENCE, Broker, Brokers, broker_of
from ottla.cluster.image.image import ConfigResource, ConfigType, MetadataImage, QuotaEntity
from ottla.cluster.image.topics import TopicsDelta
from ottla.cluster.metadata_log import MetadataLogError
from ottla.wire.schema import StoredRecord
from ottla.wire.stored.metadata_records import (
    AccessControlEntryRecord,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    UserScramCredentialRecord,
    ZkMigrationStateRecord,
)


class MetadataDelta:
    """What records have done to an image. Reading `topics` and `changed_parts` tells a publisher what to look at."""

    def __init__(self, image: MetadataImage) -> None:
        self.image = image
        self.topics = TopicsDelta(image.topics)
        # A part's own table (or record) once something in it changed, under the part's name in the image.
        self.changed_parts: dict[str, Any] = {}
        self.changed_brokers: dict[int, Broker | None] = {}
        self.is_empty = True

    def replay(self, record: StoredRecord) -> None:
        handler = _HANDLERS.get(type(record))
        if handler is None:
            raise MetadataLogError(f"a {type(record).__name__} where cluster state was expected")
        self.is_empty = False
        handler(self, record)

    def apply(self, offset: int, epoch: int, timestamp_ms: int) -> MetadataImage:
        """The image after the records, whose last has that offset, epoch and time."""
        parts = dict(self.changed_parts)
        if self.changed_brokers:
            by_id = self.image.brokers.by_id | self.changed_brokers
            parts["brokers"] = Brokers({id: broker for id, broker in by_id.items() if broker is not None})
        topics = self.topics.apply()
        return replace(self.image, offset=offset, epoch=epoch, timestamp_ms=timestamp_ms, topics=topics, **parts)

    def _table(self, part: str) -> dict[Any, Any]:
        table = self.changed_parts.get(part)
        if table is None:
            table = self.changed_parts[part] = getattr(self.image, part).copy()
        return table  # type: ignore[no-any-return]

    def _inner_table(self, part: str, key: Any) -> dict[str, Any]:
        """A copy of a table in a table: the image's own must not change."""
        table = self._table(part)
        copied: dict[str, Any] = table[key].copy() if key in table else {}
        table[key] = copied
        return copied

    # -- topics -------------------------------------------------------------------------------------------------------

    def _topic(self, record: TopicRecord) -> None:
        self.topics.add(record)

    def _partition(self, record: PartitionRecord) -> None:
        self.topics.add_partition(record)

    def _partition_change(self, record: PartitionChangeRecord) -> None:
        self.topics.change_partition(record)

    def _clear_elr(self, record: ClearElrRecord) -> None:
        self.topics.clear_elr(record)

    def _remove_topic(self, record: RemoveTopicRecord) -> None:
        name = self.topics.remove(record)
        if (ConfigType.TOPIC, name) in self.changed_parts.get("configs", self.image.configs):
            del self._table("configs")[ConfigResource(ConfigType.TOPIC, name)]

    # -- nodes --------------------------------------------------------------------------------------------------------

    def _register_broker(self, record: RegisterBrokerRecord) -> None:
        self.changed_brokers[record.broker_id] = broker_of(record)

    def _unregister_broker(self, record: UnregisterBrokerRecord) -> None:
        self._broker(record.broker_id, record.broker_epoch, record)
        self.changed_brokers[record.broker_id] = None

    def _fence_broker(self, record: FenceBrokerRecord) -> None:
        self._set_fenced(record, FENCE)

    def _unfence_broker(self, record: UnfenceBrokerRecord) -> None:
        self._set_fenced(record, UNFENCE)

    def _set_fenced(self, record: FenceBrokerRecord | UnfenceBrokerRecord, fenced: int) -> None:
        self._change_broker(
            BrokerRegistrationChangeRecord(broker_id=record.id, broker_epoch=record.epoch, fenced=fenced)
        )

    def _change_broker(self, record: BrokerRegistrationChangeRecord) -> None:
        broker = self._broker(record.broker_id, record.broker_epoch, record)
        self.changed_brokers[record.broker_id] = broker.changed(record)

    def _broker(self, broker_id: int, epoch: int, record: StoredRecord) -> Broker:
        known = self.changed_brokers.get(broker_id, self.image.brokers.by_id.get(broker_id))
        if known is None or known.epoch != epoch:
            there = "not registered" if known is None else f"at epoch {known.epoch}"
            raise MetadataLogError(f"{type(record).__name__} for broker {broker_id} epoch {epoch}, which is {there}")
        return known

    def _register_controller(self, record: RegisterControllerRecord) -> None:
        self._table("controllers")[record.controller_id] = record

    # -- everything that is a table of records ------------------------------------------------------------------------

    def _feature_level(self, record: FeatureLevelRecord) -> None:
        if record.name == KRAFT_VERSION:
            return  # the quorum's own affair: it lives in control records (KIP-853)
        if record.feature_level or record.name == METADATA_VERSION:
            self._table("features")[record.name] = record
        else:
            self._table("features").pop(record.name, None)

    def _config(self, record: ConfigRecord) -> None:
        resource = ConfigResource(record.resource_type, record.resource_name)
        values = self._inner_table("configs", resource)
        if record.value is not None:
            values[record.name] = record
        else:
            values.pop(record.name, None)
        if not values:
            del self._table("configs")[resource]

    def _client_quota(self, record: ClientQuotaRecord) -> None:
        entity = entity_of(record)
        values = self._inner_table("client_quotas", entity)
        if not record.remove:
            values[record.key] = record
        else:
            values.pop(record.key, None)
        if not values:
            del self._table("client_quotas")[entity]

    def _producer_ids(self, record: ProducerIdsRecord) -> None:
        self.changed_parts["producer_ids"] = record

    def _zk_migration_state(self, record: ZkMigrationStateRecord) -> None:
        self.changed_parts["zk_migration_state"] = record

    def _acl(self, record: AccessControlEntryRecord) -> None:
        self._table("acls")[record.id] = record

    def _remove_acl(self, record: RemoveAccessControlEntryRecord) -> None:
        if self._table("acls").pop(record.id, None) is None:
            raise MetadataLogError(f"an ACL to remove that does not exist: {record.id.hex()}")

    def _scram(self, record: UserScramCredentialRecord) -> None:
        self._table("scram")[record.mechanism, record.name] = record

    def _remove_scram(self, record: RemoveUserScramCredentialRecord) -> None:
        if self._table("scram").pop((record.mechanism, record.name), None) is None:
            raise MetadataLogError(f"SCRAM credentials to remove that do not exist: {record.name}")

    def _delegation_token(self, record: DelegationTokenRecord) -> None:
        self._table("delegation_tokens")[record.token_id] = record

    def _remove_delegation_token(self, record: RemoveDelegationTokenRecord) -> None:
        self._table("delegation_tokens").pop(record.token_id, None)

    def _nothing(self, record: NoOpRecord) -> None:
        pass


def entity_of(record: ClientQuotaRecord) -> QuotaEntity:
    return tuple(sorted(((part.entity_type, part.entity_name) for part in record.entity), key=lambda part: part[0]))


_HANDLERS: dict[type, Callable[[MetadataDelta, Any], None]] = {
    RegisterBrokerRecord: MetadataDelta._register_broker,
    UnregisterBrokerRecord: MetadataDelta._unregister_broker,
    TopicRecord: MetadataDelta._topic,
    PartitionRecord: MetadataDelta._partition,
    ConfigRecord: MetadataDelta._config,
    PartitionChangeRecord: MetadataDelta._partition_change,
    FenceBrokerRecord: MetadataDelta._fence_broker,
    UnfenceBrokerRecord: MetadataDelta._unfence_broker,
    RemoveTopicRecord: MetadataDelta._remove_topic,
    DelegationTokenRecord: MetadataDelta._delegation_token,
    UserScramCredentialRecord: MetadataDelta._scram,
    FeatureLevelRecord: MetadataDelta._feature_level,
    ClientQuotaRecord: MetadataDelta._client_quota,
    ProducerIdsRecord: MetadataDelta._producer_ids,
    BrokerRegistrationChangeRecord: MetadataDelta._change_broker,
    AccessControlEntryRecord: MetadataDelta._acl,
    RemoveAccessControlEntryRecord: MetadataDelta._remove_acl,
    NoOpRecord: MetadataDelta._nothing,
    ZkMigrationStateRecord: MetadataDelta._zk_migration_state,
    RemoveUserScramCredentialRecord: MetadataDelta._remove_scram,
    RemoveDelegationTokenRecord: MetadataDelta._remove_delegation_token,
    RegisterControllerRecord: MetadataDelta._register_controller,
    ClearElrRecord: MetadataDelta._clear_elr,
}
