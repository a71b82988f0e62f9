"""The PySpark data source `ottla-segments`: records straight from the segment files of Ottla or Apache Kafka.

    from ottla.pipelines.segments import register

    register(spark)
    spark.read.format("ottla-segments").option("subscribe", "orders").load("/var/lib/ottla")

The columns are those of Spark's `kafka` format; a schema of fewer columns has only those decoded. Here is what Spark
calls, and nothing else: `segments_bounds` knows what to read, `segments_plan` where it lies, `segments_reading` how.
No broker is asked, so a directory may be read while one runs on it, or when none is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition

from ottla.pipelines.segments_bounds import (
    Bounds,
    batch_bounds,
    initial_position,
    latest_position,
    stream_bounds,
)
from ottla.pipelines.segments_filters import Narrowing, narrowed
from ottla.pipelines.segments_options import SegmentsOptions, offsets_from_json, offsets_to_json, parse_options
from ottla.pipelines.segments_plan import pack, plan_ranges
from ottla.pipelines.segments_reading import RangeOfTopic, read_ranges
from ottla.pipelines.segments_transactions import aborted_ranges

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

FORMAT = "ottla-segments"
REGISTERED = "DATA_SOURCE_ALREADY_EXISTS"
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
# As Spark's `kafka` format has them.
COLUMN_TYPES = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "timestampType": "int",
    "headers": "array<struct<key:string,value:binary>>",
}


def register(spark: SparkSession) -> None:
    """Make the format known to a session; it may be known already."""
    try:
        spark.dataSource.register(SegmentsDataSource)
    except AnalysisException as error:
        if REGISTERED not in str(error):  # which a Spark of 4.0 does not mind
            raise
    if hasattr(DataSourceReader, "pushFilters"):
        # From 4.1 on Spark refuses to read from a source that takes filters unless it may push them, and by default
        # it may not.
        spark.conf.set(PUSHDOWN, "true")


class SegmentsDataSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        includes_headers = parse_options(self.options).includes_headers
        columns = [name for name in COLUMN_TYPES if name != "headers" or includes_headers]
        return ", ".join(f"{name} {COLUMN_TYPES[name]}" for name in columns)

    def reader(self, schema: StructType) -> SegmentsReader:
        return SegmentsReader(parse_options(self.options, is_streaming=False), checked_columns(schema))

    def streamReader(self, schema: StructType) -> SegmentsStreamReader:
        return SegmentsStreamReader(parse_options(self.options, is_streaming=True), checked_columns(schema))


class SegmentsPartition(InputPartition):
    """What one task reads."""

    def __init__(self, ranges: Sequence[RangeOfTopic]) -> None:
        super().__init__(None)
        self.ranges = tuple(ranges)

    def __repr__(self) -> str:
        return f"SegmentsPartition{self.ranges}"


class SegmentsReader(DataSourceReader):
    def __init__(self, options: SegmentsOptions, columns: tuple[str, ...]) -> None:
        self._options = options
        self._columns = columns
        self._narrowing = Narrowing()

    def pushFilters(self, filters: Sequence[Any]) -> Iterable[Any]:
        """Called by Spark 4.1 and later. All filters go back: they narrow what is read, and Spark applies them."""
        self._narrowing = narrowed(self._narrowing, filters)
        return filters

    def partitions(self) -> list[InputPartition]:
        return planned(batch_bounds(self._options, self._narrowing), self._options)

    def read(self, partition: InputPartition | None) -> Iterator[RecordBatch]:
        return read_partition(partition, self._options, self._columns)


class SegmentsStreamReader(DataSourceStreamReader):
    def __init__(self, options: SegmentsOptions, columns: tuple[str, ...]) -> None:
        self._options = options
        self._columns = columns

    def initialOffset(self) -> dict[str, dict[str, int]]:
        return offsets_to_json(initial_position(self._options))

    def latestOffset(self) -> dict[str, dict[str, int]]:
        return offsets_to_json(latest_position(self._options))

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        bounds = stream_bounds(self._options, offsets_from_json(start), offsets_from_json(end))
        return planned(bounds, self._options)

    def read(self, partition: InputPartition | None) -> Iterator[RecordBatch]:
        return read_partition(partition, self._options, self._columns)

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing is kept here: the checkpoint is Spark's, the files are the broker's."""


def planned(bounds: Sequence[Bounds], options: SegmentsOptions) -> list[InputPartition]:
    """The tasks: ranges of about one size, each with the aborted transactions that touch it."""
    found = []
    for log, start, end in bounds:
        aborted = aborted_ranges(log, start, end) if options.is_committed_only else []
        for one in plan_ranges(log.directory, start, end, options.split_bytes):
            touching = tuple(
                other
                for other in aborted
                if other.first_offset < one.end_offset and other.last_offset >= one.start_offset
            )
            found.append(RangeOfTopic(log.topic, log.partition, one, touching))
    return [SegmentsPartition(together) for together in pack(found, options.split_bytes)]


def read_partition(
    partition: InputPartition | None, options: SegmentsOptions, columns: tuple[str, ...]
) -> Iterator[RecordBatch]:
    """The records of a task; None is what Spark hands over where there is nothing to do."""
    if partition is None:
        return iter(())
    assert isinstance(partition, SegmentsPartition), partition
    return read_ranges(partition.ranges, columns, fails_on_data_loss=options.fails_on_data_loss)


def checked_columns(schema: StructType) -> tuple[str, ...]:
    """The columns of a schema, in its order. ValueError for what is no column, or of another type."""
    for field in schema.fields:
        kind = COLUMN_TYPES.get(field.name)
        if kind is None:
            raise ValueError(f"{FORMAT} has no column {field.name!r}; there are {', '.join(COLUMN_TYPES)}")
        if field.dataType.simpleString() != kind:
            raise ValueError(f"column {field.name} of {FORMAT} is {kind}, not {field.dataType.simpleString()}")
    return tuple(schema.fieldNames())
