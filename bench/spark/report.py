"""The seconds of each reading, as a table of records a second, and what of the promises was not kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from bench.broker.report import number
from bench.spark.readings import BASELINE, Reading

HEAD = ("reading", "records/s", "of all repetitions", f"times {BASELINE}", "must", "")

Rates = Mapping[str, Sequence[float]]


def rates_of(seconds: Mapping[str, Sequence[float]], counts: Mapping[str, int]) -> dict[str, list[float]]:
    """Records a second of every repetition, by reading."""
    return {name: [counts[name] / one for one in values] for name, values in seconds.items()}


def table(readings: Sequence[Reading], rates: Rates) -> str:
    lines = [HEAD, tuple("---" for _ in HEAD)]
    lines += [cells(reading, rates) for reading in readings]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cells(reading: Reading, rates: Rates) -> tuple[str, ...]:
    own = rates[reading.name]
    spread = f"{number(min(own))} to {number(max(own))}" if len(own) > 1 else ""
    ratio = ratio_to(reading.name, BASELINE, rates)
    beaten = [ratio_to(reading.name, other, rates) >= 1 for other in reading.must_beat]
    verdict = ("reached" if all(beaten) else "MISSED") if beaten else ""
    must = ", ".join(f">= 1x {other}" for other in reading.must_beat)
    return (reading.name, number(median(own)), spread, f"{ratio:.2f}", must, verdict)


def ratio_to(name: str, other: str, rates: Rates) -> float:
    return median(rates[name]) / median(rates[other])


def missed(readings: Sequence[Reading], rates: Rates) -> list[str]:
    return [
        f"{reading.name}: {ratio_to(reading.name, other, rates):.2f}x {other}"
        for reading in readings
        for other in reading.must_beat
        if ratio_to(reading.name, other, rates) < 1
    ]


def as_json(rates: Rates, machine: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    return {"machine": dict(machine), "options": dict(options), "records_per_second": {**rates}}
