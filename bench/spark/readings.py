"""What is measured: who is read, by which format, and what is to be reached.

Each reading counts the records and adds up the lengths of their values, so that every value is really read. All of a
broker's readings must come to the same.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bench.broker.contenders import KAFKA, OTTLA, Broker
from ottla.pipelines.connector import ENVIRONMENT
from ottla.pipelines.segments import FORMAT as SEGMENTS
from ottla.pipelines.segments import register
from ottla.pipelines.session import open_session
from tests import jvm

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TOPIC = "records"
MASTER = "local[*]"
OPTIONS = {"spark.driver.memory": "3g"}
KAFKA_FORMAT = "kafka"
VALUE_ALONE = "value binary"


class Found(NamedTuple):
    """What a reading came to."""

    record_count: int
    value_bytes: int


@dataclass(frozen=True)
class Reading:
    """One way to read; `must_beat` names those that it must be as fast as."""

    name: str
    broker: str
    format: str
    schema: str = ""
    must_beat: tuple[str, ...] = ()


BASELINE = "kafka format from Apache Kafka"
FROM_OTTLA = "kafka format from Ottla"
READINGS = (
    Reading(BASELINE, KAFKA, KAFKA_FORMAT),
    Reading(FROM_OTTLA, OTTLA, KAFKA_FORMAT, must_beat=(BASELINE,)),
    Reading("ottla-segments of Ottla's files", OTTLA, SEGMENTS, must_beat=(BASELINE, FROM_OTTLA)),
    Reading("ottla-segments of Apache Kafka's files", KAFKA, SEGMENTS, must_beat=(BASELINE, FROM_OTTLA)),
    Reading("ottla-segments of Ottla's files, values alone", OTTLA, SEGMENTS, VALUE_ALONE, (BASELINE, FROM_OTTLA)),
)


@contextmanager
def a_session() -> Iterator[SparkSession]:
    os.environ.setdefault(ENVIRONMENT, str(jvm.jars("spark-kafka")))
    with open_session("bench", MASTER, OPTIONS) as spark:
        register(spark)
        yield spark


def frame(spark: SparkSession, reading: Reading, broker: Broker, log_dir: Path) -> DataFrame:
    reader = spark.read.format(reading.format).option("subscribe", TOPIC)
    if reading.format == KAFKA_FORMAT:
        return reader.option("kafka.bootstrap.servers", broker.bootstrap).load()
    return (reader.schema(reading.schema) if reading.schema else reader).load(str(log_dir))


def timed(records: DataFrame) -> tuple[float, Found]:
    """The seconds from planning to the answer, and the answer."""
    started = time.perf_counter()
    (row,) = records.selectExpr("count(*)", "sum(length(value))").collect()
    return time.perf_counter() - started, Found(row[0], row[1])
