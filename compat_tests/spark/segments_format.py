"""`ottla-segments` as the tests use it: options in, rows out, in a form that rows of the `kafka` format have too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ottla.pipelines.segments import FORMAT, register

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.streaming import DataStreamReader

COLUMNS = ("topic", "partition", "offset", "timestamp", "timestampType", "key", "value", "headers")

Rows = list[tuple[Any, ...]]


class SegmentsFormat:
    """The format on one log directory."""

    def __init__(self, session: SparkSession, log_dir: Path) -> None:
        register(session)
        self.session = session
        self.log_dir = log_dir

    def reader(self, **named: Any) -> DataFrameReader:
        return self.session.read.format(FORMAT).options(**as_texts(named))

    def stream_reader(self, **named: Any) -> DataStreamReader:
        return self.session.readStream.format(FORMAT).options(**as_texts(named))

    def frame(self, **named: Any) -> DataFrame:
        return self.reader(**named).load(str(self.log_dir))

    def stream(self, **named: Any) -> DataFrame:
        return self.stream_reader(**named).load(str(self.log_dir))

    def full_rows(self, **named: Any) -> Rows:
        return full_rows(self.frame(includeHeaders=True, **named))


def as_texts(named: dict[str, Any]) -> dict[str, str]:
    return {name: json.dumps(value) if isinstance(value, dict) else str(value) for name, value in named.items()}


def full_rows(frame: DataFrame) -> Rows:
    """Every column of every row, in the order of topic, partition and offset."""
    return sorted(map(plain, frame.select(*COLUMNS).collect()), key=lambda row: row[:3])


def plain(row: Any) -> tuple[Any, ...]:
    *others, key, value, headers = row
    pairs = None if headers is None else [(one.key, one.value and bytes(one.value)) for one in headers]
    return (*others, key and bytes(key), value and bytes(value), pairs)
