"""All that a controller knows: the image as its own records made it, what follows from it, and who was heard of when.

Made from the image of the committed log when the node becomes leader, dropped when it no longer is. `replay` is the
only writer of what the log holds.
"""

from __future__ import annotations

from collections.abc import Sequence

from ottla.cluster.controller.partition_index import PartitionIndex
from ottla.cluster.controller.sessions import Sessions
from ottla.cluster.controller.settings import ControllerSettings
from ottla.cluster.image import Broker, MetadataImage, MetadataLoader, Topic
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.schema import StoredRecord

MIN_INSYNC_REPLICAS = "min.insync.replicas"
UNCLEAN_LEADER_ELECTION = "unclean.leader.election.enable"


class ControllerState:
    """`kraft_version` is the quorum's own; the driver sets it when that changes."""

    def __init__(
        self, settings: ControllerSettings, image: MetadataImage, *, now_ms: int, kraft_version: int = 1
    ) -> None:
        self.settings = settings
        self.kraft_version = kraft_version
        self._loader = MetadataLoader(image)
        self.index = PartitionIndex(image)
        self.sessions = Sessions(image, timeout_ms=settings.broker_session_timeout_ms, now_ms=now_ms)

    @property
    def image(self) -> MetadataImage:
        return self._loader.image

    def replay(self, records: Sequence[StoredRecord], *, base_offset: int, epoch: int, now_ms: int) -> None:
        """Records that were appended, at these offsets; whether or not they are committed yet."""
        changes = self._loader.load(
            records,
            base_offset=base_offset,
            last_offset=base_offset + len(records) - 1,
            epoch=epoch,
            timestamp_ms=now_ms,
        )
        for change in changes:
            self.index.replayed(change)
            self.sessions.replayed(change, now_ms)

    def broker_at(self, broker_id: int, broker_epoch: int) -> Broker:
        """The registration of the broker that sends a request, or STALE_BROKER_EPOCH."""
        broker = self.image.brokers.by_id.get(broker_id)
        if broker is None:
            raise KafkaError(ErrorCode.STALE_BROKER_EPOCH, f"broker {broker_id} is not registered")
        if broker.epoch != broker_epoch:
            reason = f"broker {broker_id} is registered at epoch {broker.epoch}, not {broker_epoch}"
            raise KafkaError(ErrorCode.STALE_BROKER_EPOCH, reason)
        return broker

    def min_insync_replicas(self, topic: Topic) -> int:
        """Of the ELR's rules: no more than the topic has replicas."""
        text = self.image.topic_config(topic.name, MIN_INSYNC_REPLICAS, self.settings.node_id)
        value = int(text) if text is not None and text.isdecimal() else self.settings.min_insync_replicas
        first = topic.partitions.get(0)
        return value if first is None else min(value, len(first.replicas))

    def allows_unclean_election(self, topic: Topic) -> bool:
        text = self.image.topic_config(topic.name, UNCLEAN_LEADER_ELECTION, self.settings.node_id)
        return self.settings.unclean_leader_election_enabled if text is None else text.lower() == "true"
