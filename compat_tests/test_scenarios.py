"""Each scenario as a test of its own: on one target, or on two whose answers are compared.

`--target NAME` or `--compare NAME,NAME` choose; see compat_tests/targets.py. `python -m compat_tests` does the same
in one go, and prints the whole comparison.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from compat_tests.comparison import compare, failed, observe
from compat_tests.exemptions import EXEMPTIONS
from compat_tests.scenarios import SCENARIOS
from compat_tests.scenarios.scenario import Scenario
from compat_tests.scenarios.stage import Place
from compat_tests.targets import DEFAULT_COMPARE, chosen, opened

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="session")
def places(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Place]]:
    option = request.config.getoption
    names = chosen(option("--target", default=None), option("--compare", default=None))
    with contextlib.ExitStack() as stack:
        directory = tmp_path_factory.mktemp("targets")
        yield {name: stack.enter_context(opened(name, directory)) for name in names}


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.id)
def test_the_answers_are_the_same(scenario: Scenario, places: dict[str, Place]) -> None:
    observations = [observe(scenario, place) for place in places.values()]
    for observation in observations:
        assert failed({scenario.id: observation}) == {}
        assert observation, "nothing was observed"
    if len(observations) > 1:
        ours, theirs = ({scenario.id: observation} for observation in observations)
        excuses = EXEMPTIONS if next(iter(places)) == DEFAULT_COMPARE[0] else ()
        differences = compare([scenario], ours, theirs, excuses).differences
        assert not differences, "\n".join(map(str, differences))
