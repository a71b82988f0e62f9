"""What came out, for people and for programs: a Markdown table, and JSON with every repetition."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from statistics import median
from typing import Any

from bench.broker.figures import Comparison, Target
from bench.broker.running import Outcome

HEAD = ("row", "figure", "Kafka", "Ottla", "ratio", "pairs", "must", "goal", "")


def table(outcomes: Sequence[Outcome]) -> str:
    lines = [HEAD, tuple("---" for _ in HEAD)]
    for outcome in outcomes:
        if outcome.error:
            lines.append((outcome.row.name, "failed", *[""] * 6, outcome.error))
        lines += map(cells, outcome.comparisons)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cells(one: Comparison) -> tuple[str, ...]:
    pairs = one.pair_ratios
    return (
        one.row,
        one.figure.unit,
        *(number(median(values)) if values else "" for values in (one.kafka, one.ottla)),
        "" if one.ratio is None else f"{one.ratio:.2f}",
        f"{min(pairs):.2f} to {max(pairs):.2f}" if len(pairs) > 1 else "",
        *(bound(target) for target in (one.figure.must, one.figure.goal)),
        one.verdict,
    )


def bound(target: Target | None) -> str:
    return "" if target is None else str(target)


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def missed(outcomes: Sequence[Outcome]) -> list[str]:
    """What was promised and not reached, and what failed."""
    wrong = [f"{outcome.row.name}: {outcome.error}" for outcome in outcomes if outcome.error]
    return wrong + [
        f"{one.row}, {one.figure.unit}"
        for outcome in outcomes
        for one in outcome.comparisons
        if one.verdict == "MISSED"
    ]


def as_json(
    outcomes: Sequence[Outcome], machine: dict[str, Any], options: dict[str, Any], seconds: float
) -> dict[str, Any]:
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine,
        "options": options,
        "seconds": round(seconds),
        "rows": [
            {
                "row": one.row,
                "figure": one.figure.unit,
                "ottla": one.ottla,
                "kafka": one.kafka,
                "ratio": one.ratio,
                "must": bound(one.figure.must),
                "goal": bound(one.figure.goal),
                "verdict": one.verdict,
            }
            for outcome in outcomes
            for one in outcome.comparisons
        ],
        "failed": {outcome.row.name: outcome.error for outcome in outcomes if outcome.error},
    }


def machine() -> dict[str, Any]:
    """To be asked before the run: the load tells whether others are at work as well."""
    return {
        "cpus": os.cpu_count(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load_average_before": round(os.getloadavg()[0], 1),
    }


def footer(machine: dict[str, Any], options: dict[str, Any], seconds: float) -> str:
    said = ", ".join(f"{key} {value}" for key, value in {**machine, **options}.items())
    busy = machine["load_average_before"] > machine["cpus"] / 4
    warning = (
        "\nOthers were at work on this machine: rates and latencies mean little, CPU figures more." if busy else ""
    )
    return f"{seconds:.0f} s; {said}{warning}"
