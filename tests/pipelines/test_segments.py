"""What Spark calls: tasks that together hold every record once, columns as asked for, positions of a stream.

No Spark runs here; compat_tests/spark/test_segments.py has one.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql.datasource import DataSourceReader
from pyspark.sql.types import StructType

from ottla.pipelines.segments import (
    COLUMN_TYPES,
    PUSHDOWN,
    SegmentsDataSource,
    SegmentsPartition,
    SegmentsReader,
    SegmentsStreamReader,
    checked_columns,
    register,
)
from ottla.pipelines.segments_columns import ARROW_TYPES
from tests.pipelines.segment_logs import (
    ALL_COLUMNS,
    MANY,
    offsets_in,
    read_all,
    reader_of,
    task_sizes,
    write_log,
    write_transactions,
)


def source(path: Path, **options: str) -> SegmentsDataSource:
    return SegmentsDataSource({"path": str(path), **options})


@pytest.mark.parametrize("split_bytes", [1, 100, 500, 3000, MANY])
def test_every_record_is_in_one_task(tmp_path: Path, split_bytes: int) -> None:
    for partition in range(3):
        write_log(tmp_path / f"t-{partition}", batches=20 * (partition + 1))
    rows = read_all(reader_of(tmp_path, "topic", "partition", "offset", "value", splitBytes=split_bytes))
    assert sorted(rows) == [
        ("t", partition, offset, b"%d" % offset) for partition in range(3) for offset in range(60 * (partition + 1))
    ]


def test_small_segments_go_into_one_task_and_large_ones_into_several(tmp_path: Path) -> None:
    write_log(tmp_path / "t-0", batches=100)
    assert len(task_sizes(reader_of(tmp_path))) == 1
    sizes = task_sizes(reader_of(tmp_path, splitBytes=1000))
    assert len(sizes) > 5
    assert max(sizes) < 1500


def test_only_committed_records(tmp_path: Path) -> None:
    committed = write_transactions(tmp_path / "t-0")
    for split_bytes in (1, MANY):
        assert offsets_in(tmp_path, isolation="read_committed", splitBytes=split_bytes) == committed
        assert offsets_in(tmp_path, splitBytes=split_bytes) == [0, 1, 3, 4, 6, 7, 8, 9]


def test_a_directory_without_anything_to_read_has_no_tasks(tmp_path: Path) -> None:
    reader = reader_of(tmp_path)
    assert reader.partitions() == []
    assert list(reader.read(None)) == []


def test_tasks_travel_to_executors(tmp_path: Path) -> None:
    write_transactions(tmp_path / "t-0")
    (task,) = reader_of(tmp_path, isolation="read_committed").partitions()
    assert isinstance(task, SegmentsPartition)
    again = pickle.loads(pickle.dumps(task))
    assert again.ranges == task.ranges
    assert "SegmentsPartition" in repr(again)


def test_filters_come_back_and_narrow_what_is_read(tmp_path: Path) -> None:
    class GreaterThan:
        attribute = ("offset",)
        value = 80

    write_log(tmp_path / "t-0")
    reader = reader_of(tmp_path, splitBytes=100)
    before = len(reader.partitions())
    filters = [GreaterThan()]
    assert list(reader.pushFilters(filters)) == filters
    assert len(reader.partitions()) < before
    assert [row[0] for row in read_all(reader)] == list(range(81, 90))


class ASession:
    """As much of a session as is needed to register a source with it."""

    def __init__(self) -> None:
        self.dataSource = self.conf = self
        self.registered: list[type] = []
        self.settings: dict[str, str] = {}
        self.failure = ""

    def register(self, source: type) -> None:
        if self.failure:
            raise AnalysisException(self.failure)
        self.registered.append(source)

    def set(self, key: str, value: str) -> None:
        self.settings[key] = value


@pytest.mark.parametrize("pushes", [False, True])
def test_a_spark_that_can_push_filters_is_told_to(pushes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would refuse to read else: DATA_SOURCE_PUSHDOWN_DISABLED."""
    monkeypatch.delattr(DataSourceReader, "pushFilters", raising=False)
    if pushes:
        monkeypatch.setattr(DataSourceReader, "pushFilters", lambda *_: (), raising=False)
    session: Any = ASession()
    register(session)
    assert session.registered == [SegmentsDataSource]
    assert session.settings == ({PUSHDOWN: "true"} if pushes else {})
    session.failure = "[DATA_SOURCE_ALREADY_EXISTS] Data source 'ottla-segments' already exists."
    register(session)
    session.failure = "something else"
    with pytest.raises(AnalysisException, match="something else"):
        register(session)


def test_the_schema_is_that_of_the_kafka_format(tmp_path: Path) -> None:
    assert source(tmp_path).schema() == (
        "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int"
    )
    assert source(tmp_path, includeHeaders="true").schema().endswith(", headers array<struct<key:string,value:binary>>")
    assert SegmentsDataSource.name() == "ottla-segments"
    assert tuple(COLUMN_TYPES) == ALL_COLUMNS == tuple(ARROW_TYPES)


def test_a_schema_of_fewer_columns_is_taken_in_its_order_and_others_are_told() -> None:
    assert checked_columns(StructType().add("value", "binary").add("offset", "long")) == ("value", "offset")
    with pytest.raises(ValueError, match=r"has no column 'timestamptype'; there are key, .*timestampType"):
        checked_columns(StructType().add("timestamptype", "integer"))
    with pytest.raises(ValueError, match="column value of ottla-segments is binary, not string"):
        checked_columns(StructType().add("value", "string"))


def test_readers_are_made_for_batches_and_streams(tmp_path: Path) -> None:
    schema = StructType().add("offset", "long")
    assert isinstance(source(tmp_path).reader(schema), SegmentsReader)
    assert isinstance(source(tmp_path).streamReader(schema), SegmentsStreamReader)
    with pytest.raises(ValueError, match="a stream has no end"):
        source(tmp_path, endingOffsets="5").streamReader(schema)


def test_a_stream_goes_from_position_to_position(tmp_path: Path) -> None:
    write_log(tmp_path / "t-0", batches=4)
    stream = source(tmp_path, splitBytes="1").streamReader(StructType().add("offset", "long"))
    start = stream.initialOffset()
    write_log(tmp_path / "t-1", batches=1)
    end = stream.latestOffset()
    assert (start, end) == ({"t": {"0": 0}}, {"t": {"0": 12, "1": 3}})
    found = [
        offset
        for task in stream.partitions({"t": {"0": 7}}, end)
        for table in stream.read(task)
        for offset in table.column(0).to_pylist()
    ]
    assert found == [*range(7, 12), 0, 1, 2]
    stream.commit(end)
    assert stream.partitions(end, end) == []
