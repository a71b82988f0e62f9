"""Reading one partition from an offset on.

Sessions, groups and prefetching are not here: one Fetch after another, each in a lane of its own, since a Fetch at the
end of the log keeps its connection waiting. An offset that the log does not hold is the caller's to deal with.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

from ottla.client.cluster import Cluster
from ottla.client.failures import MalformedAnswer, check, check_whole
from ottla.client.fetched import Aborted, Entry, visible_records, whole_entries
from ottla.client.metadata import TopicPartition
from ottla.client.offsets import IsolationLevel
from ottla.client.routing import Leader
from ottla.wire.messages.fetch import FetchRequest, FetchResponse
from ottla.wire.primitives import ZERO_UUID
from ottla.wire.records import Record
from ottla.wire.schema import ALL_VERSIONS, Versions

# Later versions name topics by id alone (KIP-516).
NAME_VERSIONS = Versions(0, 12)

# Java's max.partition.fetch.bytes and fetch.max.wait.ms.
FETCH_BYTES_MAX = 1_048_576
FETCH_WAIT_MS_MAX = 500


class PartitionReader:
    """The records of a partition, in order: `async for record in reader`, without end unless `end_offset` is given.

    The watermarks are those of the last answer, -1 before the first. For one task at a time. Use `aclose` when it is
    done before the cluster is.
    """

    def __init__(
        self,
        cluster: Cluster,
        topic: str,
        partition: int,
        offset: int,
        *,
        end_offset: int | None = None,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        bytes_max: int = FETCH_BYTES_MAX,
        wait_ms_max: int = FETCH_WAIT_MS_MAX,
        timeout_ms: int | None = None,
    ) -> None:
        self.place = TopicPartition(topic, partition)
        # Where the next Fetch begins: after the last batch that was received, whether or not its records were read.
        self.fetch_offset = offset
        self.end_offset = end_offset
        self.high_watermark = -1
        self.last_stable_offset = -1
        self._cluster = cluster
        self._lane = f"fetch {self.place}"
        self._isolation = isolation
        self._bytes_max = bytes_max
        self._wait_ms_max = wait_ms_max
        self._timeout_ms = timeout_ms
        self._records: Iterator[Record] = iter(())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connection that was kept for this reader."""
        await self._cluster.aclose_lane(self._lane)

    @property
    def is_at_end(self) -> bool:
        return self.end_offset is not None and self.fetch_offset >= self.end_offset

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Record:
        # Others get their turn with every Fetch, not with every record.
        while (record := next(self._records, None)) is None:
            if self.is_at_end:
                raise StopAsyncIteration
            self._records = await self.fetch()
        return record

    async def fetch(self) -> Iterator[Record]:
        """One Fetch, and a lazy look at what it brought: nothing, if nothing came while the broker waited."""
        start_offset = self.fetch_offset
        found, entries = await self._fetch()
        is_filtered = self._isolation == IsolationLevel.READ_COMMITTED
        aborted = [Aborted(one.producer_id, one.first_offset) for one in found.aborted_transactions or ()]
        records = visible_records(
            entries, aborted if is_filtered else [], batch_bytes_max=self._cluster.settings.batch_bytes_max
        )
        return self._wanted(records, start_offset)

    async def fetch_batches(self) -> list[Entry]:
        """The same as batches, for who wants to know who wrote them: control and aborted ones are among them."""
        _, entries = await self._fetch()
        return entries

    async def _fetch(self) -> tuple[FetchResponse.PartitionData, list[Entry]]:
        found = await self._cluster.retried(self._attempt, f"fetch from {self.place}", timeout_ms=self._timeout_ms)
        self.high_watermark = found.high_watermark
        self.last_stable_offset = found.last_stable_offset
        entries = whole_entries(memoryview(found.records or b""), self.fetch_offset)
        if entries:
            self.fetch_offset = entries[-1].next_offset
        return found, entries

    def _wanted(self, records: Iterator[Record], start_offset: int) -> Iterator[Record]:
        """A broker sends whole batches: what lies before the start and from the end on goes."""
        for record in records:
            if self.end_offset is not None and record.offset >= self.end_offset:
                return
            if record.offset >= start_offset:
                yield record

    async def _attempt(self) -> FetchResponse.PartitionData:
        place = self.place
        topic_id = (await self._cluster.metadata([place.topic])).topic(place.topic).topic_id
        response: FetchResponse = await self._cluster.send(
            self._request(topic_id),
            Leader(place),
            within=NAME_VERSIONS if topic_id == ZERO_UUID else ALL_VERSIONS,
            lane=self._lane,
            answer_ms_max=self._cluster.settings.request_timeout_ms + self._wait_ms_max,
        )
        check_whole(response)
        answers = [one for topic in response.responses for one in topic.partitions]
        if len(answers) != 1 or answers[0].partition_index != place.partition:
            raise MalformedAnswer(f"Fetch from {place} was answered for {[one.partition_index for one in answers]}")
        (found,) = answers
        check(found.error_code, f"{place} at offset {self.fetch_offset}")
        return found

    def _request(self, topic_id: bytes) -> FetchRequest:
        partition = FetchRequest.FetchPartition(
            partition=self.place.partition, fetch_offset=self.fetch_offset, partition_max_bytes=self._bytes_max
        )
        topic = FetchRequest.FetchTopic(topic=self.place.topic, topic_id=topic_id, partitions=[partition])
        return FetchRequest(
            max_wait_ms=self._wait_ms_max,
            min_bytes=1,
            max_bytes=self._bytes_max,
            isolation_level=self._isolation,
            topics=[topic],
        )
