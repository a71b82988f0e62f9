"""Every way in which the broker is broken on purpose makes the comparison with Apache Kafka fail.

The breaks are the patches `broker-*` in tests/mutants; each names the scenarios that concern it. What Kafka says to
those is observed once, then a broker with one mistake after the other is asked the same. A broker without a mistake,
run from the same copy of the code, shows that it is the mistakes that are seen.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from compat_tests.comparison import Observation, compare, observe_all
from compat_tests.exemptions import EXEMPTIONS
from compat_tests.scenarios import SCENARIOS
from compat_tests.scenarios.scenario import Scenario
from compat_tests.scenarios.stage import Place
from compat_tests.side_by_side import OttlaSide, held_port
from compat_tests.targets import opened
from tests.mutants import runner
from tests.mutants.runner import Mutant
from tests.server.node_process import ANNOUNCEMENT, NodeProcess

pytestmark = pytest.mark.jvm

MUTANTS = [mutant for mutant in runner.mutants() if mutant.plays]
MUTANTS_MIN = 20


def played_by(mutant: Mutant) -> list[Scenario]:
    wanted = re.compile("|".join(f"(?:{pattern})" for pattern in mutant.plays))
    return [scenario for scenario in SCENARIOS if wanted.fullmatch(scenario.id)]


class SideOfACopy(OttlaSide):
    """Ottla from a copy of the code, as a process that finds no other."""

    code: Path

    def start(self) -> None:
        self._process = NodeProcess("--config", str(self.config_path), inside=("env", "-C", str(self.code)))
        self._process.line(ANNOUNCEMENT)


@contextlib.contextmanager
def a_broker_of(code: Path, directory: Path) -> Iterator[Place]:
    with contextlib.ExitStack() as stack:
        ports = [stack.enter_context(held_port()) for _ in range(2)]
        side = SideOfACopy(directory / "ottla", ports)
        side.code = code
        stack.callback(side.close)
        side.start()
        yield Place(side.bootstrap)


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("code")
    runner.copy_code(root)
    return root


@pytest.fixture(scope="module")
def kafkas_word(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Observation]:
    """What Apache Kafka says to all scenarios that any mutant concerns."""
    concerned = {scenario.id: scenario for mutant in MUTANTS for scenario in played_by(mutant)}
    with opened("kafka-local", tmp_path_factory.mktemp("kafka")) as place:
        return observe_all(concerned.values(), place)


def test_there_are_enough_of_them() -> None:
    assert len(MUTANTS) >= MUTANTS_MIN
    assert [mutant.name for mutant in MUTANTS if not played_by(mutant)] == []


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_comparison_notices(
    mutant: Mutant, code: Path, tmp_path: Path, kafkas_word: Mapping[str, Observation]
) -> None:
    scenarios = played_by(mutant)
    try:
        runner.apply(mutant, code)
        with a_broker_of(code, tmp_path) as place:
            broken = observe_all(scenarios, place)
    finally:
        runner.restore(mutant, code)
    assert compare(scenarios, broken, kafkas_word, EXEMPTIONS).differences, f"nobody noticed: {mutant.breaks}"


def test_without_a_mistake_nothing_differs(code: Path, tmp_path: Path, kafkas_word: Mapping[str, Observation]) -> None:
    scenarios = [scenario for scenario in SCENARIOS if scenario.id in kafkas_word]
    with a_broker_of(code, tmp_path) as place:
        sound = observe_all(scenarios, place)
    assert compare(scenarios, sound, kafkas_word, EXEMPTIONS).differences == []
