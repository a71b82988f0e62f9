"""Rows of an archive, written to a broker of this process as an executor would."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow
import pytest

from ottla.client.blocking import Client
from ottla.client.metadata import TopicPartition
from ottla.pipelines.copying import Writing
from ottla.pipelines.replay_write import COLUMNS, OUTCOME, Target, outcome_schema, rows, write
from ottla.pipelines.source_header import Origin, header_of
from ottla.testing import Broker
from ottla.wire.compression import Codec
from ottla.wire.records import Record
from tests.pipelines.copied_logs import stored
from tests.pipelines.test_target_tail import delete_records

HEADERS = pyarrow.list_(pyarrow.struct([("key", pyarrow.string()), ("value", pyarrow.binary())]))
TYPES = (pyarrow.string(), pyarrow.int32(), pyarrow.int64(), pyarrow.int64(), pyarrow.binary(), pyarrow.binary())
SCHEMA = pyarrow.schema(list(zip(COLUMNS, (*TYPES, HEADERS), strict=True)))


def row(topic: str, partition: int, offset: int, **fields: Any) -> dict[str, Any]:
    usual = {"milliseconds": 1000 + offset, "key": b"k", "value": b"v%d" % offset, "headers": None}
    return {"topic": topic, "partition": partition, "offset": offset, **usual, **fields}


def table(*found: dict[str, Any]) -> pyarrow.RecordBatch:
    return pyarrow.RecordBatch.from_pylist(list(found), schema=SCHEMA)


def to(broker: Broker, **names: str) -> Target:
    writing = Writing(broker.bootstrap_servers, 60_000, Codec.NONE, 10_000)
    return Target(writing, "cluster", names, dict.fromkeys(names, 10_000))


def outcomes(tables: Sequence[pyarrow.RecordBatch], target: Target) -> list[dict[str, Any]]:
    return [one for found in write(tables, target) for one in found.to_pylist()]


def test_rows_become_records() -> None:
    headers = [{"key": "trace", "value": b"1"}, {"key": "none", "value": None}]
    found = list(rows([table(row("a", 0, 5, headers=headers)), table(row("b", 1, 6, key=None, value=None))]))
    assert found == [
        (TopicPartition("a", 0), Record(5, 1005, b"k", b"v5", ((b"trace", b"1"), (b"none", None)))),
        (TopicPartition("b", 1), Record(6, 1006, None, None, ())),
    ]


def test_each_partition_is_written_in_order_and_not_twice() -> None:
    tables = [table(row("a", 0, 1), row("a", 0, 4)), table(row("a", 0, 6), row("a", 1, 0), row("b", 0, 9))]
    with Broker(in_thread=True) as broker:
        broker.create_topic("a", partitions=2)
        broker.create_topic("c")
        target = to(broker, a="a", b="c")
        assert outcomes(tables[:1], target) == [{"topic": "a", "partition": 0, "written": 2, "failure": None}]
        assert [one["written"] for one in outcomes(tables, target)] == [1, 1, 1]
        assert [one["written"] for one in outcomes(tables, target)] == [0, 0, 0]
        with Client(broker.bootstrap_servers) as client:
            found = [stored(client, TopicPartition(*place)) for place in (("a", 0), ("a", 1), ("c", 0))]
    assert [[one.value for one in records] for records in found] == [[b"v1", b"v4", b"v6"], [b"v0"], [b"v9"]]
    assert [one.timestamp for one in found[0]] == [1001, 1004, 1006]
    assert found[2][0].headers == (header_of(Origin("cluster", "b", 0), 9),)


@pytest.mark.parametrize("deletes", [True, False])
def test_what_cannot_be_written_is_told_and_the_rest_is_written(deletes: bool) -> None:
    tables = [table(row("a", 0, 1), row("a", 0, 2), row("b", 0, 9))]
    with Broker(in_thread=True) as broker:
        broker.create_topic("a")
        broker.create_topic("b")
        target = to(broker, a="a", b="b")
        if deletes:
            outcomes(tables, target)
        with Client(broker.bootstrap_servers) as client:
            if deletes:
                delete_records(client, TopicPartition("a", 0), 2)
        first, second = outcomes(tables, target)
    assert second["failure"] is None
    assert first["failure"] is None if not deletes else "a-0 held records that were deleted" in first["failure"]


def test_spark_is_told_of_the_same_columns() -> None:
    assert [part.split()[0] for part in OUTCOME.split(", ")] == outcome_schema().names
