"""The comparison itself, as operations on DataFrames; Spark distributes them. It knows neither clusters nor files.

Both sides have topic, partition, offset, timestamp (milliseconds), key, value, headers; `position` is the offset in
the first. A record of the second that has no position is not a copy: it is new where it comes after all copies, and
foreign before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as f

from ottla.client.metadata import TopicPartition
from ottla.pipelines.source_header import KEY

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

LOG = ("topic", "partition")
HEADERS = "array<struct<key:string,value:binary>>"
RECORD = ("timestamp", "key", "value", "headers")


def record_columns(frame: DataFrame) -> DataFrame:
    """Spark's form of records, with milliseconds for a timestamp, and no headers as none."""
    return frame.select(
        *LOG,
        "offset",
        f.unix_millis("timestamp").alias("timestamp"),
        "key",
        "value",
        f.coalesce("headers", f.array().cast(HEADERS)).alias("headers"),
    )


def at_own_offsets(frame: DataFrame) -> DataFrame:
    """A side whose offsets are the positions."""
    return frame.withColumn("position", f.col("offset"))


def at_source_offsets(frame: DataFrame, cluster: str) -> DataFrame:
    """A side that was copied from a cluster: positions are in headers, which are then taken off."""
    last = f.try_element_at("headers", f.lit(-1))
    prefix = f.concat(f.lit(f"{cluster}/"), f.col("topic"), f.lit("/"), f.col("partition").cast("string"), f.lit("/"))
    text = last["value"].cast("string")
    is_copy = (f.size("headers") > 0) & (last["key"] == KEY.decode()) & text.startswith(prefix)
    position = f.when(is_copy, f.substring_index(text, "/", -1).cast("bigint"))
    without = f.when(is_copy, f.slice("headers", f.lit(1), f.size("headers") - 1)).otherwise(f.col("headers"))
    return frame.withColumns({"position": position, "headers": without})


def digested(frame: DataFrame) -> DataFrame:
    """With a digest in place of the record. JSON keeps apart what bytes do not: null, empty, where parts end."""
    record = f.to_json(f.struct(*RECORD), {"ignoreNullFields": "false"})
    return frame.select(*LOG, "offset", "position", f.sha2(record, 256).alias("digest"))


def compared(source: DataFrame, target: DataFrame, trimmed: Sequence[TopicPartition]) -> DataFrame:
    """A row for each partition that holds a record. `trimmed`: whose log, in the second, lost its beginning."""
    source = digested(source)
    in_order = Window.partitionBy(*LOG).orderBy("offset")
    whole = Window.partitionBy(*LOG)
    target = digested(target).withColumns(
        {
            "before": f.max("position").over(in_order.rowsBetween(Window.unboundedPreceding, -1)),
            "last_copy": f.max(f.when(f.col("position").isNotNull(), f.col("offset"))).over(whole),
        }
    )
    copies = target.where("position IS NOT NULL")
    by_position = copies.groupBy(*LOG, "position").agg(
        f.count("*").alias("copies"),
        f.min("digest").alias("digest_min"),
        f.max("digest").alias("digest_max"),
        f.sum((f.col("before") > f.col("position")).cast("int")).alias("disordered"),
    )
    ends = copies.groupBy(*LOG).agg(f.min("position").alias("first_copied"), f.max("position").alias("last_copied"))
    starts = source.groupBy(*LOG).agg(f.min("position").alias("first_there"))
    joined = (
        source.drop("offset")
        .join(by_position, [*LOG, "position"], "full_outer")
        .join(f.broadcast(ends), [*LOG], "left")
        .join(f.broadcast(starts), [*LOG], "left")
        .withColumn("is_trimmed", f.concat_ws("-", *LOG).isin([str(place) for place in trimmed]))
    )
    return _counted(joined).join(_others(target), [*LOG], "full_outer")


def _counted(joined: DataFrame) -> DataFrame:
    is_here, is_there = f.col("digest").isNotNull(), f.col("copies").isNotNull()
    is_behind = is_here & ~is_there & (f.col("position") > f.coalesce("last_copied", f.lit(-1)))
    is_deleted = is_here & ~is_there & f.col("is_trimmed") & (f.col("position") < f.col("first_copied"))
    is_older = is_there & ~is_here & (f.col("position") < f.col("first_there"))
    is_expired = f.coalesce(is_deleted | is_older, f.lit(False))
    is_missing = is_here & ~is_there & ~is_behind & ~is_expired
    is_extra = is_there & ~is_here & ~is_expired
    is_different = (
        is_here & is_there & ((f.col("digest") != f.col("digest_min")) | (f.col("digest") != f.col("digest_max")))
    )
    is_wrong = is_missing | is_extra | is_different | (f.col("copies") > 1) | (f.col("disordered") > 0)
    return joined.groupBy(*LOG).agg(
        _count(is_here).alias("source"),
        _sum(f.col("copies")).alias("copied"),
        _count(is_missing).alias("missing"),
        _count(is_extra).alias("extra"),
        _sum(f.col("copies") - 1).alias("duplicates"),
        _count(is_different).alias("different"),
        _sum(f.col("disordered")).alias("disordered"),
        _count(is_behind).alias("behind"),
        _count(is_expired).alias("expired"),
        _checksum(is_here & ~is_behind & ~is_expired, "digest").alias("sourceChecksum"),
        _checksum(is_there & ~is_expired, "digest_min").alias("targetChecksum"),
        f.min(f.when(is_wrong, f.col("position"))).alias("firstDifference"),
    )


def _others(target: DataFrame) -> DataFrame:
    """Records of the second that are no copies."""
    others = target.where("position IS NULL")
    is_foreign = f.col("offset") < f.coalesce("last_copy", f.lit(-1))
    return others.groupBy(*LOG).agg(_count(is_foreign).alias("foreign"), _count(~is_foreign).alias("new"))


def _count(condition: Column) -> Column:
    return f.count(f.when(condition, 1))


def _sum(column: Column) -> Column:
    return f.coalesce(f.sum(column), f.lit(0))


def _checksum(condition: Column, digest: str) -> Column:
    """Of positions and digests, in whatever order Spark sees them."""
    return f.bit_xor(f.when(condition, f.xxhash64("position", digest)))


def record_at(frame: DataFrame, topic: str, partition: int, position: int) -> DataFrame:
    is_it = (f.col("topic") == topic) & (f.col("partition") == partition) & (f.col("position") == position)
    return frame.where(is_it).orderBy("offset").select(*RECORD).limit(1)
