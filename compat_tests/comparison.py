"""Plays scenarios on targets and compares what was observed: any difference that no exception excuses is a failure.

It knows neither what is asked nor how a target is started. An observation is a list of (what, plain data); a difference
is a path into it with the two values. An exception excuses differences by scenario, path and both values, and one that
excuses nothing in a whole run is itself a failure: it has become untrue.
"""

from __future__ import annotations

import json
import re
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compat_tests.scenarios.scenario import Scenario
from compat_tests.scenarios.stage import Place, Stage

Observation = Any
ABSENT = "<absent>"
SHOWN_MAX = 400


class Anything:
    """In an exception: whatever the value is."""

    def __repr__(self) -> str:
        return "ANYTHING"


ANYTHING = Anything()


@dataclass(frozen=True)
class Difference:
    scenario: str
    path: str
    ours: Any
    theirs: Any

    def __str__(self) -> str:
        return f"{self.scenario}\n    at {self.path}\n    ours   {shown(self.ours)}\n    theirs {shown(self.theirs)}"


@dataclass(frozen=True)
class Exemption:
    """A difference that stays. `scenarios` and `path` are regular expressions for all of a name and of a path."""

    reason: str
    scenarios: str
    path: str
    ours: Any = ANYTHING
    theirs: Any = ANYTHING

    def excuses(self, difference: Difference) -> bool:
        return (
            re.fullmatch(self.scenarios, difference.scenario) is not None
            and re.fullmatch(self.path, difference.path) is not None
            and (self.ours is ANYTHING or self.ours == difference.ours)
            and (self.theirs is ANYTHING or self.theirs == difference.theirs)
        )


@dataclass
class Comparison:
    """What came out of one: differences that nobody excuses, and how often each exception was needed."""

    scenarios: Sequence[Scenario]
    differences: list[Difference] = field(default_factory=list)
    excused: Counter[Exemption] = field(default_factory=Counter)

    @property
    def differing(self) -> set[str]:
        return {difference.scenario for difference in self.differences}


def observe(scenario: Scenario, place: Place) -> Observation:
    """Play it. What goes wrong in the playing is an observation too: it is a difference unless both fail alike."""
    with Stage(place, scenario.id) as stage:
        try:
            scenario.play(stage)
        except Exception as error:
            stage.note("failed", "".join(traceback.format_exception(error, limit=-4)))
        # As it would be written to a file and read again: tuples are lists, keys are text.
        return json.loads(json.dumps(stage.observed))


def observe_all(scenarios: Iterable[Scenario], place: Place) -> dict[str, Observation]:
    return {scenario.id: observe(scenario, place) for scenario in scenarios}


def compare(
    scenarios: Sequence[Scenario],
    ours: Mapping[str, Observation],
    theirs: Mapping[str, Observation],
    exemptions: Sequence[Exemption] = (),
) -> Comparison:
    outcome = Comparison(scenarios)
    for scenario in scenarios:
        for difference in observed_differences(scenario.id, ours[scenario.id], theirs[scenario.id]):
            excuse = next((one for one in exemptions if one.excuses(difference)), None)
            if excuse is None:
                outcome.differences.append(difference)
            else:
                outcome.excused[excuse] += 1
    return outcome


def observed_differences(scenario: str, ours: Observation, theirs: Observation) -> Iterator[Difference]:
    """Step by step; where one of the two went another way, the rest is not compared."""
    for number, ((what, left), (other_what, right)) in enumerate(zip(ours, theirs, strict=False)):
        if what != other_what:
            yield Difference(scenario, str(number), what, other_what)
            return
        for path, one, other in differences(left, right):
            yield Difference(scenario, f"{number} {what}{path}", one, other)
    if len(ours) != len(theirs):
        yield Difference(scenario, "length", len(ours), len(theirs))


def differences(left: Any, right: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The smallest parts in which two observations differ."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted(left.keys() | right.keys()):
            yield from differences(left.get(key, ABSENT), right.get(key, ABSENT), f"{path}.{key}")
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for number, (one, other) in enumerate(zip(left, right, strict=True)):
            yield from differences(one, other, f"{path}[{number}]")
    elif left != right:
        yield path, left, right


def failed(observations: Mapping[str, Observation]) -> dict[str, str]:
    """The scenarios that could not be played to their end, with the reason."""
    return {
        name: str(value)
        for name, observation in observations.items()
        for what, value in observation
        if what == "failed"
    }


def shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}..."
