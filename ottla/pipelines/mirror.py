"""`ottla pipeline mirror`: the arguments and their help. What it does is in mirror_run.py, loaded when it runs."""

from __future__ import annotations

import argparse

from ottla.commands.asking import Commands, positive, positive_seconds
from ottla.pipelines.copying_arguments import add_target, add_timeout
from ottla.pipelines.running import add_pipeline

EVERY_SECONDS = 1.0
ROUND_RECORDS_MAX = 200_000


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_pipeline(
        commands,
        "mirror",
        "mirror_run:mirror",
        summary="copy topics of one cluster to another",
        more="Copy topics of one cluster to another, each record exactly once, with keys, headers, timestamps, "
        "partitions and order, until it is stopped or, with --once, up to what is there now. Run it again to go on: "
        "where it is, it finds in the target.",
        examples="ottla pipeline mirror orders --from kafka:9092 --to localhost:9092 --once\n"
        "ottla pipeline mirror --pattern 'orders-.*' --from kafka:9092 --to localhost:9092 --groups '.*'",
        asks_one_cluster=False,
    )
    parser.add_argument("topics", metavar="TOPIC", nargs="*", help="the name of a topic")
    parser.add_argument("--pattern", metavar="REGEX", help="all topics whose whole name matches, new ones as they come")
    parser.add_argument("--from", dest="source", metavar="HOST:PORT", required=True, help="brokers that are read from")
    parser.add_argument("--to", dest="target", metavar="HOST:PORT", required=True, help="brokers that are written to")
    parser.add_argument("--once", action="store_true", help="end when all that is there now is copied")
    parser.add_argument(
        "--every",
        type=positive_seconds,
        metavar="SECONDS",
        default=EVERY_SECONDS,
        help=f"how often to look for records ({EVERY_SECONDS:g})",
    )
    parser.add_argument(
        "--round-records",
        type=positive,
        metavar="N",
        default=ROUND_RECORDS_MAX,
        help=f"at most so many records of a partition at once ({ROUND_RECORDS_MAX:,})",
    )
    parser.add_argument("--groups", metavar="REGEX", help="copy what groups have committed, where the whole id matches")
    add_target(parser)
    add_timeout(parser)
