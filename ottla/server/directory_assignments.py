"""The broker tells the controller in which log directory each of its replicas lies (KIP-858).

Most replicas are placed by the controller, which then knows; this is for those that the broker chose a directory for,
and for those that move. What is told meanwhile goes along with the next request. Whoever has to know that the
controller knows waits for it; without a controller it is told again, until it is heard.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import trio

from ottla.server.controller_channel import ControllerChannel
from ottla.wire.errors import KafkaError
from ottla.wire.messages.log_dirs import AssignReplicasToDirsRequest

log = logging.getLogger(__name__)

RETRY_SECONDS = 1.0
# Kafka's bound for one request.
REPLICAS_PER_REQUEST_MAX = 2250

Replica = tuple[bytes, int]


class DirectoryAssignments:
    def __init__(self, channel: ControllerChannel, node_id: int, broker_epoch: Callable[[], int]) -> None:
        self._channel = channel
        self._node_id = node_id
        self._broker_epoch = broker_epoch
        self._untold: dict[Replica, bytes] = {}
        self._is_wanted = trio.Event()
        self._told = trio.Event()

    def soon(self, topic_id: bytes, index: int, directory_id: bytes) -> None:
        """Tell of a replica when there is time. The last word counts."""
        self._untold[topic_id, index] = directory_id
        self._is_wanted.set()

    async def assign(self, topic_id: bytes, index: int, directory_id: bytes) -> None:
        """Return when the cluster knows, or somebody has told something else since."""
        self.soon(topic_id, index, directory_id)
        while self._untold.get((topic_id, index)) == directory_id:
            await self._told.wait()

    async def run(self) -> None:
        """From when on the broker is registered."""
        while True:
            await self._is_wanted.wait()
            try:
                await self._tell()
            except KafkaError as error:
                log.warning("the controller did not take the directories of replicas: %s", error.message)
                await trio.sleep(RETRY_SECONDS)

    async def _tell(self) -> None:
        telling = dict(list(self._untold.items())[:REPLICAS_PER_REQUEST_MAX])
        await self._channel.request(_request(self._node_id, self._broker_epoch(), telling))
        for replica, directory_id in telling.items():
            if self._untold.get(replica) == directory_id:
                del self._untold[replica]
        if not self._untold:
            self._is_wanted = trio.Event()
        self._told.set()
        self._told = trio.Event()


def _request(node_id: int, broker_epoch: int, telling: dict[Replica, bytes]) -> AssignReplicasToDirsRequest:
    """A partition that is gone by now is an error of its own, and of no interest."""
    by_directory: dict[bytes, dict[bytes, list[int]]] = {}
    for (topic_id, index), directory_id in telling.items():
        by_directory.setdefault(directory_id, {}).setdefault(topic_id, []).append(index)
    return AssignReplicasToDirsRequest(
        broker_id=node_id,
        broker_epoch=broker_epoch,
        directories=[
            AssignReplicasToDirsRequest.DirectoryData(
                id=directory_id,
                topics=[
                    AssignReplicasToDirsRequest.TopicData(
                        topic_id=topic_id,
                        partitions=[AssignReplicasToDirsRequest.PartitionData(partition_index=one) for one in indexes],
                    )
                    for topic_id, indexes in topics.items()
                ],
            )
            for directory_id, topics in by_directory.items()
        ],
    )
