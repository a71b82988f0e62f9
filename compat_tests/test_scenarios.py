"""Each scenario as a test of its own: on one target, or on two whose answers are compared.

`--target NAME` or `--compare NAME,NAME` choose; see compat_tests/targets.py. `python -m compat_tests` does the same
in one go, and prints the whole comparison.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.comparison import compare, failed, observe
from compat_tests.exemptions import EXEMPTIONS
from compat_tests.scenarios import SCENARIOS
from compat_tests.scenarios.scenario import Scenario, Wants
from compat_tests.scenarios.stage import Place
from compat_tests.targets import DEFAULT_COMPARE, chosen, opened, played_on

pytestmark = pytest.mark.jvm


class Targets:
    """Those that were chosen, started when the first scenario wants them so, gone at the end."""

    def __init__(self, names: tuple[str, ...], directory: Path, stack: contextlib.ExitStack) -> None:
        self.names = names
        self._directory = directory
        self._stack = stack
        self._places: dict[Wants, list[Place]] = {}

    def places(self, wants: Wants) -> list[Place]:
        if wants not in self._places:
            (own := self._directory / str(len(self._places))).mkdir()
            self._places[wants] = [self._stack.enter_context(opened(name, own, wants)) for name in self.names]
        return self._places[wants]


@pytest.fixture(scope="session")
def targets(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Targets]:
    option = request.config.getoption
    names = chosen(option("--target", default=None), option("--compare", default=None))
    with contextlib.ExitStack() as stack:
        yield Targets(names, tmp_path_factory.mktemp("targets"), stack)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.id)
def test_the_answers_are_the_same(scenario: Scenario, targets: Targets) -> None:
    if not played_on(targets.names, [scenario]):
        pytest.skip("nobody sets the configuration of what is there already")
    places = targets.places(scenario.wants)
    observations = [observe(scenario, place) for place in places]
    for observation in observations:
        assert failed({scenario.id: observation}) == {}
        assert observation, "nothing was observed"
    if len(observations) > 1:
        ours, theirs = ({scenario.id: observation} for observation in observations)
        excuses = EXEMPTIONS if targets.names[0] == DEFAULT_COMPARE[0] else ()
        differences = compare([scenario], ours, theirs, excuses).differences
        assert not differences, "\n".join(map(str, differences))
