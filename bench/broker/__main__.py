"""The command line of the bench: which rows, how often, on what, and where the result goes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from bench.broker.command import add_options, conduct
from bench.broker.rows import all_rows
from bench.broker.warm_up import warm_up

QUICK_SCALE = 0.25
WARM_UP_ROUNDS, QUICK_WARM_UP_ROUNDS = 10, 6


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.broker", description="Ottla beside Apache Kafka, in turns.")
    parser.add_argument("--quick", action="store_true", help="a quarter of the records, once")
    add_options(parser)
    options = parser.parse_args(words)
    rounds = options.warm_up
    if rounds is None:
        rounds = QUICK_WARM_UP_ROUNDS if options.quick else WARM_UP_ROUNDS
    return conduct(
        options,
        all_rows(),
        lambda lab, brokers: warm_up(lab, brokers, rounds),
        scale=options.scale or (QUICK_SCALE if options.quick else 1.0),
        used={"warm_up": rounds},
    )


if __name__ == "__main__":
    sys.exit(main())
