"""Arguments that `replay`, `mirror` and `verify` share. No client is loaded here: a help is to come at once."""

from __future__ import annotations

import argparse

from ottla.commands.asking import TIMEOUT_SECONDS, positive, positive_seconds, setting

COMPRESSIONS = ("gzip", "lz4", "none", "snappy", "zstd")


def add_target(parser: argparse.ArgumentParser) -> None:
    """What is said of the side that is written to."""
    target = parser.add_argument_group("target")
    target.add_argument(
        "--rename",
        type=setting,
        metavar="TOPIC=OTHER",
        action="append",
        default=[],
        help="write a topic to another one",
    )
    target.add_argument(
        "--replication-factor", type=positive, metavar="N", help="copies of topics that are made (the broker's default)"
    )
    target.add_argument(
        "--config", type=setting, metavar="KEY=VALUE", action="append", default=[], help="set a key of topics it makes"
    )
    target.add_argument("--compression", choices=COMPRESSIONS, default="none", help="of the batches (none)")


def add_timeout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--timeout",
        type=positive_seconds,
        metavar="SECONDS",
        default=TIMEOUT_SECONDS,
        help=f"how long to try what may still succeed ({TIMEOUT_SECONDS:g})",
    )
