"""What a client on one listener can see of the cluster: brokers that it can reach there, and the leaders among them.

A leader that is not alive on the listener is no leader to that client. Read by everything that describes topics or
brokers; made anew for each request, over one image.
"""

from __future__ import annotations

from ottla.cluster.image import NO_LEADER, Broker, MetadataImage, Partition
from ottla.cluster.image.brokers import Endpoint
from ottla.wire.errors import ErrorCode

NO_CONTROLLER = -1
INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})


class ListenerView:
    def __init__(self, image: MetadataImage, listener: str) -> None:
        self.image = image
        self.brokers: tuple[tuple[Broker, Endpoint], ...] = image.brokers.alive_on(listener)
        self._alive = {broker.id: broker for broker, _ in self.brokers}

    def is_alive(self, broker_id: int) -> bool:
        return broker_id in self._alive

    def leader(self, partition: Partition) -> int:
        return partition.leader if partition.leader in self._alive else NO_LEADER

    def why_no_leader(self, partition: Partition) -> ErrorCode:
        """Nobody leads, or whoever does cannot be reached here, which is a mistake in somebody's configuration."""
        is_registered = partition.leader in self.image.brokers.by_id
        return ErrorCode.LISTENER_NOT_FOUND if is_registered else ErrorCode.LEADER_NOT_AVAILABLE

    def offline_replicas(self, partition: Partition) -> list[int]:
        """Replicas whose broker is gone, cannot be reached here, or has lost the directory (KIP-112, KIP-858)."""
        return [
            replica
            for replica, directory in zip(partition.replicas, partition.directories, strict=True)
            if replica not in self._alive or not self._alive[replica].has_online_log_dir(directory)
        ]

    def a_broker(self, preferred: int) -> int:
        """Who is named as controller: in KRaft any live broker will do, since each passes requests on (KIP-590)."""
        if preferred in self._alive or not self.brokers:
            return preferred if preferred in self._alive else NO_CONTROLLER
        return self.brokers[0][0].id
