"""What a scenario is: a story that is played on one target and leaves an observation, plain data that can be compared.

A scenario is written once. It never says what should be observed: that is what Apache Kafka says to the same. Modules
beside this one hold one area each; `Area` is the list they are added to, one function for many versions and cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compat_tests.scenarios.stage import Stage
from ottla.server.handlers.every_route import ROUTES
from ottla.wire.messages.api_versions import ApiVersionsRequest
from ottla.wire.messages.group_admin import DeleteGroupsRequest
from ottla.wire.schema import Request

# The highest that Apache Kafka 4.3, the referee, knows, where ours are of 4.4.
REFEREE_HIGHEST: dict[type[Request], int] = {ApiVersionsRequest: 4, DeleteGroupsRequest: 2}

Play = Callable[[Stage], None]
Wants = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Scenario:
    area: str
    name: str
    play: Play
    # What the target's configuration must say besides, as pairs.
    wants: Wants = ()

    @property
    def id(self) -> str:
        return f"{self.area}/{self.name}"


def by_wants(scenarios: Iterable[Scenario]) -> dict[Wants, list[Scenario]]:
    """Those that can be played on one target, by what they want of its configuration."""
    parts: dict[Wants, list[Scenario]] = {}
    for scenario in scenarios:
        parts.setdefault(scenario.wants, []).append(scenario)
    return parts


def served_versions(kind: type[Request]) -> range:
    """The versions that both Ottla and the referee serve."""
    (served,) = (route.versions for route in ROUTES if route.request is kind)
    return range(served.low, REFEREE_HIGHEST.get(kind, served.high) + 1)


def low_middle_high(kind: type[Request]) -> list[int]:
    """The lowest version, one in the middle and the highest; fewer if there are no three."""
    served = served_versions(kind)
    return sorted({served[0], served[len(served) // 2], served[-1]})


class Area:
    """The scenarios of one area, in the order in which they are written; `wants` are properties they all need."""

    def __init__(self, name: str, wants: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.wants: Wants = tuple((wants or {}).items())
        self.scenarios: list[Scenario] = []

    def one(self, story: Play) -> Play:
        """A story that is told once."""
        self._add(story, "", story)
        return story

    def cases(self, cases: Mapping[str, Any]) -> Callable[[Callable[[Stage, Any], None]], Callable[[Stage, Any], None]]:
        """A story that is told once for each case."""

        def add(story: Callable[[Stage, Any], None]) -> Callable[[Stage, Any], None]:
            for label, case in cases.items():
                self._add(story, f": {label}", lambda stage, case=case: story(stage, case))
            return story

        return add

    def at(
        self, kind: type[Request], cases: Mapping[str, Any] | None = None, versions: Sequence[int] = ()
    ) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """A story that is told at three versions of a request, or at those given; and for each case."""

        def add(story: Callable[..., None]) -> Callable[..., None]:
            for version in versions or low_middle_high(kind):
                for label, case in (cases or {}).items():
                    self._add(
                        story,
                        f": {label}, v{version}",
                        lambda stage, version=version, case=case: story(stage, version, case),
                    )
                if cases is None:
                    self._add(story, f", v{version}", lambda stage, version=version: story(stage, version))
            return story

        return add

    def _add(self, story: Callable[..., None], suffix: str, play: Play) -> None:
        name = story.__name__.replace("_", " ") + suffix
        assert name not in {scenario.name for scenario in self.scenarios}, name
        self.scenarios.append(Scenario(self.name, name, play, self.wants))
