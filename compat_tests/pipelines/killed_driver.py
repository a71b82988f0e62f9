"""A program to be killed: one Spark driver with a streaming archive, and with counts per key that go to another topic.

    python -m compat_tests.pipelines.killed_driver BOOTSTRAP SOURCE SINK DIRECTORY BATCH_RECORDS

It prints a line for each batch of the archive. SIGTERM lets it finish: what is there is counted, then it ends.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from compat_tests.pipelines.killing import end_with_parent
from ottla import cli
from ottla.pipelines.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

CONF = {
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    # All offsets are kept, for the test to see what each batch was made of.
    "spark.sql.streaming.minBatchesToRetain": "1000",
}


def counting(session: SparkSession, bootstrap: str, source: str, sink: str, place: Path, batch: str) -> StreamingQuery:
    """How often each key has been seen, written whenever that changes."""
    read = session.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    read = read.option("subscribe", source).option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", batch)
    counts = read.load().groupBy("key").count().selectExpr("key", "CAST(count AS STRING) AS value")
    write = counts.writeStream.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("topic", sink)
    return write.outputMode("update").option("checkpointLocation", str(place)).start()


def main(bootstrap: str, source: str, sink: str, directory: str, batch: str) -> int:
    with open_session("killed", "local[2]", CONF) as session:
        counts = counting(session, bootstrap, source, sink, Path(directory) / "counting", batch)
        words = ["pipeline", "archive", source, "-b", bootstrap, "-o", f"{directory}/archive", "--by", "date"]
        words += ["--every", "0.001", "--batch-records", batch, "--compact", "--compact-every", "2", "--json"]
        status = cli.main(words)
        counts.processAllAvailable()
        counts.stop()
    return status


if __name__ == "__main__":
    end_with_parent()
    sys.exit(main(*sys.argv[1:]))
