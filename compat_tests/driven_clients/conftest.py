"""Clients as processes: every test runs once for each client that can do it, on Ottla and on Apache Kafka.

One broker of each kind serves all tests of a run, and one driver of each client all that is not about groups; a member
of a group is a process of its own. Tests have topics and groups of their own.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import re
from collections.abc import Callable, Iterator

import pytest

from compat_tests.clients.waiting import eventually
from compat_tests.driven_clients.driver import EARLIEST, Driver, Refused
from compat_tests.driven_clients.programs import CLIENTS, Client, ToolMissing
from compat_tests.side_by_side import KafkaSide, OttlaSide, Side, held_port
from ottla.client import blocking
from ottla.client.configs import Resource, ResourceType, alter_configs

SIDES = {"ottla": OttlaSide, "kafka": KafkaSide}
# Members that die are missed after this long, those that live have ample time.
SHORT_SESSION_MS = 1500
LONG_SESSION_MS = 60_000
# In the new protocol a session is the group's, so those that live have no more time than those that die.
SHORT_GROUP_SESSION_MS = 3000
PROPERTIES = {
    "group.min.session.timeout.ms": str(SHORT_SESSION_MS),
    "group.consumer.min.session.timeout.ms": str(SHORT_GROUP_SESSION_MS),
    "group.consumer.session.timeout.ms": str(LONG_SESSION_MS),
    "group.consumer.min.heartbeat.interval.ms": "200",
    "group.consumer.heartbeat.interval.ms": "200",
    "group.consumer.min.assignment.interval.ms": "0",
    "group.consumer.assignment.interval.ms": "0",
}

MakeTopic = Callable[[int], str]
NewName = Callable[[], str]
StartDriver = Callable[[], Driver]


@pytest.fixture(scope="session")
def stack() -> Iterator[contextlib.ExitStack]:
    """What ends with the run: brokers and drivers, in whatever order the tests came to need them."""
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture(scope="session")
def side(stack: contextlib.ExitStack, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Side]:
    @functools.cache
    def start(name: str) -> Side:
        ports = [stack.enter_context(held_port()) for _ in range(2)]
        side = SIDES[name](tmp_path_factory.mktemp("driven-clients") / name, ports, PROPERTIES)
        stack.callback(side.close)
        side.start()
        return side

    return start


@pytest.fixture(params=["ottla", pytest.param("kafka", marks=pytest.mark.jvm)])
def broker(request: pytest.FixtureRequest, side: Callable[[str], Side]) -> Side:
    return side(request.param)


@pytest.fixture(params=[client for client in CLIENTS if not client.is_for_groups_only], ids=lambda client: client.name)
def client(request: pytest.FixtureRequest) -> Client:
    found: Client = request.param
    return found


@pytest.fixture
def protocol(request: pytest.FixtureRequest) -> str:
    """How the members of the test's group share; see ways.py."""
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def only_driver(stack: contextlib.ExitStack) -> Callable[[Client, Side], Driver]:
    @functools.cache
    def start(client: Client, side: Side) -> Driver:
        driver = started(client, side)
        stack.callback(driver.close)
        return driver

    return start


@pytest.fixture
def driver(client: Client, broker: Side, only_driver: Callable[[Client, Side], Driver]) -> Driver:
    """The client, as far as it is no member of a group: one process for all tests."""
    return only_driver(client, broker)


def started(client: Client, broker: Side) -> Driver:
    try:
        command = client.command()
    except ToolMissing as missing:
        pytest.skip(str(missing))
    return Driver(command, broker.bootstrap)


@pytest.fixture
def start_driver(client: Client, broker: Side) -> Iterator[StartDriver]:
    """More processes of the same client, each of which may be killed."""
    with contextlib.ExitStack() as stack:

        def start() -> Driver:
            driver = started(client, broker)
            stack.callback(driver.close)
            return driver

        yield start


@pytest.fixture
def new_name(request: pytest.FixtureRequest) -> NewName:
    """Names of topics and groups that do not exist, told by the test they are for."""
    stem = re.sub(r"[^a-zA-Z0-9]+", "-", request.node.name).strip("-")[:150]
    numbers = itertools.count(1)
    return lambda: f"{stem}.{next(numbers)}"


@pytest.fixture
def impatient_group(broker: Side, new_name: NewName) -> str:
    """The name of a group that misses members of the new protocol soon; in the classic one it is up to the member."""
    group = new_name()
    with blocking.Client(broker.bootstrap) as client:
        changes = {"consumer.session.timeout.ms": str(SHORT_GROUP_SESSION_MS)}
        client.call(alter_configs, Resource(ResourceType.GROUP, group), changes)
    return group


@pytest.fixture
def make_topic(driver: Driver, new_name: NewName) -> MakeTopic:
    def make(partitions: int = 1) -> str:
        topic = new_name()
        driver.ask("create_topic", topic=topic, partitions=partitions)
        wait_until_known(driver, topic, partitions)
        return topic

    return make


def wait_until_known(driver: Driver, topic: str, partitions: int) -> None:
    """Kafka tells of a topic a little before it serves it, and kafkajs would write some records twice in between."""
    eventually(lambda: partitions_known(driver, topic), expected=partitions)
    for partition in range(partitions):
        eventually(functools.partial(is_served, driver, topic, partition), expected=True)


def partitions_known(driver: Driver, topic: str) -> int:
    """How many partitions the broker tells, none while it has not heard of the topic."""
    try:
        return int(driver.ask("describe_topic", topic=topic)["partitions"])
    except Refused:
        return 0


def is_served(driver: Driver, topic: str, partition: int) -> bool:
    try:
        return bool(driver.ask("offset_at", topic=topic, partition=partition, timestamp=EARLIEST) == 0)
    except Refused:
        return False
