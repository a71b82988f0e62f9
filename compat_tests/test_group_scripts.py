"""Raw scripts of both group protocols give the same answers and the same groups on Ottla and on Apache Kafka."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from compat_tests.group_scripts.asking import OTHER_TOPIC, PARTITIONS, POLLS_MAX, TIMEOUT_MS, TOPIC, response_of
from compat_tests.group_scripts.classic import MEMBERS, ClassicScript
from compat_tests.group_scripts.consumer import ConsumerScript
from compat_tests.raw_requests import RawConnection
from compat_tests.side_by_side import Side, both_running
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.classic_groups import FindCoordinatorRequest
from ottla.wire.messages.group_admin import ListGroupsRequest
from ottla.wire.messages.topics import CreateTopicsRequest

pytestmark = pytest.mark.jvm

SCRIPTS = 50
SOAK_SCRIPTS = range(1_000, 2_000)
SOAK_BLOCK = 100
STEPS = {ClassicScript: 25, ConsumerScript: 30}
# No session ends while a script runs, a target is computed when it is due, and expressions are resolved in order.
PROPERTIES = {
    "group.consumer.session.timeout.ms": str(TIMEOUT_MS),
    "group.consumer.max.session.timeout.ms": str(TIMEOUT_MS),
    "group.consumer.assignment.interval.ms": "0",
    "group.coordinator.background.threads": "1",
}
Script = type[ClassicScript] | type[ConsumerScript]
PROTOCOLS = [pytest.param(ClassicScript, id="classic"), pytest.param(ConsumerScript, id="consumer")]


class Target:
    """A broker with the topics of the scripts, and its coordinator at work."""

    def __init__(self, side: Side) -> None:
        host, port = side.bootstrap.split(":")
        self.name = side.name
        self._address = host, int(port)
        with RawConnection(*self._address) as connection:
            self.topic_ids = {name: create_topic(connection, name) for name in (TOPIC, OTHER_TOPIC)}
            wait_for_coordinator(connection)

    def transcript(self, script: Script, seed: int) -> list[str]:
        with contextlib.ExitStack() as stack:
            connections = [stack.enter_context(RawConnection(*self._address)) for _ in range(1 + MEMBERS)]
            return script(seed, connections, self.topic_ids).run(STEPS[script])


def create_topic(connection: RawConnection, name: str) -> bytes:
    topic = CreateTopicsRequest.CreatableTopic(
        name=name, num_partitions=PARTITIONS, replication_factor=1, assignments=[], configs=[]
    )
    response = connection.send(CreateTopicsRequest(topics=[topic]), response_of(CreateTopicsRequest), 7)
    topic_id: bytes = response.topics[0].topic_id
    return topic_id


def wait_for_coordinator(connection: RawConnection) -> None:
    for _ in range(POLLS_MAX):
        found = connection.send(FindCoordinatorRequest(key="g"), response_of(FindCoordinatorRequest), 3)
        listed = connection.send(ListGroupsRequest(), response_of(ListGroupsRequest), 0)
        if found.error_code == listed.error_code == ErrorCode.NONE:
            return
    raise AssertionError("there is no coordinator")


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Target, Target]]:
    with both_running(tmp_path_factory.mktemp("groups"), PROPERTIES) as (ottla, kafka):
        yield Target(ottla), Target(kafka)


def compare(targets: tuple[Target, Target], script: Script, seed: int) -> None:
    ottla, kafka = (target.transcript(script, seed) for target in targets)
    for number, (ours, theirs) in enumerate(zip(ottla, kafka, strict=False)):
        assert ours == theirs, f"seed {seed}, line {number}"
    assert len(ottla) == len(kafka)


@pytest.mark.parametrize("script", PROTOCOLS)
@pytest.mark.parametrize("seed", range(SCRIPTS))
def test_both_say_the_same_to_a_script(targets: tuple[Target, Target], script: Script, seed: int) -> None:
    compare(targets, script, seed)


@pytest.mark.soak
@pytest.mark.parametrize("script", PROTOCOLS)
@pytest.mark.parametrize("first_seed", SOAK_SCRIPTS[::SOAK_BLOCK])
def test_both_say_the_same_to_many_scripts(targets: tuple[Target, Target], script: Script, first_seed: int) -> None:
    for seed in range(first_seed, first_seed + SOAK_BLOCK):
        compare(targets, script, seed)
