"""Raw scripts of the classic group protocol give the same answers and the same groups on Ottla and on Apache Kafka."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from compat_tests.group_scripts import OTHER_TOPIC, TOPIC, Script, response_of
from compat_tests.raw_requests import RawConnection
from compat_tests.side_by_side import Side, both_running
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.classic_groups import FindCoordinatorRequest
from ottla.wire.messages.group_admin import ListGroupsRequest
from ottla.wire.messages.topics import CreateTopicsRequest

pytestmark = pytest.mark.jvm

SCRIPTS = 50
STEPS = 25
MEMBERS = 2
# A first request to a coordinator makes its topic, which a busy machine takes its time for.
POLLS_MAX = 100_000


class Target:
    """A broker with the topics of the scripts, and its coordinator at work."""

    def __init__(self, side: Side) -> None:
        host, port = side.bootstrap.split(":")
        self.name = side.name
        self._address = host, int(port)
        with RawConnection(*self._address) as connection:
            self.topic_ids = {name: create_topic(connection, name) for name in (TOPIC, OTHER_TOPIC)}
            wait_for_coordinator(connection)

    def transcript(self, seed: int) -> list[str]:
        with contextlib.ExitStack() as stack:
            connections = [stack.enter_context(RawConnection(*self._address)) for _ in range(1 + MEMBERS)]
            return Script(seed, connections, self.topic_ids).run(STEPS)


def create_topic(connection: RawConnection, name: str) -> bytes:
    topic = CreateTopicsRequest.CreatableTopic(
        name=name, num_partitions=4, replication_factor=1, assignments=[], configs=[]
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
    with both_running(tmp_path_factory.mktemp("groups")) as (ottla, kafka):
        yield Target(ottla), Target(kafka)


@pytest.mark.parametrize("seed", range(SCRIPTS))
def test_both_say_the_same_to_a_script(targets: tuple[Target, Target], seed: int) -> None:
    ottla, kafka = (target.transcript(seed) for target in targets)
    for number, (ours, theirs) in enumerate(zip(ottla, kafka, strict=False)):
        assert ours == theirs, f"seed {seed}, line {number}"
    assert len(ottla) == len(kafka)
