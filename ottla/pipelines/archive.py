"""`ottla pipeline archive`: the arguments and their help. What it does is in archive_run.py, loaded when it runs."""

from __future__ import annotations

import argparse

from ottla.commands.asking import Commands, positive, positive_seconds, setting
from ottla.pipelines.running import add_pipeline

TRIGGER_SECONDS = 10.0
BATCH_RECORDS_MAX = 1_000_000
FILE_BYTES = 128 * 1024 * 1024
COMPACT_EVERY_BATCHES = 50


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_pipeline(
        commands,
        "archive",
        "archive_run:archive",
        summary="keep topics as Parquet files",
        more="Copy topics to Parquet files, each record exactly once, until it is stopped or, with --once, up to what "
        "is there now. Run it again with the same directory to go on.",
        examples="ottla pipeline archive orders --output archive --once\n"
        "ottla pipeline archive --pattern 'orders-.*' --output hdfs:///archive --by date --compact\n"
        "ottla pipeline archive orders --output archive --decode json --schema 'id long, name string' --once\n"
        "ottla pipeline archive --output archive --compact-only",
    )
    parser.add_argument("topics", metavar="TOPIC", nargs="*", help="the name of a topic")
    parser.add_argument("--pattern", metavar="REGEX", help="all topics whose whole name matches (Java's syntax)")
    parser.add_argument("-o", "--output", metavar="DIRECTORY", required=True, help="where the files go: a path or URL")
    parser.add_argument("--by", choices=("date", "hour"), help="a directory for each day or hour (UTC) of timestamps")
    _add_reading(parser)
    _add_decoding(parser)
    _add_compaction(parser)


def _add_reading(parser: argparse.ArgumentParser) -> None:
    reading = parser.add_argument_group("reading")
    reading.add_argument("--once", action="store_true", help="end when all that is there now is archived")
    reading.add_argument(
        "--every",
        type=positive_seconds,
        metavar="SECONDS",
        default=TRIGGER_SECONDS,
        help=f"how often to look for records ({TRIGGER_SECONDS:g})",
    )
    reading.add_argument(
        "--from", dest="start", choices=("earliest", "latest"), default="earliest", help="where the first run begins"
    )
    reading.add_argument(
        "--batch-records",
        type=positive,
        metavar="N",
        default=BATCH_RECORDS_MAX,
        help=f"at most so many records at once ({BATCH_RECORDS_MAX:,})",
    )
    reading.add_argument("--checkpoint", metavar="DIRECTORY", help="where Spark keeps its place (in the output)")
    reading.add_argument(
        "--skip-lost", action="store_true", help="go on where records were deleted before they were archived"
    )
    reading.add_argument(
        "--client", type=setting, metavar="KEY=VALUE", action="append", default=[], help="a setting of Kafka's consumer"
    )


def _add_decoding(parser: argparse.ArgumentParser) -> None:
    decoding = parser.add_argument_group("decoding")
    decoding.add_argument("--decode", choices=("json", "avro"), help="add a column `decoded` beside `value`")
    decoding.add_argument("--schema", metavar="TEXT", help="Spark's DDL for json, a schema for avro; or @FILE")
    decoding.add_argument(
        "--confluent", action="store_true", help="avro values begin with five bytes that name a schema: skip them"
    )


def _add_compaction(parser: argparse.ArgumentParser) -> None:
    compaction = parser.add_argument_group("compaction")
    compaction.add_argument(
        "--compact",
        action="store_true",
        help="merge small files at the end, and from time to time",
    )
    compaction.add_argument(
        "--compact-every",
        type=positive,
        metavar="BATCHES",
        default=COMPACT_EVERY_BATCHES,
        help=f"from time to time: after so many batches ({COMPACT_EVERY_BATCHES})",
    )
    compaction.add_argument("--compact-only", action="store_true", help="merge small files, and archive nothing")
    compaction.add_argument(
        "--file-bytes",
        type=positive,
        metavar="N",
        default=FILE_BYTES,
        help=f"merge up to about this size ({FILE_BYTES // 1024 // 1024} MB)",
    )
