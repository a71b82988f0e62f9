"""Taking turns: each row on each broker, several times, the order changing from one repetition to the next.

Both brokers are up all the time and one is under load. A row that fails is reported with its error, and the rest run.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from bench.broker.contenders import KAFKA, OTTLA, Broker
from bench.broker.figures import Comparison, Sample, compared
from bench.broker.lab import Lab
from bench.broker.loads import Row

WARM_UP_SHARE = 0.5

WarmUp = Callable[[Lab, Sequence[Broker]], None]


@dataclass
class Outcome:
    row: Row
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    error: str = ""

    @property
    def comparisons(self) -> list[Comparison]:
        if self.error:
            return []
        return compared(self.row.name, self.row.figures, self.samples.get(OTTLA, []), self.samples.get(KAFKA, []))


def run(lab: Lab, rows: Sequence[Row], names: Sequence[str], repeat: int, warm_up: WarmUp) -> list[Outcome]:
    brokers = [lab.start(name) for name in names]
    tell("warming up")
    warm_up(lab, brokers)
    outcomes = []
    for number, row in enumerate(rows, 1):
        started = time.monotonic()
        outcome = run_row(lab, row, brokers, repeat)
        outcomes.append(outcome)
        tell(f"[{number}/{len(rows)}] {row.name}: {summary(outcome)} ({time.monotonic() - started:.0f} s)")
    return outcomes


def run_row(lab: Lab, row: Row, brokers: Sequence[Broker], repeat: int) -> Outcome:
    outcome = Outcome(row, {broker.name: [] for broker in brokers})
    try:
        for broker in brokers:
            with blaming(broker):
                row.prepare(lab, broker)
                if row.warms_up:
                    measured(lab, row, broker, WARM_UP_SHARE)
        for number in range(repeat if row.is_repeated else 1):
            for broker in brokers if number % 2 == 0 else reversed(brokers):
                with blaming(broker):
                    outcome.samples[broker.name].append(measured(lab, row, broker, 1.0))
    except RowFailed as error:
        outcome.error = str(error)
    try:
        for broker in brokers:
            with blaming(broker):
                row.finish(lab, broker)
    except RowFailed as error:
        outcome.error = outcome.error or str(error)
    return outcome


def measured(lab: Lab, row: Row, broker: Broker, share: float) -> Sample:
    """One measurement. What it writes finds memory that the machine has from its host already."""
    if lab.page_cache is not None:
        lab.page_cache.fill()
    return row.measure(lab, broker, share)


class RowFailed(Exception):
    """Something went wrong in a row; the message says with which broker."""


@contextmanager
def blaming(broker: Broker) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        traceback.print_exc()
        raise RowFailed(f"{broker.name}: {type(error).__name__}: {error}") from error


def summary(outcome: Outcome) -> str:
    if outcome.error:
        return f"failed, {outcome.error}"
    return ", ".join(
        f"{one.figure.unit} {'-' if one.ratio is None else f'{one.ratio:.2f}x'} {one.verdict}".rstrip()
        for one in outcome.comparisons
    )


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
