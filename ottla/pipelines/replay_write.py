"""One task of a replay, on an executor: rows of an archive, in order, to the ends of the partitions they belong to.

All rows of a partition come to one task, sorted by offset. Where to begin is read from the target (appender.py), so a
task that is run again, or twice at once, writes nothing twice. What goes wrong is sent home as a sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from ottla.client.blocking import Client
from ottla.client.metadata import TopicPartition
from ottla.pipelines import PipelineFailed
from ottla.pipelines.appender import Appender, batches
from ottla.pipelines.copying import Writing, executor_client
from ottla.pipelines.source_header import Origin
from ottla.pipelines.target_tail import NOTHING
from ottla.wire.records import Record

if TYPE_CHECKING:
    import pyarrow

# In the order in which a task takes them: `milliseconds` is the timestamp.
COLUMNS = ("topic", "partition", "offset", "milliseconds", "key", "value", "headers")
OUTCOME = "topic string, partition int, written bigint, failure string"


class Target(NamedTuple):
    """Where rows go: the cluster they came from, and by topic its name and the size of a batch there."""

    writing: Writing
    source_cluster: str
    names: Mapping[str, str]
    batch_bytes: Mapping[str, int]


def write(tables: Iterable[pyarrow.RecordBatch], target: Target) -> Iterator[pyarrow.RecordBatch]:
    """Write all; one row for each partition says what was done."""
    import pyarrow

    for outcome in outcomes(rows(tables), target):
        yield pyarrow.RecordBatch.from_pylist([outcome], schema=outcome_schema())


def outcome_schema() -> pyarrow.Schema:
    import pyarrow

    text = pyarrow.string()
    return pyarrow.schema(
        [("topic", text), ("partition", pyarrow.int32()), ("written", pyarrow.int64()), ("failure", text)]
    )


def rows(tables: Iterable[pyarrow.RecordBatch]) -> Iterator[tuple[TopicPartition, Record]]:
    for table in tables:
        columns = [table.column(name).to_pylist() for name in COLUMNS]
        for topic, partition, offset, milliseconds, key, value, headers in zip(*columns, strict=True):
            pairs = tuple((header["key"].encode(), header["value"]) for header in headers or ())
            yield TopicPartition(topic, partition), Record(offset, milliseconds, key, value, pairs)


def outcomes(found: Iterator[tuple[TopicPartition, Record]], target: Target) -> Iterator[dict[str, Any]]:
    for place, group in groupby(found, key=itemgetter(0)):
        outcome: dict[str, Any] = {"topic": place.topic, "partition": place.partition, "written": 0, "failure": None}
        try:
            with executor_client(target.writing.bootstrap, target.writing.timeout_ms) as client:
                outcome["written"] = write_partition(client, place, (record for _, record in group), target)
        except PipelineFailed as error:
            outcome["failure"] = str(error)
        yield outcome


def write_partition(client: Client, place: TopicPartition, records: Iterator[Record], target: Target) -> int:
    written_to = TopicPartition(target.names[place.topic], place.partition)
    appender = Appender(client, written_to, Origin(target.source_cluster, *place), codec=target.writing.codec)
    check_is_kept(appender, written_to)
    # Not only for speed: of records that are there already the appender would make no batch, but read each.
    left = (record for record in records if record.offset > appender.after)
    for run in batches(left, target.batch_bytes[place.topic]):
        appender.append(run)
    return appender.written_count


def check_is_kept(appender: Appender, place: TopicPartition) -> None:
    if appender.after == NOTHING and appender.tail.end_offset > 0:
        raise PipelineFailed(
            f"{place} held records that were deleted, so nothing says where to go on: is its retention shorter than "
            "the archive is old? Delete the topic to write it again"
        )
