"""Record batches to Arrow columns, many batches at once and no Python object for a record.

A `Slab` takes the batches of one partition as they come; `table` turns all that it holds into columns. The only thing
done record by record is the hop from length to length, and where records are of one size not even that; fields are then
found by numpy for all records together, and keys and values copied by Arrow. What is not asked for is not decoded: of
a batch whose records nobody wants to see, the header is enough. It knows neither files nor Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy
import numpy.typing
import pyarrow

from ottla.pipelines.segments_fields import Fields, NoRecords, find_fields, header_lists, record_starts
from ottla.wire.compression import Codec, decompress
from ottla.wire.records import LegacyEntry, RecordBatch, iter_legacy_records
from ottla.wire.records.batch import LOG_APPEND_TIME_FLAG

RECORDS_BYTES_MAX = 256 << 20
MICROSECONDS = 1000

BINARY = pyarrow.binary()
HEADERS = pyarrow.list_(pyarrow.struct([("key", pyarrow.string()), ("value", BINARY)]))
# In the order of Spark's `kafka` format, so that frames of both can be put together.
ARROW_TYPES: dict[str, Any] = {
    "key": BINARY,
    "value": BINARY,
    "topic": pyarrow.string(),
    "partition": pyarrow.int32(),
    "offset": pyarrow.int64(),
    "timestamp": pyarrow.timestamp("us", tz="UTC"),
    "timestampType": pyarrow.int32(),
    "headers": HEADERS,
}

Integers = numpy.typing.NDArray[numpy.int64]
Choice = numpy.typing.NDArray[numpy.bool_]


class Wanted(NamedTuple):
    """Which columns, in their order, and of which records: offsets and timestamps from, up to but not including."""

    columns: tuple[str, ...]
    start_offset: int
    end_offset: int
    start_timestamp: int | None = None
    end_timestamp: int | None = None

    @property
    def has_timestamps(self) -> bool:
        return self.start_timestamp is not None or self.end_timestamp is not None


class Held(NamedTuple):
    """What a slab remembers of a batch: where it came from, its records' bytes, and its header's word."""

    origin: int
    count: int
    base_offset: int
    base_timestamp: int
    timestamp_type: int
    has_consecutive_offsets: bool
    lies_inside: bool
    data: bytes | memoryview


class Slab:
    """Batches of one partition. `data_bytes` and `count` say how much has gathered."""

    def __init__(self, topic: str, partition: int, wanted: Wanted) -> None:
        self.topic = topic
        self.partition = partition
        self.wanted = wanted
        self.data_bytes = 0
        self.count = 0
        self._held: list[Held] = []

    def add(self, batch: RecordBatch | LegacyEntry, origin: int) -> None:
        """Take a batch that is not a control batch; `origin` is what NoRecords will call it by.

        KafkaError if it cannot be decompressed, or holds more than it may.
        """
        held = self._from_batch(batch, origin) if isinstance(batch, RecordBatch) else _from_legacy(batch, origin)
        if held.count:
            self._held.append(held)
            self.count += held.count
            self.data_bytes += len(held.data)

    def _from_batch(self, batch: RecordBatch, origin: int) -> Held:
        is_append_time = batch.attributes & LOG_APPEND_TIME_FLAG != 0
        wanted = self.wanted
        is_consecutive = batch.count == batch.last_offset_delta + 1
        lies_inside = wanted.start_offset <= batch.base_offset and batch.last_offset < wanted.end_offset
        data: bytes | memoryview = b""
        if batch.count and self._looks_inside(is_consecutive, lies_inside, is_append_time):
            data = batch.records_data
            if batch.codec != Codec.NONE:
                data = decompress(batch.codec, data, bytes_max=RECORDS_BYTES_MAX)
        return Held(
            origin,
            batch.count,
            batch.base_offset,
            batch.max_timestamp if is_append_time else batch.base_timestamp,
            int(is_append_time),
            is_consecutive,
            lies_inside,
            data,
        )

    def _looks_inside(self, is_consecutive: bool, lies_inside: bool, is_append_time: bool) -> bool:
        """Whether the header is not enough to answer."""
        columns = self.wanted.columns
        if "key" in columns or "value" in columns or "headers" in columns:
            return True
        if not is_append_time and ("timestamp" in columns or self.wanted.has_timestamps):
            return True
        return not is_consecutive and (not lies_inside or "offset" in columns)

    def table(self) -> pyarrow.RecordBatch:
        """All that has gathered, as columns; the slab is empty then. NoRecords if a batch does not hold records."""
        held, self._held = self._held, []
        self.count = self.data_bytes = 0
        return _Decoding(self, held).table()


def _from_legacy(entry: LegacyEntry, origin: int) -> Held:
    """An old message or wrapper, written anew in the present form: they are rare enough."""
    from ottla.wire.records import BatchBuilder

    records = list(iter_legacy_records(entry, bytes_max=RECORDS_BYTES_MAX))
    if not records:
        return Held(origin, 0, entry.last_offset, 0, 0, True, True, b"")
    builder = BatchBuilder(base_offset=records[0].offset)
    for record in records:
        builder.append(record.key, record.value, timestamp=record.timestamp, offset=record.offset)
    batch = RecordBatch(memoryview(builder.build()))
    kind = int(entry.timestamp_type)
    return Held(origin, batch.count, batch.base_offset, batch.base_timestamp, kind, False, False, batch.records_data)


class _Decoding:
    """The way from batches to columns, once."""

    def __init__(self, slab: Slab, held: Sequence[Held]) -> None:
        self.slab = slab
        self.wanted = slab.wanted
        self.held = held
        self.counts = numpy.array([one.count for one in held], dtype=numpy.int64)
        self.count = int(self.counts.sum())

    def table(self) -> pyarrow.RecordBatch:
        raise NotImplementedError
