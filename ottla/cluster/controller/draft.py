"""Where a request's records are put together: each sees what the ones before it will have done.

A draft lies over the state and is thrown away with the request; only brokers and partitions show through it changed,
since only these are asked for again by the same request. `records` is what the driver appends.
"""

from __future__ import annotations

from collections.abc import Callable

from ottla.cluster.controller.partition_change import PartitionChange
from ottla.cluster.controller.partition_index import PartitionKey
from ottla.cluster.controller.result import RECORDS_PER_USER_OP_MAX, RequestTooLarge
from ottla.cluster.controller.state import ControllerState
from ottla.cluster.features import DIRECTORY_ASSIGNMENT_SINCE
from ottla.cluster.image import Broker, Partition, Topic
from ottla.cluster.image.directory_ids import MIGRATING, UNASSIGNED
from ottla.wire.schema import StoredRecord
from ottla.wire.stored.metadata_records import BrokerRegistrationChangeRecord, PartitionChangeRecord


class Draft:
    """With `bounded_for` the records are what a user asked for, and limited; the name goes into the refusal."""

    def __init__(self, state: ControllerState, *, bounded_for: str = "") -> None:
        self.state = state
        self.records: list[StoredRecord] = []
        self._bounded_for = bounded_for
        self._partitions: dict[PartitionKey, Partition] = {}
        self._brokers: dict[int, Broker] = {}
        # Configs are looked up once a topic, not once a partition: a broker that is fenced may have thousands.
        self._min_insync_replicas: dict[bytes, int] = {}
        self._allows_unclean_election: dict[bytes, bool] = {}

    def add(self, *records: StoredRecord) -> None:
        if self._bounded_for and len(self.records) + len(records) > RECORDS_PER_USER_OP_MAX:
            raise RequestTooLarge(self._bounded_for)
        self.records += records

    def broker(self, broker_id: int) -> Broker | None:
        return self._brokers.get(broker_id) or self.state.image.brokers.by_id.get(broker_id)

    def is_active(self, broker_id: int) -> bool:
        broker = self.broker(broker_id)
        return broker is not None and broker.is_active

    def change_broker(self, record: BrokerRegistrationChangeRecord) -> None:
        broker = self.broker(record.broker_id)
        assert broker is not None, record
        self._brokers[broker.id] = broker.changed(record)
        self.add(record)

    def default_log_dir(self, broker_id: int) -> bytes:
        """Where a new replica of that broker is said to be until the broker says more."""
        if self.state.image.metadata_version < DIRECTORY_ASSIGNMENT_SINCE:
            return MIGRATING
        broker = self.broker(broker_id)
        return UNASSIGNED if broker is None else broker.default_log_dir

    def min_insync_replicas(self, topic: Topic) -> int:
        known = self._min_insync_replicas.get(topic.id)
        if known is None:
            known = self._min_insync_replicas[topic.id] = self.state.min_insync_replicas(topic)
        return known

    def allows_unclean_election(self, topic: Topic) -> bool:
        known = self._allows_unclean_election.get(topic.id)
        if known is None:
            known = self._allows_unclean_election[topic.id] = self.state.allows_unclean_election(topic)
        return known

    def partition(self, topic: Topic, partition_id: int) -> Partition | None:
        return self._partitions.get((topic.id, partition_id)) or topic.partitions.get(partition_id)

    def change(
        self, topic: Topic, partition_id: int, is_acceptable_leader: Callable[[int], bool] | None = None
    ) -> PartitionChange:
        """A change to fill in. A leader has to be active unless said otherwise, and its log has to be there."""
        partition = self.partition(topic, partition_id)
        assert partition is not None, f"{topic.name} has no partition {partition_id}"
        acceptable = is_acceptable_leader or self.is_active
        return PartitionChange(
            partition,
            topic.id,
            partition_id,
            is_acceptable_leader=lambda broker_id: acceptable(broker_id) and self._has_log(partition, broker_id),
            default_log_dir=self.default_log_dir,
            metadata_version=self.state.image.metadata_version,
            min_insync_replicas=self.min_insync_replicas(topic),
            elr_enabled=self.state.image.elr_enabled,
        )

    def commit(self, change: PartitionChange) -> PartitionChangeRecord | None:
        """Build the record, if one is needed, and take it in."""
        record = change.build()
        if record is not None:
            self.change_partition(change.partition, record)
        return record

    def change_partition(self, partition: Partition, record: PartitionChangeRecord) -> None:
        self.add(record)
        self._partitions[record.topic_id, record.partition_id] = partition.changed(record)

    def _has_log(self, partition: Partition, broker_id: int) -> bool:
        directory, broker = partition.directory(broker_id), self.broker(broker_id)
        return directory is not None and broker is not None and broker.has_online_log_dir(directory)
