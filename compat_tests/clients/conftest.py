"""The brokers and the clients: every test here runs on Ottla and on Apache Kafka, so each expectation is proven.

One broker of each kind serves all tests of a run; a test has topics of its own. Tests that take `face` run once for
each client, those that take `admin_face` once for each that can administer.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Protocol

import pytest

from compat_tests.clients import kcat_face
from compat_tests.clients.aiokafka_face import Aiokafka, AiokafkaAdmin
from compat_tests.clients.confluent_face import Confluent, ConfluentAdmin
from compat_tests.clients.kafka_python_face import KafkaPython, KafkaPythonAdmin
from compat_tests.clients.kcat_face import Kcat
from compat_tests.clients.records import AdminFace, Face
from compat_tests.clients.waiting import eventually
from compat_tests.side_by_side import KafkaSide, OttlaSide, Side, held_port

SIDES = {"ottla": OttlaSide, "kafka": KafkaSide}
FACES = {face.name: face for face in (KafkaPython, Confluent, Aiokafka, Kcat)}
ADMINS = {face.name: face for face in (KafkaPythonAdmin, ConfluentAdmin, AiokafkaAdmin)}
AUTO_CREATED_PARTITIONS = 3
PROPERTIES = {"auto.create.topics.enable": "true", "num.partitions": str(AUTO_CREATED_PARTITIONS)}


class MakeTopic(Protocol):
    def __call__(self, partitions: int = 1, configs: Mapping[str, str] | None = None) -> str: ...


@pytest.fixture(scope="session", params=["ottla", pytest.param("kafka", marks=pytest.mark.jvm)])
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Side]:
    directory = tmp_path_factory.mktemp("clients") / request.param
    with contextlib.ExitStack() as stack:
        ports = [stack.enter_context(held_port()) for _ in range(2)]
        side = SIDES[request.param](directory, ports, PROPERTIES)
        stack.callback(side.close)
        side.start()
        yield side


@pytest.fixture(scope="session")
def admin(broker: Side) -> ConfluentAdmin:
    """The client by which tests prepare what they need."""
    return ConfluentAdmin(broker.bootstrap)


@pytest.fixture
def new_name(request: pytest.FixtureRequest) -> Iterator[str]:
    """Names of topics that do not exist, told by the test they are for."""
    stem = re.sub(r"[^a-zA-Z0-9]+", "-", request.node.name).strip("-")[:150]
    return (f"{stem}.{number}" for number in itertools.count(1))


@pytest.fixture
def make_topic(admin: ConfluentAdmin, new_name: Iterator[str]) -> MakeTopic:
    def make(partitions: int = 1, configs: Mapping[str, str] | None = None) -> str:
        topic = next(new_name)
        admin.create_topic(topic, partitions, configs)
        wait_until_known(admin, topic)
        return topic

    return make


def wait_until_known(admin: ConfluentAdmin, topic: str) -> None:
    eventually(lambda: topic in admin.topics(), expected=True)


def face_for(name: str, broker: Side) -> Face:
    if name == Kcat.name and not kcat_face.is_installed():
        pytest.skip("kcat is not installed (Debian: kcat)")
    return FACES[name](broker.bootstrap)


@pytest.fixture(params=FACES)
def face(request: pytest.FixtureRequest, broker: Side) -> Face:
    """Each of the clients in turn."""
    return face_for(request.param, broker)


@pytest.fixture
def faces(broker: Side) -> list[Face]:
    """All clients that are there at once; tests of its own tell when kcat is not."""
    return [face(broker.bootstrap) for face in FACES.values() if face is not Kcat or kcat_face.is_installed()]


@pytest.fixture
def python_faces(broker: Side) -> list[Face]:
    """All clients that are Python libraries, which can say more than a command line."""
    return [KafkaPython(broker.bootstrap), Confluent(broker.bootstrap), Aiokafka(broker.bootstrap)]


@pytest.fixture(params=ADMINS)
def admin_face(request: pytest.FixtureRequest, broker: Side) -> Iterator[AdminFace]:
    """Each of the clients that can administer in turn."""
    client = ADMINS[request.param](broker.bootstrap)
    yield client
    client.close()


@pytest.fixture
def kafka_python(broker: Side) -> KafkaPython:
    return KafkaPython(broker.bootstrap)


@pytest.fixture
def kafka_python_admin(broker: Side) -> Iterator[KafkaPythonAdmin]:
    client = KafkaPythonAdmin(broker.bootstrap)
    yield client
    client.close()


@pytest.fixture
def confluent(broker: Side) -> Confluent:
    return Confluent(broker.bootstrap)


@pytest.fixture
def aiokafka(broker: Side) -> Aiokafka:
    return Aiokafka(broker.bootstrap)


@pytest.fixture
def kcat(broker: Side) -> Kcat:
    face = face_for(Kcat.name, broker)
    assert isinstance(face, Kcat)
    return face
