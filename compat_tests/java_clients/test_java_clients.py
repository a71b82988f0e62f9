"""Java's kafka-clients, old and new, against Ottla and against Apache Kafka: every scenario gets the same answers.

A scenario is a method in one of the Java files here, and a test of its own for each client. All scenarios of a client
run in one JVM, beside each other on the two brokers; those of groups beside each other on one broker too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from compat_tests.java_clients.scenarios import CLIENTS, Client, Outcome, run
from compat_tests.side_by_side import IMPATIENT_GROUPS, Side, both_running

pytestmark = pytest.mark.jvm

SCENARIOS = [
    pytest.param(client, name, id=f"{client.name}-{name}") for client in CLIENTS for name in client.scenarios()
]
ByScenario = Mapping[str, Outcome]


@pytest.fixture(scope="session")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Side, Side]]:
    with both_running(tmp_path_factory.mktemp("java-clients"), IMPATIENT_GROUPS) as both:
        yield both


@pytest.fixture(scope="session")
def results(sides: tuple[Side, Side]) -> dict[Client, tuple[ByScenario, ByScenario]]:
    ottla, kafka = sides
    found = {}
    with ThreadPoolExecutor(2) as pool:
        for client in CLIENTS:
            asked_ottla = pool.submit(run, client, ottla)
            asked_kafka = pool.submit(run, client, kafka)
            found[client] = asked_ottla.result(), asked_kafka.result()
    return found


@pytest.mark.parametrize(("client", "scenario"), SCENARIOS)
def test_a_scenario_gets_kafkas_answers(
    results: Mapping[Client, tuple[ByScenario, ByScenario]], client: Client, scenario: str
) -> None:
    ottla, kafka = (answered[scenario] for answered in results[client])
    assert kafka.failure == "", "the scenario is wrong: it fails on Apache Kafka"
    assert kafka.answers, "a scenario that says nothing proves nothing"
    assert ottla.failure == ""
    assert ottla.answers == kafka.answers
