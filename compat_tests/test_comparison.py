"""The comparison itself: what counts as a difference, what an exception excuses, and that nothing is left out."""

from __future__ import annotations

from typing import Any

import pytest

from compat_tests.comparison import ABSENT, Comparison, Exemption, compare, differences, failed
from compat_tests.coverage_of_apis import lacking
from compat_tests.exemptions import EXEMPTIONS
from compat_tests.scenarios import AREAS, SCENARIOS
from compat_tests.scenarios.scenario import Scenario, low_middle_high
from compat_tests.targets import NoSuchTarget, chosen
from ottla.wire.messages.api_versions import ApiVersionsRequest
from ottla.wire.messages.fetch import FetchRequest

SCENARIOS_MIN = 250
STORY = Scenario("area", "story", lambda stage: None)


def compared(ours: Any, theirs: Any, *exemptions: Exemption) -> Comparison:
    return compare([STORY], {STORY.id: ours}, {STORY.id: theirs}, exemptions)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, [(".a", 1, 2)]),
        ({"a": 1}, {}, [(".a", 1, ABSENT)]),
        ([1, 2], [2, 1], [("[0]", 1, 2), ("[1]", 2, 1)]),
        ([1], [1, 2], [("", [1], [1, 2])]),
        ({"a": [{"b": None}]}, {"a": [{"b": ""}]}, [(".a[0].b", None, "")]),
    ],
)
def test_a_difference_is_the_smallest_part_that_differs(left: Any, right: Any, expected: list[Any]) -> None:
    assert list(differences(left, right)) == expected


def test_any_difference_in_any_step_counts() -> None:
    same = [["ask", {"errorCode": 0}]]
    assert compared(same, same).differences == []
    assert compared(same, [["ask", {"errorCode": 3}]]).differing == {STORY.id}
    assert compared(same, [["tell", {"errorCode": 0}]]).differing == {STORY.id}
    assert compared(same, [*same, *same]).differing == {STORY.id}


def test_an_exception_excuses_its_own_difference_and_no_other() -> None:
    ours, theirs = [["ask", {"a": 1, "b": 1}]], [["ask", {"a": 2, "b": 1}]]
    excuse = Exemption("because", "area/story", r"0 ask\.a", ours=1, theirs=2)
    outcome = compared(ours, theirs, excuse)
    assert (outcome.differences, outcome.excused[excuse]) == ([], 1)
    for other in (
        Exemption("another scenario", "area/stor", r"0 ask\.a"),
        Exemption("another path", "area/story", r"0 ask\.b"),
        Exemption("another value of ours", "area/story", r"0 ask\.a", ours=2),
        Exemption("another value of theirs", "area/story", r"0 ask\.a", theirs=1),
    ):
        assert compared(ours, theirs, other).differing == {STORY.id}


def test_a_scenario_that_could_not_be_played_is_told() -> None:
    assert failed({"x": [["ask", {}], ["failed", "why"]], "y": [["ask", {}]]}) == {"x": "why"}


def test_there_are_scenarios_enough_and_each_has_a_name_of_its_own() -> None:
    assert len(SCENARIOS) >= SCENARIOS_MIN
    assert len({scenario.id for scenario in SCENARIOS}) == len(SCENARIOS)
    assert len({area.name for area in AREAS}) == len(AREAS)
    assert all(area.scenarios for area in AREAS)


def test_every_exception_has_a_reason_of_its_own() -> None:
    reasons = [exemption.reason for exemption in EXEMPTIONS]
    assert all(reasons)
    assert len(set(reasons)) == len(reasons)


def test_three_versions_of_an_api_are_those_that_the_referee_knows_too() -> None:
    assert low_middle_high(FetchRequest) == [4, 11, 18]
    assert low_middle_high(ApiVersionsRequest)[-1] == 4


def test_what_was_never_asked_is_told() -> None:
    missing = lacking({(FetchRequest.api_key, 4, False)})
    assert "FetchRequest v4 was never asked wrongly" in missing
    assert "FetchRequest v4 was never asked rightly" not in missing
    assert "FetchRequest v18 was never asked rightly" in missing


def test_targets_are_chosen_by_option_then_by_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen(None, None) == ("ottla", "kafka-local")
    monkeypatch.setenv("OTTLA_COMPAT_COMPARE", "ottla,external")
    assert chosen(None, None) == ("ottla", "external")
    monkeypatch.setenv("OTTLA_COMPAT_TARGET", "external")
    assert chosen(None, None) == ("external",)
    assert chosen(None, "a,b") == ("a", "b")
    assert chosen("ottla", None) == ("ottla",)
    with pytest.raises(NoSuchTarget, match="two targets"):
        chosen(None, "a,b,c")
