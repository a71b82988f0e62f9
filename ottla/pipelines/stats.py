"""`ottla pipeline stats`: the arguments and their help. What it does is in stats_run.py, loaded when it runs."""

from __future__ import annotations

import argparse

from ottla.commands.asking import Commands, natural, positive, setting
from ottla.pipelines.running import add_pipeline

KEYS_SHOWN = 10
BUCKETS_MAX = 100


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_pipeline(
        commands,
        "stats",
        "stats_run:stats",
        summary="rates, sizes, lateness and skew of topics",
        more="Read topics once and tell, for each and for its most frequent keys: how many records and bytes, at what "
        "rate, how large, how late (by how much a timestamp is behind the highest before it in its partition), and how "
        "unevenly they are spread over partitions and keys.",
        examples="ottla pipeline stats orders\n"
        "ottla pipeline stats --pattern 'orders-.*' --keys 20 --plot orders.png\n"
        "ottla pipeline stats orders --plot orders.html --json",
    )
    parser.add_argument("topics", metavar="TOPIC", nargs="*", help="the name of a topic")
    parser.add_argument("--pattern", metavar="REGEX", help="all topics whose whole name matches (Java's syntax)")
    parser.add_argument(
        "--keys", type=natural, metavar="N", default=KEYS_SHOWN, help=f"how many keys of each topic ({KEYS_SHOWN})"
    )
    parser.add_argument("--plot", metavar="FILE", help="draw it as well: FILE.png, or a FILE.html of its own")
    parser.add_argument(
        "--buckets",
        type=positive,
        metavar="N",
        default=BUCKETS_MAX,
        help=f"about how many points a rate over time has ({BUCKETS_MAX})",
    )
    parser.add_argument(
        "--client", type=setting, metavar="KEY=VALUE", action="append", default=[], help="a setting of Kafka's consumer"
    )
