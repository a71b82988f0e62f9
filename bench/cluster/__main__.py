"""The command line of the bench: which rows, how often, on what, and where the result goes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from bench.broker.command import add_options, conduct
from bench.cluster.contenders import STARTERS
from bench.cluster.rows import all_rows
from bench.cluster.warm_up import warm_up

QUICK_SCALE = 0.25
WARM_UP_ROUNDS, QUICK_WARM_UP_ROUNDS = 10, 6


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.cluster", description="Three nodes of Ottla and three of Apache Kafka, in turns."
    )
    parser.add_argument("--quick", action="store_true", help="a quarter of the records, once")
    add_options(parser)
    options = parser.parse_args(words)
    rounds = options.warm_up
    if rounds is None:
        rounds = QUICK_WARM_UP_ROUNDS if options.quick else WARM_UP_ROUNDS
    return conduct(
        options,
        all_rows(),
        lambda lab, clusters: warm_up(lab, clusters, rounds),
        scale=options.scale or (QUICK_SCALE if options.quick else 1.0),
        starters=STARTERS,
        used={"warm_up": rounds},
    )


if __name__ == "__main__":
    sys.exit(main())
