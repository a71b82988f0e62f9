"""The command line of the bench: how many groups, how often, and where the result goes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from bench.broker.command import add_options, conduct
from bench.broker.contenders import Broker
from bench.broker.lab import Lab
from bench.groups.rows import PROPERTIES, Times, all_rows

GROUPS, QUICK_GROUPS = 1000, 200
QUICK_SCALE = 0.5
# Half of the groups each; a broker that has just started costs several times as much.
WARM_UP_ROUNDS, QUICK_WARM_UP_ROUNDS = 2, 1
WARM_UP_SHARE = 0.5


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.groups", description="Many groups on Ottla and on Apache Kafka, in turns."
    )
    parser.add_argument("--groups", type=int, metavar="N", help=f"groups of five ({GROUPS}; quick: {QUICK_GROUPS})")
    parser.add_argument("--quick", action="store_true", help="fewer groups, half the time, once")
    add_options(parser)
    options = parser.parse_args(words)
    group_count = options.groups or (QUICK_GROUPS if options.quick else GROUPS)
    rounds = options.warm_up
    if rounds is None:
        rounds = QUICK_WARM_UP_ROUNDS if options.quick else WARM_UP_ROUNDS
    rows = all_rows(group_count)

    def warm_up(lab: Lab, brokers: Sequence[Broker]) -> None:
        for row in (row for row in rows if isinstance(row, Times)):
            for broker in brokers:
                row.prepare(lab, broker)
            for _ in range(rounds):
                for broker in brokers:
                    row.measure(lab, broker, WARM_UP_SHARE)

    return conduct(
        options,
        rows,
        warm_up,
        scale=options.scale or (QUICK_SCALE if options.quick else 1.0),
        properties=PROPERTIES,
        used={"groups": group_count, "warm_up": rounds},
    )


if __name__ == "__main__":
    sys.exit(main())
