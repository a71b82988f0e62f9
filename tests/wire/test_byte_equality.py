"""Our bytes are Kafka's bytes, for every message at every version, in both directions.

A harness in Java runs Kafka's own generated classes: kafka-clients 4.4 for requests, responses, headers and control
records, the jars of a 4.3 broker for what only brokers store. Each value is compared three ways:

1. ours as JSON, read and written by Kafka, gives the bytes that we write;
2. our bytes, read and written again by Kafka, stay as they are, and Kafka's JSON of them is ours;
3. Kafka's bytes, read and written again here, stay as they are.

Unknown tagged fields have no JSON, so they go through 2 and 3 only.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen
from typing import Any, NamedTuple

import pytest

from ottla.wire.catalog import messages
from ottla.wire.json_form import to_json
from ottla.wire.schema import Message, Request, Struct, field, int64
from tests import jvm
from tests.wire.referees import VALUES_PER_VERSION, every_version, is_known_to_clients
from tests.wire.values import Shape, random_message, shapes

pytestmark = pytest.mark.jvm

UNKNOWN_TAG_VALUES = 10
SEED = 20261116

SOURCE = Path(__file__).parent / "java" / "MessageHarness.java"
CLIENT_PACKAGES = ("org.apache.kafka.common.message",)
STORED_PACKAGES = (
    "org.apache.kafka.common.metadata",
    "org.apache.kafka.coordinator.group.generated",
    "org.apache.kafka.coordinator.transaction.generated",
    "org.apache.kafka.coordinator.share.generated",
    "org.apache.kafka.raft.generated",
)


class Harness:
    """A running MessageHarness: questions in, answers out, a whole batch at a time."""

    def __init__(self, process: Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.stdin, self.stdout = process.stdin, process.stdout

    def ask(self, questions: Sequence[str]) -> list[str]:
        self.stdin.write("\n".join([*questions, "", ""]))
        self.stdin.flush()
        answers = [self.stdout.readline() for _ in questions]
        assert all(answers), "the harness has ended; its last words are on stderr"
        return [answer.rstrip("\n") for answer in answers]


@contextmanager
def running(classpath: str, packages: Sequence[str]) -> Iterator[Harness]:
    classes = jvm.compile_java(SOURCE, classpath)
    with jvm.java(f"{classes}:{classpath}", "MessageHarness", *packages) as process:
        try:
            yield Harness(process)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def clients() -> Iterator[Harness]:
    with running(jvm.kafka_clients_classpath(), CLIENT_PACKAGES) as harness:
        yield harness


@pytest.fixture(scope="module")
def brokers() -> Iterator[Harness]:
    with running(jvm.kafka_classpath(), STORED_PACKAGES) as harness:
        yield harness


class Case(NamedTuple):
    """One value, and the line that makes it again."""

    value: Message
    version: int
    seed: str
    shape: Shape
    unknown_tags: bool

    def __str__(self) -> str:
        draw = f"random_message({type(self.value).__name__}, {self.version}, random.Random({self.seed!r})"
        return f"{draw}, shape={self.shape}, unknown_tags={self.unknown_tags})"


def cases(message: type[Message], version: int) -> Iterator[Case]:
    for index, shape in enumerate(shapes(VALUES_PER_VERSION)):
        seed = f"{SEED} {message.__name__} {version} {index}"
        tags = version in message.flexible and index >= VALUES_PER_VERSION - UNKNOWN_TAG_VALUES
        value = random_message(message, version, random.Random(seed), shape=shape, unknown_tags=tags)
        yield Case(value, version, seed, shape, tags)


def compare(harness: Harness, message: type[Message]) -> set[int]:
    """Compare every version of a message; return the versions that were compared."""
    compared = [case for version in every_version(message) for case in cases(message, version)]
    written = [case.value.encode(case.version) for case in compared]
    from_json = iter(harness.ask([json_question(case) for case in compared if not case.unknown_tags]))
    from_bytes = harness.ask([bytes_question(case, data) for case, data in zip(compared, written, strict=True)])
    for case, ours, answer in zip(compared, written, from_bytes, strict=True):
        if not case.unknown_tags:
            check(case, "from our JSON", next(from_json), base64.b64encode(ours).decode())
        kafka_base64, _, kafka_json = answer.partition("\t")
        check(case, "from our bytes", kafka_base64, base64.b64encode(ours).decode())
        read_here = message.decode(base64.b64decode(kafka_base64), case.version)
        check(case, "written again here", read_here.encode(case.version), ours)
        without_records(read_here)
        check(case, "as JSON", canonical(json.loads(kafka_json)), canonical(to_json(read_here, case.version)))
    return {case.version for case in compared}


def check(case: Case, way: str, kafka: object, ours: object) -> None:
    assert kafka == ours, f"{way}: Kafka {kafka!r:.2000}, ours {ours!r:.2000}\nreproduce: {case}"


def json_question(case: Case) -> str:
    return f"json\t{type(case.value).__name__}\t{case.version}\t{json.dumps(to_json(case.value, case.version))}"


def bytes_question(case: Case, data: bytes) -> str:
    return f"bytes\t{type(case.value).__name__}\t{case.version}\t{base64.b64encode(data).decode()}"


def canonical(value: Any) -> str:
    """Text that tells 0 from 0.0 and False, and -0.0 from 0.0, and in which NaN is itself."""
    return json.dumps(value, sort_keys=True)


def without_records(value: Struct) -> None:
    """Empty all `records`, for so Kafka shows them in JSON; their bytes were compared with the others."""
    for declared in type(value).fields:
        held = getattr(value, declared.name)
        if declared.annotation.startswith("Records") and held is not None:
            setattr(value, declared.name, b"")
        for inner in held if isinstance(held, list) else [held]:
            if isinstance(inner, Struct):
                without_records(inner)


# -- the tests --------------------------------------------------------------------------------------------------------

KNOWN_TO_CLIENTS = [message for message in messages().values() if is_known_to_clients(message)]
KNOWN_TO_BROKERS = [message for message in messages().values() if not is_known_to_clients(message)]


@pytest.mark.parametrize("message", KNOWN_TO_CLIENTS, ids=lambda message: message.__name__)
def test_bytes_are_those_of_kafka_clients(clients: Harness, message: type[Message]) -> None:
    assert compare(clients, message) == set(every_version(message))


@pytest.mark.parametrize("message", KNOWN_TO_BROKERS, ids=lambda message: message.__name__)
def test_bytes_are_those_of_a_broker(brokers: Harness, message: type[Message]) -> None:
    assert compare(brokers, message) == set(every_version(message))


def test_no_message_and_no_version_is_left_out() -> None:
    compared = [
        (message, version) for message in KNOWN_TO_CLIENTS + KNOWN_TO_BROKERS for version in every_version(message)
    ]
    assert len(KNOWN_TO_CLIENTS) + len(KNOWN_TO_BROKERS) == len(messages()) == 272
    assert len(compared) == len(set(compared)) == 738
    assert {message.__name__ for message in KNOWN_TO_BROKERS} == set(jvm.kafka_stored_definitions())


def test_every_version_is_compared_at_fifty_values_and_flexible_ones_with_unknown_tags() -> None:
    for message in messages().values():
        for version in every_version(message):
            drawn = list(cases(message, version))
            assert len(drawn) == 50
            assert {case.shape for case in drawn} == set(Shape)
            assert sum(bool(case.value.unknown_tags) for case in drawn) == 10 * (version in message.flexible)


class HeartbeatRequest(Request, api_key=12, versions="0-4", flexible="4+"):
    """Kafka's, but for the width of one number."""

    group_id: str
    generation_id: int64
    member_id: str
    group_instance_id: str | None = field("3+", default=None)


def test_a_wrong_declaration_is_found_and_the_value_is_named(clients: Harness) -> None:
    with pytest.raises(AssertionError, match=r"reproduce: random_message\(HeartbeatRequest, 0, random.Random\('"):
        compare(clients, HeartbeatRequest)


def test_an_error_in_java_is_an_answer(clients: Harness) -> None:
    answers = clients.ask(["bytes\tHeartbeatRequest\t0\tAAAA", "json\tNoSuchMessage\t0\t{}"])
    assert [answer[0] for answer in answers] == ["!", "!"]
