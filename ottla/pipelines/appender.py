"""Appending copies to one partition of a target, each record exactly once, whoever else tries the same.

The argument, in three sentences. A batch is numbered (producer id, sequence) as the one that follows the log's last
batch, and a broker appends it only if that is still so (KIP-98): reading the tail and appending after it is one
compare-and-set. Whoever loses reads the tail again and goes on after it, and so does whoever starts anew, so it does
not matter whether a writer that was given up is still alive somewhere. Since a broker calls a batch with known numbers
written although another one may have written other records under them, what was written is read back and compared,
and nothing is sent before that.

One batch at a time; acks=all. It does not know where records come from.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ottla.client.blocking import Client
from ottla.client.cluster import Cluster
from ottla.client.consume import PartitionReader
from ottla.client.metadata import TopicPartition
from ottla.client.produce import Produced
from ottla.pipelines import PipelineFailed
from ottla.pipelines.source_header import KEY, Origin
from ottla.pipelines.target_tail import NOTHING, SEQUENCE_MASK, Tail, read_tail
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import BatchBuilder, Codec, Record, RecordBatch

BATCH_RECORDS_MAX = 10_000
# What a header, the length fields of a record and those of a batch may add to a record's own bytes.
OVERHEAD_BYTES = 512
# Another one has written first, or something that is not replicated yet is in the way.
LOST_RACE = {ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.INVALID_PRODUCER_EPOCH}
STUCK_SECONDS_MAX = 60.0
PAUSE_SECONDS = 0.05


class Built(NamedTuple):
    data: bytes
    crc: int
    record_count: int


class Appender:
    """Use `after` to learn where to go on; then `append` in the order of offsets."""

    def __init__(self, client: Client, place: TopicPartition, origin: Origin, *, codec: Codec = Codec.NONE) -> None:
        self._client = client
        self._place = place
        self._origin = origin
        self._codec = codec
        self.tail: Tail = client.call(read_tail, place, origin)
        self.written_count = 0

    @property
    def after(self) -> int:
        """The offset, in the source, of the last record that is copied; -1 if none is."""
        return self.tail.source_offset

    def append(self, records: Sequence[Record]) -> None:
        """Return when all of them are in the target, by whomever. They are to fit into one batch."""
        left = [record for record in records if record.offset > self.after]
        deadline = time.monotonic() + STUCK_SECONDS_MAX
        while left:
            before = self.tail
            self.tail = self._try(left)
            if self.after < before.source_offset:
                raise self._broken(f"it ended with source offset {before.source_offset}, now with {self.after}")
            left = [record for record in left if record.offset > self.after]
            if self.tail != before:
                deadline = time.monotonic() + STUCK_SECONDS_MAX
            elif time.monotonic() > deadline:
                raise PipelineFailed(f"{self._place} takes no records: its tail does not move, and is not to be seen")
            else:
                time.sleep(PAUSE_SECONDS)

    def _try(self, records: Sequence[Record]) -> Tail:
        """Send once, and return the tail as it is then."""
        built = build(records, self._origin, self.tail, self._codec)
        try:
            produced = self._client.produce(*self._place, built.data)
        except KafkaError as error:
            if error.code == ErrorCode.MESSAGE_TOO_LARGE and len(records) > 1:
                return self._try(records[: len(records) // 2])
            if error.code not in LOST_RACE:
                raise
            produced = None
        if produced is not None and produced.base_offset not in (self.tail.end_offset, NOTHING):
            raise self._broken(f"it ended at offset {self.tail.end_offset}, and the next was {produced.base_offset}")
        if produced is not None and self._client.call(is_last, self._place, produced, built):
            self.written_count += built.record_count
            return self.tail._replace(
                end_offset=produced.base_offset + built.record_count,
                source_offset=records[-1].offset,
                next_sequence=self.tail.next_sequence + built.record_count & SEQUENCE_MASK,
                record=records[-1],
            )
        tail: Tail = self._client.call(read_tail, self._place, self._origin)
        if produced is not None:
            self.written_count += sum(record.offset <= tail.source_offset for record in records)
        return tail

    def _broken(self, how: str) -> PipelineFailed:
        """The log is not what this copy has made of it."""
        return PipelineFailed(
            f"{self._place} has lost records, or somebody else writes to it: {how}; "
            "see `ottla pipeline verify`, and delete the topic to copy it again"
        )


def build(records: Sequence[Record], origin: Origin, tail: Tail, codec: Codec) -> Built:
    """The batch that follows the tail."""
    builder = BatchBuilder(
        codec=codec,
        producer_id=tail.producer_id,
        producer_epoch=tail.producer_epoch,
        base_sequence=tail.next_sequence,
    )
    prefix = origin.prefix
    for record in records:
        header = (KEY, prefix + b"%d" % record.offset)
        builder.append(record.key, record.value, timestamp=record.timestamp, headers=(*record.headers, header))
    data = builder.build()
    return Built(data, RecordBatch(memoryview(data)).crc, builder.count)


async def is_last(cluster: Cluster, place: TopicPartition, produced: Produced, built: Built) -> bool:
    """Whether a batch that was called written is the last one of the log, byte for byte.

    False is no verdict: a broker that compresses anew, or stamps its own time, changes every byte.
    """
    end_offset = produced.base_offset + built.record_count
    if produced.base_offset < 0:
        return False
    reader = PartitionReader(cluster, *place, end_offset - 1)  # its connection is kept for the next batch
    entries = await reader.fetch_batches()
    if len(entries) != 1 or reader.high_watermark != end_offset:
        return False
    (batch,) = entries
    return isinstance(batch, RecordBatch) and batch.base_offset == produced.base_offset and batch.crc == built.crc


def batches(records: Iterable[Record], bytes_max: int) -> Iterator[list[Record]]:
    """Records in runs that fit into a batch; one that is larger is alone."""
    run: list[Record] = []
    run_bytes = OVERHEAD_BYTES
    for record in records:
        size_bytes = record_bytes(record)
        if run and (run_bytes + size_bytes > bytes_max or len(run) == BATCH_RECORDS_MAX):
            yield run
            run, run_bytes = [], OVERHEAD_BYTES
        run.append(record)
        run_bytes += size_bytes
    if run:
        yield run


def record_bytes(record: Record) -> int:
    """About what a record takes, with the header that it gets."""
    size_bytes = 100 + len(record.key or b"") + len(record.value or b"")
    for key, value in record.headers:
        size_bytes += 10 + len(key) + len(value or b"")
    return size_bytes
