"""One world again, by its seed: `python -m tests.simulation --seed 7`, with faults that a failure named: `pause=20`.

With --until another, all seeds from the one to before the other; with --replication the brokers under one controller.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections import Counter
from collections.abc import Sequence

from tests.simulation import clusters, test_replication


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--until", type=int, help="the first seed that is not run any more")
    parser.add_argument("--replication", action="store_true", help="brokers under one controller, without a quorum")
    parser.add_argument("faults", nargs="*", metavar="fault=chance", help="in a thousand; see ClusterFaults")
    options = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)  # crashes are nothing special here
    worse = {name: int(chance) for name, _, chance in (fault.partition("=") for fault in options.faults)}
    counts: Counter[str] = Counter()
    for seed in range(options.seed, options.until or options.seed + 1):
        world = (test_replication if options.replication else clusters).troubled(seed, **worse)
        counts += world.counts
    print("\n".join(f"{name}: {count}" for name, count in counts.most_common()))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
