"""What the command lines of the benches beside Kafka share: options, and a run from start to table.

It knows no row: those, and what warms brokers up for them, are given.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

from bench.broker import report
from bench.broker.contenders import KAFKA, OTTLA, STARTERS, Starter
from bench.broker.lab import Lab
from bench.broker.loads import Row
from bench.broker.machine_memory import page_cache
from bench.broker.running import WarmUp, run, tell


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", metavar="PATTERN", default="", help="rows whose name holds this regular expression")
    parser.add_argument("--list", action="store_true", help="print the names of the rows, and run none")
    parser.add_argument("--repeat", type=int, metavar="N", help="repetitions of each row (3; quick: 1)")
    parser.add_argument("--scale", type=float, metavar="SHARE", help="share of what is sent")
    parser.add_argument("--warm-up", type=int, metavar="N", help="rounds before the first row")
    parser.add_argument(
        "--fill-memory",
        action=argparse.BooleanOptionalAction,
        help="fill the page cache before each load, so that none pays for memory from the host (quick: no)",
    )
    parser.add_argument("--only", choices=(OTTLA, KAFKA), help="one broker, and nothing to compare with")
    parser.add_argument("--directory", metavar="DIR", help="where the brokers keep their logs")
    parser.add_argument("--broker-cpus", metavar="N,N", help="CPUs for the broker, whichever it is; clients take all")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write every repetition there")


def conduct(
    options: argparse.Namespace,
    rows: Sequence[Row],
    warm_up: WarmUp,
    *,
    scale: float,
    properties: Mapping[str, str] | None = None,
    starters: Mapping[str, Starter] = STARTERS,
    used: Mapping[str, object],
) -> int:
    """Run the rows that were asked for, print, and return the exit status; `used` is what else the report tells."""
    rows = [row for row in rows if re.search(options.rows, row.name)]
    if options.list:
        print("\n".join(row.name for row in rows))
        return 0
    if not rows:
        tell(f"no row is like {options.rows!r}; --list shows them")
        return 2
    repeat = options.repeat or (1 if options.quick else 3)
    names = [options.only] if options.only else [OTTLA, KAFKA]
    cpus = {int(one) for one in options.broker_cpus.split(",")} if options.broker_cpus else None
    machine = report.machine()
    fills_memory = not options.quick if options.fill_memory is None else options.fill_memory
    told = {
        "scale": scale,
        "repeat": repeat,
        **used,
        "fills_memory": fills_memory,
        "rows": options.rows,
        "brokers": names,
    }
    # Whoever ends us by a signal wants the brokers ended as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    started = time.monotonic()
    with (
        tempfile.TemporaryDirectory(dir=options.directory) as directory,
        page_cache(Path(directory)) if fills_memory else nullcontext() as filled,
        Lab(Path(directory), scale, cpus, properties, starters, filled) as lab,
    ):
        outcomes = run(lab, rows, names, repeat, warm_up)
    seconds = time.monotonic() - started
    print(f"{report.table(outcomes)}\n\n{report.footer(machine, told, seconds)}")
    if options.json is not None:
        result = report.as_json(outcomes, machine, told, seconds)
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for wrong in report.missed(outcomes):
        tell(f"not reached: {wrong}")
    return 1 if any(outcome.error for outcome in outcomes) else 0
