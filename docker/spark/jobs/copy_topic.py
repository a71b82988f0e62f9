"""Copy a topic from one cluster to another with Spark: `copy_topic.py FROM TO TOPIC`, with both bootstrap addresses."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession


def main(source: str, target: str, topic: str) -> None:
    spark = SparkSession.builder.appName("copy-topic").getOrCreate()
    try:
        records = (
            spark.read.format("kafka")
            .option("kafka.bootstrap.servers", source)
            .option("subscribe", topic)
            .option("includeHeaders", "true")
            .load()
        )
        (
            records.select("key", "value", "headers", "topic")
            .write.format("kafka")
            .option("kafka.bootstrap.servers", target)
            .option("includeHeaders", "true")
            .save()
        )
    finally:
        spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
