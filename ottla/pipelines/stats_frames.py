"""What Spark counts in topics: for each partition, each key and each stretch of time. Rows come out, plain numbers.

Lateness of a record is by how much its timestamp is behind the highest before it in its partition; 0 where it is not.
A key that is null is no key. Every frame is made from the same narrow one, which holds no values and is kept while it
is used, so a topic is read once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

QUANTILES = (0.5, 0.99)
QUANTILE_ACCURACY = 10_000


@contextmanager
def measured(session: SparkSession, options: Mapping[str, str]) -> Iterator[DataFrame]:
    """A row for each record: topic, partition, key, its size, its time in milliseconds, and how late it is."""
    from pyspark import StorageLevel
    from pyspark.sql import functions
    from pyspark.sql.window import Window

    earlier = Window.partitionBy("topic", "partition").orderBy("offset").rowsBetween(Window.unboundedPreceding, -1)
    key_bytes, value_bytes = functions.octet_length("key"), functions.octet_length("value")
    size_bytes = functions.coalesce(key_bytes, functions.lit(0)) + functions.coalesce(value_bytes, functions.lit(0))
    records = (
        session.read.format("kafka")
        .options(**options)
        .load()
        .select(
            *("topic", "partition", "offset", "key"),
            functions.unix_millis("timestamp").alias("at_ms"),
            size_bytes.alias("size_bytes"),
        )
    )
    highest = functions.max("at_ms").over(earlier)
    late = functions.greatest(functions.lit(0), functions.coalesce(highest - functions.col("at_ms"), functions.lit(0)))
    frame = records.withColumn("late_ms", late).drop("offset").persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield frame
    finally:
        frame.unpersist()


def _sums() -> list[Any]:
    from pyspark.sql import functions

    late = functions.col("late_ms")
    return [
        functions.count(functions.lit(1)).alias("records"),
        functions.sum("size_bytes").alias("bytes"),
        functions.max("size_bytes").alias("size_max"),
        functions.percentile_approx("size_bytes", list(QUANTILES), QUANTILE_ACCURACY).alias("sizes"),
        functions.min("at_ms").alias("first_ms"),
        functions.max("at_ms").alias("last_ms"),
        functions.count_if(late > 0).alias("late"),
        functions.max(late).alias("late_max"),
        functions.percentile_approx("late_ms", list(QUANTILES), QUANTILE_ACCURACY).alias("latenesses"),
    ]


def topic_rows(frame: DataFrame) -> list[dict[str, Any]]:
    from pyspark.sql import functions

    keys = [
        functions.count("key").alias("keyed"),
        functions.approx_count_distinct("key").alias("keys"),
    ]
    return _plain(frame.groupBy("topic").agg(*_sums(), *keys).orderBy("topic"))


def partition_rows(frame: DataFrame) -> list[dict[str, Any]]:
    return _plain(frame.groupBy("topic", "partition").agg(*_sums()).orderBy("topic", "partition"))


def key_rows(frame: DataFrame, key_count: int) -> list[dict[str, Any]]:
    """The most frequent keys of each topic."""
    from pyspark.sql import functions
    from pyspark.sql.window import Window

    if key_count == 0:
        return []
    by_count = Window.partitionBy("topic").orderBy(functions.desc("records"), "key")
    counted = frame.where("key IS NOT NULL").groupBy("topic", "key").agg(*_sums())
    ranked = counted.withColumn("rank", functions.row_number().over(by_count)).where(f"rank <= {key_count}")
    return _plain(ranked.orderBy("topic", "rank"))


def time_rows(frame: DataFrame, bucket_ms: int) -> list[dict[str, Any]]:
    """Records and bytes of each topic by time."""
    from pyspark.sql import functions

    bucket = (functions.floor(functions.col("at_ms") / bucket_ms) * bucket_ms).alias("at_ms")
    sums = [functions.count(functions.lit(1)).alias("records"), functions.sum("size_bytes").alias("bytes")]
    return _plain(frame.groupBy("topic", bucket).agg(*sums).orderBy("topic", "at_ms"))


def _plain(frame: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in frame.collect()]
