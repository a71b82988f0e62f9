"""Apache Kafka in a container, by testcontainers, beside Ottla in one: the same scenarios, and the same observed."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from compat_tests.comparison import compare, failed, observe_all
from compat_tests.containers.images import Images
from compat_tests.containers.story import create_topic, received, send
from compat_tests.exemptions import EXEMPTIONS
from compat_tests.kafka_container import KafkaContainer, with_single_node
from compat_tests.scenarios import SCENARIOS
from compat_tests.scenarios.scenario import Scenario, Wants, by_wants
from compat_tests.scenarios.stage import Place
from ottla.testing.container import OttlaContainer

pytestmark = pytest.mark.jvm

SEED = 7


def half(scenarios: Iterable[Scenario]) -> list[Scenario]:
    """Half of each area, by luck that is the same each time: all are compared elsewhere, with processes."""
    luck = random.Random(SEED)
    areas: dict[str, list[Scenario]] = {}
    for scenario in scenarios:
        areas.setdefault(scenario.area, []).append(scenario)
    return [one for area in areas.values() for one in luck.sample(area, (len(area) + 1) // 2)]


PARTS = list(by_wants(half(SCENARIOS)).items())


@contextlib.contextmanager
def both_places(images: Images, wants: Wants = ()) -> Iterator[tuple[Place, Place]]:
    """Ottla's and Kafka's, each in its container."""
    ours, theirs = with_single_node(OttlaContainer(images.ottla)), KafkaContainer(images.kafka)
    for container in (ours, theirs):
        for key, value in wants:
            container.with_setting(key, value)
    with ours, theirs:
        yield Place(ours.get_bootstrap_server()), Place(theirs.get_bootstrap_server())


def test_kafkas_container_serves_the_host(images: Images) -> None:
    with both_places(images) as places:
        for place in places:
            create_topic(place.bootstrap, "salt-and-bread")
            send(place.bootstrap, "salt-and-bread", [b"salt"])
            assert received(place.bootstrap, "salt-and-bread", 1) == [b"salt"]


@pytest.mark.parametrize(("wants", "scenarios"), PARTS, ids=[part[0].area for _, part in PARTS])
def test_both_containers_say_the_same(images: Images, wants: Wants, scenarios: list[Scenario]) -> None:
    """Those of all areas that want nothing of the configuration, and those that do."""
    with both_places(images, wants) as places, ThreadPoolExecutor(len(places)) as pool:
        ours, theirs = pool.map(lambda place: observe_all(scenarios, place), places)
    assert failed(theirs) == {}
    outcome = compare(scenarios, ours, theirs, EXEMPTIONS)
    assert outcome.differences == [], "\n".join(map(str, outcome.differences))
    if not wants:
        # What is excused differs: so it was two brokers that were asked, and a difference is seen.
        assert compare(scenarios, ours, theirs).differences
