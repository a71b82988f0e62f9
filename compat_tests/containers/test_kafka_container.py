"""Apache Kafka in a container, by testcontainers, beside Ottla in one: the same scenarios, and the same observed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from compat_tests.comparison import Comparison, Difference, compare, failed, observe_all
from compat_tests.containers.images import Images
from compat_tests.containers.story import create_topic, received, send
from compat_tests.exemptions import EXEMPTIONS
from compat_tests.kafka_container import KafkaContainer, with_single_node
from compat_tests.scenarios import SCENARIOS
from compat_tests.scenarios.stage import Place
from ottla.testing.container import OttlaContainer

pytestmark = pytest.mark.jvm

# A few of each area: all of them are compared elsewhere, with processes.
PER_AREA_MAX = 6
# Features are at levels of their own in Kafka's image, and ApiVersions tells them.
LEFT_OUT = ("api versions",)


@pytest.fixture(scope="module")
def places(images: Images, request: pytest.FixtureRequest) -> Iterator[tuple[Place, Place]]:
    ours = with_single_node(OttlaContainer(images.ottla))
    with ours, KafkaContainer(images.kafka) as theirs:
        yield Place(ours.get_bootstrap_server()), Place(theirs.get_bootstrap_server())


def test_kafkas_container_serves_the_host(places: tuple[Place, Place]) -> None:
    for place in places:
        create_topic(place.bootstrap, "orders")
        send(place.bootstrap, "orders", [b"salt"])
        assert received(place.bootstrap, "orders", 1) == [b"salt"]


def test_both_containers_say_the_same(places: tuple[Place, Place]) -> None:
    outcome = compared(places)
    assert outcome.differences == [], "\n".join(map(str, outcome.differences))


def test_a_difference_would_be_seen(places: tuple[Place, Place]) -> None:
    """Without the exceptions there are differences, or nothing was compared at all."""
    ours, theirs = places
    scenario = next(one for one in SCENARIOS if one.area in LEFT_OUT)
    outcome = compare([scenario], observe_all([scenario], ours), observe_all([scenario], theirs))
    assert outcome.differences
    assert isinstance(outcome.differences[0], Difference)


def compared(places: tuple[Place, Place]) -> Comparison:
    counts: dict[str, int] = {}
    chosen = []
    for scenario in SCENARIOS:
        counts[scenario.area] = counts.get(scenario.area, 0) + 1
        if scenario.area not in LEFT_OUT and counts[scenario.area] <= PER_AREA_MAX:
            chosen.append(scenario)
    ours, theirs = (observe_all(chosen, place) for place in places)
    assert not failed(theirs)
    return compare(chosen, ours, theirs, EXEMPTIONS)
