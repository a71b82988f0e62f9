"""Record batches to Arrow columns, many batches at once and no Python object for a record.

A `Slab` takes the batches of one partition as they come; `table` turns all that it holds into columns. The only thing
done record by record is the hop from length to length, and where records are of one size not even that; fields are then
found by numpy for all records together, and keys and values copied by Arrow. What is not asked for is not decoded: of
a batch whose records nobody wants to see, the header is enough. It knows neither files nor Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy
import numpy.typing
import pyarrow

from ottla.pipelines.segments_fields import Fields, NoRecords, Span, all_record_starts, find_fields, header_lists
from ottla.wire.compression import Codec, decompress, output_bytes_max
from ottla.wire.records import BatchBuilder, LegacyEntry, RecordBatch, iter_legacy_records
from ottla.wire.records.batch import HEADER_BYTES, LOG_APPEND_TIME_FLAG
from ottla.wire.records.record import RECORD_BYTES_MIN

RECORDS_BYTES_MAX = 256 << 20
MICROSECONDS = 1000
APPEND_TIME = 1
# What Kafka's consumer says of messages of format v0.
NO_TIMESTAMP_TYPE = -1

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


class Wanted(NamedTuple):
    """Which columns, in their order, and of which records: `end_offset` is the first that is not."""

    columns: tuple[str, ...]
    start_offset: int
    end_offset: int


class Held(NamedTuple):
    """What a slab remembers of a batch: where it came from, its records' bytes, and its header's word."""

    origin: int
    record_count: int
    base_offset: int
    last_offset_delta: int
    timestamp: int
    timestamp_type: int
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

        KafkaError if it cannot be decompressed, or holds more than it may; NoRecords if its count is a lie.
        """
        held = self._from_batch(batch, origin) if isinstance(batch, RecordBatch) else _from_legacy(batch, origin)
        if held.record_count:
            self._held.append(held)
            self.count += held.record_count
            self.data_bytes += len(held.data)

    def _from_batch(self, batch: RecordBatch, origin: int) -> Held:
        compressed_bytes = batch.size_bytes - HEADER_BYTES
        # Checked before it is believed: rows are made of this number, whether or not anybody looks at the records.
        if batch.count * RECORD_BYTES_MIN > output_bytes_max(compressed_bytes, RECORDS_BYTES_MAX):
            raise NoRecords(origin, f"{batch.count} records cannot fit in {compressed_bytes} bytes")
        is_append_time = batch.attributes & LOG_APPEND_TIME_FLAG != 0
        wanted = self.wanted
        is_consecutive = batch.count == batch.last_offset_delta + 1
        lies_inside = wanted.start_offset <= batch.base_offset and batch.last_offset < wanted.end_offset
        data: bytes | memoryview = b""
        if batch.count and self._looks_inside(is_consecutive, lies_inside, is_append_time):
            data = batch.records_data
            if batch.codec != Codec.NONE:
                data = decompress(batch.codec, data, bytes_max=RECORDS_BYTES_MAX)
            if not len(data):
                raise NoRecords(origin, f"{batch.count} of {batch.count} records are missing")
        return Held(
            origin,
            batch.count,
            batch.base_offset,
            batch.last_offset_delta,
            batch.max_timestamp if is_append_time else batch.base_timestamp,
            int(is_append_time),
            lies_inside,
            data,
        )

    def _looks_inside(self, is_consecutive: bool, lies_inside: bool, is_append_time: bool) -> bool:
        """Whether the header is not enough to answer."""
        columns = self.wanted.columns
        if "key" in columns or "value" in columns or "headers" in columns:
            return True
        if not is_append_time and "timestamp" in columns:
            return True
        return not is_consecutive and (not lies_inside or "offset" in columns)

    def table(self) -> pyarrow.RecordBatch:
        """All that has gathered, as columns; the slab is empty then. NoRecords if a batch does not hold records."""
        held, self._held = self._held, []
        self.count = self.data_bytes = 0
        return _Decoding(self, held).table()


def _from_legacy(entry: LegacyEntry, origin: int) -> Held:
    """An old message or wrapper, written anew in the present form: they are rare enough."""
    records = list(iter_legacy_records(entry, bytes_max=RECORDS_BYTES_MAX))
    builder = BatchBuilder(base_offset=records[0].offset)
    for record in records:
        builder.append(record.key, record.value, timestamp=record.timestamp, offset=record.offset)
    batch = RecordBatch(memoryview(builder.build()))
    kind = NO_TIMESTAMP_TYPE if entry.magic == 0 else int(entry.timestamp_type)
    return Held(
        origin,
        batch.count,
        batch.base_offset,
        batch.last_offset_delta,
        batch.base_timestamp,
        kind,
        False,
        batch.records_data,
    )


class _Decoding:
    """The way from batches to columns, once."""

    def __init__(self, slab: Slab, held: Sequence[Held]) -> None:
        self.slab = slab
        self.wanted = slab.wanted
        self.held = held
        self.counts = numpy.array([one.record_count for one in held], dtype=numpy.int64)
        self.count = int(self.counts.sum())

    def table(self) -> pyarrow.RecordBatch:
        data, fields, inside = self._look_inside()
        offsets, timestamps = self._offsets(fields, inside), self._timestamps(fields, inside)
        chosen = self._chosen(offsets)
        if chosen is not None:
            offsets, timestamps = offsets[chosen], timestamps[chosen]
        columns = [self._column(name, data, fields, chosen, offsets, timestamps) for name in self.wanted.columns]
        names = list(self.wanted.columns)
        return pyarrow.RecordBatch.from_arrays(columns, names=names)

    def _look_inside(self) -> tuple[bytes, Fields | None, Integers | None]:
        """The records' bytes and the fields in them, of those records that `inside` numbers; None: of all."""
        held = [one for one in self.held if len(one.data)]
        if not held:
            return b"", None, None
        data = b"".join([one.data for one in held])
        ends = list(accumulate(len(one.data) for one in held))
        needs_content = not {"key", "value", "headers"}.isdisjoint(self.wanted.columns)
        try:
            found = all_record_starts(data, ends, [one.record_count for one in held])
            fields = find_fields(numpy.frombuffer(data, dtype=numpy.uint8), found, with_content=needs_content)
            _check_deltas(fields.offset_deltas, held)
        except NoRecords as error:
            raise NoRecords(_origin(held, error.number), error.why) from None
        if len(held) == len(self.held):
            return data, fields, None
        return data, fields, numpy.flatnonzero(self._repeated([len(one.data) for one in self.held]))

    def _repeated(self, numbers: Sequence[int]) -> Integers:
        """A number of each batch, for each of its records."""
        return numpy.repeat(numpy.array(numbers, dtype=numpy.int64), self.counts)

    def _offsets(self, fields: Fields | None, inside: Integers | None) -> Integers:
        bases = self._repeated([one.base_offset for one in self.held])
        if fields is not None and inside is None:
            return bases + fields.offset_deltas
        firsts = numpy.repeat(numpy.cumsum(self.counts) - self.counts, self.counts)
        offsets = bases + (numpy.arange(self.count, dtype=numpy.int64) - firsts)
        if fields is not None:
            offsets[inside] = bases[inside] + fields.offset_deltas
        return offsets

    def _timestamps(self, fields: Fields | None, inside: Integers | None) -> Integers:
        """Of a batch of LogAppendTime the records' own do not count."""
        timestamps = self._repeated([one.timestamp for one in self.held])
        if fields is not None:
            where = slice(None) if inside is None else inside
            kinds = self._repeated([one.timestamp_type for one in self.held])[where]
            timestamps[where] += numpy.where(kinds == APPEND_TIME, 0, fields.timestamp_deltas)
        return timestamps

    def _chosen(self, offsets: Integers) -> Integers | None:
        """The numbers of the records that are wanted; None: all."""
        if all(one.lies_inside for one in self.held):
            return None
        choice = (offsets >= self.wanted.start_offset) & (offsets < self.wanted.end_offset)
        return None if choice.all() else numpy.flatnonzero(choice)

    def _column(
        self,
        name: str,
        data: bytes,
        fields: Fields | None,
        chosen: Integers | None,
        offsets: Integers,
        timestamps: Integers,
    ) -> Any:
        if name == "offset":
            return pyarrow.array(offsets)
        if name == "timestamp":
            return pyarrow.array(timestamps * MICROSECONDS).view(ARROW_TYPES[name])
        if name == "topic":
            return _constant(pyarrow.scalar(self.slab.topic, ARROW_TYPES[name]), len(offsets))
        if name == "partition":
            return _constant(pyarrow.scalar(self.slab.partition, ARROW_TYPES[name]), len(offsets))
        if name == "timestampType":
            kinds = self._repeated([one.timestamp_type for one in self.held]).astype(numpy.int32)
            return pyarrow.array(kinds if chosen is None else kinds[chosen])
        if fields is None:
            return pyarrow.nulls(len(offsets), ARROW_TYPES[name])
        if name == "headers":
            return self._headers(data, fields, chosen)
        span = fields.keys if name == "key" else fields.values
        assert span is not None
        return _binary(data, span, chosen)

    def _headers(self, data: bytes, fields: Fields, chosen: Integers | None) -> Any:
        assert fields.header_counts is not None
        numbers = numpy.arange(self.count, dtype=numpy.int64) if chosen is None else chosen
        if not fields.header_counts[numbers].any():
            return pyarrow.nulls(len(numbers), HEADERS)
        try:
            return pyarrow.array(header_lists(data, fields, numbers), type=HEADERS)
        except NoRecords as error:
            raise NoRecords(_origin(self.held, error.number), error.why) from None


def _origin(held: Sequence[Held], number: int) -> int:
    """Where the batch came from that holds the record with this number among all."""
    for one in held:
        number -= one.record_count
        if number < 0:
            return one.origin
    return held[-1].origin


def _check_deltas(deltas: Integers, held: Sequence[Held]) -> None:
    """A record's offset is one of its batch's: by those the batch was chosen."""
    counts = [one.record_count for one in held]
    last = numpy.repeat(numpy.array([one.last_offset_delta for one in held], dtype=numpy.int64), counts)
    is_inside = (deltas >= 0) & (deltas <= last)
    if not is_inside.all():
        raise NoRecords(int(is_inside.argmin()), "a record has an offset that its batch has not")


def _constant(value: Any, count: int) -> Any:
    return pyarrow.repeat(value, count)


def _binary(data: bytes, span: Span, chosen: Integers | None) -> Any:
    """A column of bytes that lie scattered, in order.

    What lies between two of them is an entry as well, for Arrow's entries have no gaps; of these every other is taken.
    """
    starts, lengths = (span.starts, span.lengths) if chosen is None else (span.starts[chosen], span.lengths[chosen])
    count = len(starts)
    is_null = lengths < 0
    if is_null.all():
        return pyarrow.nulls(count, BINARY)
    bounds = numpy.empty(2 * count, dtype=numpy.int32)
    bounds[0::2] = starts
    bounds[1::2] = starts + numpy.maximum(lengths, 0)
    buffers = [None, pyarrow.py_buffer(bounds), pyarrow.py_buffer(data)]
    scattered = pyarrow.Array.from_buffers(BINARY, 2 * count - 1, buffers)
    numbers = numpy.arange(0, 2 * count, 2, dtype=numpy.int32)
    return scattered.take(pyarrow.array(numbers, mask=is_null) if is_null.any() else pyarrow.array(numbers))
