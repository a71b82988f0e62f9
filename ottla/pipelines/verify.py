"""`ottla pipeline verify`: the arguments and their help. What it does is in verify_run.py, loaded when it runs."""

from __future__ import annotations

import argparse

from ottla.commands.asking import Commands, setting
from ottla.pipelines.copying_arguments import add_timeout
from ottla.pipelines.running import add_pipeline


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_pipeline(
        commands,
        "verify",
        "verify_run:verify",
        summary="compare two clusters, or a cluster and an archive, record by record",
        more="Compare the records of two clusters, or of a cluster and an archive: counts, gaps, duplicates, order and "
        "checksums of keys, values, headers and timestamps. The exit status is 0 where nothing differs, 1 where "
        "something does or it could not be done, and 2 for wrong arguments.",
        examples="ottla pipeline verify orders --from kafka:9092 --to localhost:9092\n"
        "ottla pipeline verify orders --from kafka:9092 --to localhost:9092 --allow-behind\n"
        "ottla pipeline verify --from-archive archive --to localhost:9092",
        asks_one_cluster=False,
    )
    parser.add_argument(
        "topics", metavar="TOPIC", nargs="*", help="the name of a topic in the first (all of an archive)"
    )
    parser.add_argument("--pattern", metavar="REGEX", help="all topics whose whole name matches")
    first = parser.add_mutually_exclusive_group(required=True)
    first.add_argument("--from", dest="source", metavar="HOST:PORT", help="brokers of the first")
    first.add_argument("--from-archive", dest="source_archive", metavar="DIRECTORY", help="or an archive")
    second = parser.add_mutually_exclusive_group(required=True)
    second.add_argument("--to", dest="target", metavar="HOST:PORT", help="brokers of the second, the copy")
    second.add_argument("--to-archive", dest="target_archive", metavar="DIRECTORY", help="or an archive")
    parser.add_argument(
        "--rename",
        type=setting,
        metavar="TOPIC=OTHER",
        action="append",
        default=[],
        help="a topic's name in the second",
    )
    parser.add_argument(
        "--allow-behind", action="store_true", help="what is not copied yet, after all that is, is no difference"
    )
    add_timeout(parser)
