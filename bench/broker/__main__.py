"""The command line of the bench: which rows, how often, on what, and where the result goes."""

from __future__ import annotations

import argparse
import json
import re
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.broker import report
from bench.broker.contenders import KAFKA, OTTLA
from bench.broker.lab import Lab
from bench.broker.rows import all_rows
from bench.broker.running import run, tell

QUICK_SCALE = 0.25


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.broker", description="Ottla beside Apache Kafka, in turns.")
    parser.add_argument("--rows", metavar="PATTERN", default="", help="rows whose name holds this regular expression")
    parser.add_argument("--list", action="store_true", help="print the names of the rows, and run none")
    parser.add_argument("--repeat", type=int, metavar="N", help="repetitions of each row (3; quick: 1)")
    parser.add_argument("--quick", action="store_true", help="a quarter of the records, once")
    parser.add_argument("--scale", type=float, metavar="SHARE", help="share of the records")
    parser.add_argument("--warm-up", type=int, metavar="N", help="rounds before the first row (10; quick: 6)")
    parser.add_argument("--only", choices=(OTTLA, KAFKA), help="one broker, and nothing to compare with")
    parser.add_argument("--directory", metavar="DIR", help="where the brokers keep their logs")
    parser.add_argument("--broker-cpus", metavar="N,N", help="CPUs for the broker, whichever it is; clients take all")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write every repetition there")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    options = arguments(words)
    rows = [row for row in all_rows() if re.search(options.rows, row.name)]
    if options.list:
        print("\n".join(row.name for row in rows))
        return 0
    if not rows:
        tell(f"no row is like {options.rows!r}; --list shows them")
        return 2
    scale = options.scale or (QUICK_SCALE if options.quick else 1.0)
    repeat = options.repeat or (1 if options.quick else 3)
    rounds = (6 if options.quick else 10) if options.warm_up is None else options.warm_up
    names = [options.only] if options.only else [OTTLA, KAFKA]
    cpus = {int(one) for one in options.broker_cpus.split(",")} if options.broker_cpus else None
    used = {"scale": scale, "repeat": repeat, "warm_up": rounds, "rows": options.rows, "brokers": names}
    machine = report.machine()
    # Whoever ends us by a signal wants the brokers ended as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir=options.directory) as directory, Lab(Path(directory), scale, cpus) as lab:
        outcomes = run(lab, rows, names, repeat, rounds)
    seconds = time.monotonic() - started
    print(f"{report.table(outcomes)}\n\n{report.footer(machine, used, seconds)}")
    if options.json is not None:
        result = report.as_json(outcomes, machine, used, seconds)
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for wrong in report.missed(outcomes):
        tell(f"not reached: {wrong}")
    return 1 if any(outcome.error for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
