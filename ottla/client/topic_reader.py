"""Reading many partitions of a topic at once: in each round one Fetch to every leader, all at the same time.

One partition alone is consume.py's. Groups and fetch sessions are not here. The order within a partition is that of
its log; partitions come in turns, so that none waits for another that is long.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from ottla.client.cluster import Cluster
from ottla.client.consume import FETCH_BYTES_MAX, FETCH_WAIT_MS_MAX, NAME_VERSIONS
from ottla.client.failures import check, check_whole
from ottla.client.fetched import Aborted, visible_records, whole_entries
from ottla.client.metadata import TopicPartition
from ottla.client.offsets import IsolationLevel
from ottla.client.routing import Broker
from ottla.client.together import together
from ottla.wire.errors import KafkaError
from ottla.wire.messages.fetch import FetchRequest, FetchResponse
from ottla.wire.primitives import ZERO_UUID
from ottla.wire.records import Record
from ottla.wire.schema import ALL_VERSIONS

# Java's fetch.max.bytes.
ROUND_BYTES_MAX = 52_428_800

Answer = tuple[int, FetchResponse.PartitionData]


class Portion(NamedTuple):
    """Some records of a partition, read as they are looked at."""

    partition: int
    records: Iterator[Record]


class TopicReader:
    """From an offset of each partition on, up to and not including its end where it has one."""

    def __init__(
        self,
        cluster: Cluster,
        topic: str,
        offsets: Mapping[int, int],
        *,
        end_offsets: Mapping[int, int] | None = None,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        wait_ms_max: int = FETCH_WAIT_MS_MAX,
    ) -> None:
        # Where the next Fetch of each partition begins.
        self.offsets = dict(offsets)
        self.end_offsets = dict(end_offsets or {})
        self._cluster = cluster
        self._topic = topic
        self._isolation = isolation
        self._wait_ms_max = wait_ms_max
        self._turn = -1
        # Somebody refused while others answered: before the next round it is asked anew who leads what.
        self._is_misled = False

    @property
    def unfinished(self) -> list[int]:
        """The partitions that are not at their end, another one first each time."""
        left = [one for one, at in self.offsets.items() if one not in self.end_offsets or at < self.end_offsets[one]]
        turn = self._turn % len(left) if left else 0
        return left[turn:] + left[:turn]

    async def fetch(self) -> list[Portion]:
        """One round. Empty if nothing came while the brokers waited."""
        self._turn += 1
        answers = await self._cluster.retried(self._attempt, f"fetch from {self._topic}")
        return [Portion(partition, self._taken(partition, found)) for partition, found in answers if found.records]

    async def _attempt(self) -> list[Answer]:
        """What could be read. An error that may pass stops nobody else; it is raised if nothing was read at all."""
        if self._is_misled:
            await self._cluster.refreshed([self._topic])
            self._is_misled = False
        places = [TopicPartition(self._topic, partition) for partition in self.unfinished]
        by_leader = await self._cluster.partitions_by_leader(places)
        topic_id = (await self._cluster.metadata([self._topic])).topic(self._topic).topic_id
        asked = [partial(self._ask, node_id, topic_id, led) for node_id, led in by_leader.items()]
        answers = [answer for answered in await together(asked) for answer in answered]
        usable, failures = [], []
        for partition, found in answers:
            try:
                check(found.error_code, f"{self._topic}-{partition} at offset {self.offsets[partition]}")
                usable.append((partition, found))
            except KafkaError as error:
                failures.append(error)
        lasting = [error for error in failures if not error.code.retriable]
        if lasting or (failures and not any(found.records for _, found in usable)):
            raise (lasting or failures)[0]
        self._is_misled = bool(failures)
        return usable

    async def _ask(self, node_id: int, topic_id: bytes, places: Sequence[TopicPartition]) -> list[Answer]:
        response: FetchResponse = await self._cluster.send(
            self._request(topic_id, places),
            Broker(node_id),
            within=NAME_VERSIONS if topic_id == ZERO_UUID else ALL_VERSIONS,
            lane=f"read {self._topic}",
            answer_ms_max=self._cluster.settings.request_timeout_ms + self._wait_ms_max,
        )
        check_whole(response)
        return [
            (one.partition_index, one)
            for topic in response.responses
            for one in topic.partitions
            if one.partition_index in self.offsets
        ]

    def _request(self, topic_id: bytes, places: Sequence[TopicPartition]) -> FetchRequest:
        partitions = [
            FetchRequest.FetchPartition(
                partition=place.partition,
                fetch_offset=self.offsets[place.partition],
                partition_max_bytes=FETCH_BYTES_MAX,
            )
            for place in places
        ]
        return FetchRequest(
            max_wait_ms=self._wait_ms_max,
            min_bytes=1,
            max_bytes=ROUND_BYTES_MAX,
            isolation_level=self._isolation,
            topics=[FetchRequest.FetchTopic(topic=self._topic, topic_id=topic_id, partitions=partitions)],
        )

    def _taken(self, partition: int, found: FetchResponse.PartitionData) -> Iterator[Record]:
        """The records that are wanted: a broker sends whole batches, and these may begin before and end after them."""
        start_offset = self.offsets[partition]
        end_offset = self.end_offsets.get(partition)
        entries = whole_entries(memoryview(found.records or b""), start_offset)
        if entries:
            self.offsets[partition] = entries[-1].next_offset
        is_filtered = self._isolation == IsolationLevel.READ_COMMITTED
        aborted = [Aborted(one.producer_id, one.first_offset) for one in found.aborted_transactions or ()]
        records = visible_records(
            entries, aborted if is_filtered else [], batch_bytes_max=self._cluster.settings.batch_bytes_max
        )
        return (
            record
            for record in records
            if record.offset >= start_offset and (end_offset is None or record.offset < end_offset)
        )
