"""What is measured and what is to be reached: figures, targets, and the verdict on a comparison.

It knows numbers alone. A ratio is always Ottla's figure through Kafka's; each figure is the median of its repetitions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

Sample = Mapping[str, float]


@dataclass(frozen=True)
class Target:
    """A bound on the ratio to Kafka's figure, or, where it has a unit, on Ottla's own figure."""

    limit: float
    is_least: bool
    unit: str = ""

    def is_reached(self, ratio: float | None, value: float) -> bool | None:
        """None where there is nothing to compare with."""
        judged = value if self.unit else ratio
        if judged is None:
            return None
        return judged >= self.limit if self.is_least else judged <= self.limit

    def __str__(self) -> str:
        return f"{'>=' if self.is_least else '<='} {self.limit:g}{' ' + self.unit if self.unit else 'x'}"


def at_least(limit: float) -> Target:
    return Target(limit, is_least=True)


def at_most(limit: float, unit: str = "") -> Target:
    return Target(limit, is_least=False, unit=unit)


@dataclass(frozen=True)
class Figure:
    """One column of a sample. `must` is a promise, `goal` a wish."""

    key: str
    unit: str
    must: Target | None = None
    goal: Target | None = None


@dataclass(frozen=True)
class Comparison:
    """What the repetitions of one figure came to."""

    row: str
    figure: Figure
    ottla: tuple[float, ...]
    kafka: tuple[float, ...]

    @property
    def ratio(self) -> float | None:
        if not self.ottla or not self.kafka or not median(self.kafka):
            return None
        return median(self.ottla) / median(self.kafka)

    @property
    def pair_ratios(self) -> list[float]:
        """Of repetitions that ran one after the other: how far they lie apart says what the ratio is worth."""
        return [ours / theirs for ours, theirs in zip(self.ottla, self.kafka, strict=False) if theirs]

    @property
    def verdict(self) -> str:
        if not self.ottla:
            return ""
        must, goal = (
            None if target is None else target.is_reached(self.ratio, median(self.ottla))
            for target in (self.figure.must, self.figure.goal)
        )
        if must is False:
            return "MISSED"
        if goal is not None:
            return "goal" if goal else "below goal"
        return "" if must is None else "reached"


def compared(row: str, figures: Sequence[Figure], ottla: Sequence[Sample], kafka: Sequence[Sample]) -> list[Comparison]:
    return [
        Comparison(
            row,
            figure,
            tuple(sample[figure.key] for sample in ottla),
            tuple(sample[figure.key] for sample in kafka),
        )
        for figure in figures
    ]
