"""Apache Kafka in a container, by testcontainers, beside Ottla in one: the same scenarios, and the same observed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from compat_tests.comparison import compare, failed, observe_all
from compat_tests.containers.images import Images
from compat_tests.containers.story import create_topic, received, send
from compat_tests.exemptions import EXEMPTIONS
from compat_tests.kafka_container import KafkaContainer, with_single_node
from compat_tests.scenarios import AREAS, SCENARIOS
from compat_tests.scenarios.scenario import Scenario
from compat_tests.scenarios.stage import Place
from ottla.testing.container import OttlaContainer

pytestmark = pytest.mark.jvm

# A few of each area: all of them are compared elsewhere, with processes.
PER_AREA_MAX = 5


@pytest.fixture(scope="module")
def places(images: Images) -> Iterator[tuple[Place, Place]]:
    """Ottla's and Kafka's, each in its container."""
    with with_single_node(OttlaContainer(images.ottla)) as ours, KafkaContainer(images.kafka) as theirs:
        yield Place(ours.get_bootstrap_server()), Place(theirs.get_bootstrap_server())


@pytest.fixture(scope="module")
def chosen() -> list[Scenario]:
    counts: Counter[str] = Counter()
    few = []
    for scenario in SCENARIOS:
        counts[scenario.area] += 1
        if counts[scenario.area] <= PER_AREA_MAX:
            few.append(scenario)
    return few


def test_kafkas_container_serves_the_host(places: tuple[Place, Place]) -> None:
    for place in places:
        create_topic(place.bootstrap, "salt-and-bread")
        send(place.bootstrap, "salt-and-bread", [b"salt"])
        assert received(place.bootstrap, "salt-and-bread", 1) == [b"salt"]


def test_both_containers_say_the_same(places: tuple[Place, Place], chosen: list[Scenario]) -> None:
    ours, theirs = (observe_all(chosen, place) for place in places)
    assert failed(theirs) == {}
    outcome = compare(chosen, ours, theirs, EXEMPTIONS)
    assert outcome.differences == [], "\n".join(map(str, outcome.differences))
    assert {scenario.area for scenario in chosen} == {area.name for area in AREAS}
    # What is excused differs: so it was two brokers that were asked, and a difference is seen.
    assert compare(chosen, ours, theirs).differences
