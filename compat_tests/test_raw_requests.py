"""The small client that raw requests go through says what real clients say, byte for byte.

What kafka-python, librdkafka and Java's console clients send is recorded on its way to a broker. Read by our codecs and
written again by the function that raw requests are framed by, each request must come out as it was sent.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compat_tests.clients.confluent_face import Confluent, ConfluentAdmin
from compat_tests.clients.kafka_python_face import KafkaPython, KafkaPythonAdmin
from compat_tests.clients.records import Producing, Sent
from compat_tests.raw_requests import RawConnection, framed
from compat_tests.recording_proxy import HOST, RecordingProxy, recording
from compat_tests.targets import opened
from ottla.wire.api_keys import ApiKey
from ottla.wire.messages import request_type
from ottla.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.wire.messages.headers import RequestHeader, request_header_version
from tests import jvm

TOPIC = "recorded"
# What each client must have sent, so that no test passes for want of requests.
TRAFFIC = {ApiKey.API_VERSIONS, ApiKey.METADATA, ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.LIST_OFFSETS}
RECORDS = [Sent(b"one", key=b"k", headers=(("h", b"1"),)), Sent(None, key=b"k"), Sent(b"three")]


@pytest.fixture(scope="module")
def broker_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with opened("ottla", tmp_path_factory.mktemp("broker")) as place:
        ConfluentAdmin(place.bootstrap).create_topic(TOPIC, 1)
        yield place.address[1]


def said_again(frame: bytes) -> tuple[ApiKey, bytes]:
    """A recorded request, read and written again."""
    key, version = ApiKey(int.from_bytes(frame[4:6], "big")), int.from_bytes(frame[6:8], "big")
    kind = request_type(key)
    header, start = RequestHeader.read(frame, request_header_version(kind, version), 4)
    request = kind.decode(frame, version, start)
    assert not request.unknown_tags
    return key, framed(request, version, header.correlation_id, header.client_id)


def check(frames: list[bytes], wanted: set[ApiKey]) -> None:
    seen = set()
    for frame in frames:
        key, ours = said_again(frame)
        assert ours == frame, key.name
        seen.add(key)
    assert wanted <= seen


def test_the_proxy_records_what_was_sent(broker_port: int) -> None:
    with recording(broker_port) as proxy:
        with RawConnection(HOST, proxy.port, client_id="recorded") as connection:
            connection.send(ApiVersionsRequest(), ApiVersionsResponse, 0)
        assert proxy.frames == [framed(ApiVersionsRequest(), 0, 1, "recorded")]


def by_kafka_python(proxy: RecordingProxy) -> None:
    client = KafkaPython(proxy.bootstrap)
    client.produce(TOPIC, RECORDS, Producing(codec="gzip"))
    client.read(TOPIC, {0: 0}, len(RECORDS))
    client.latest(TOPIC, 0)
    admin = KafkaPythonAdmin(proxy.bootstrap)
    admin.configs(TOPIC)
    admin.close()


def by_confluent(proxy: RecordingProxy) -> None:
    client = Confluent(proxy.bootstrap)
    client.produce(TOPIC, RECORDS, Producing(codec="lz4", is_idempotent=True))
    client.read(TOPIC, {0: 0}, len(RECORDS))
    client.latest(TOPIC, 0)
    ConfluentAdmin(proxy.bootstrap).configs(TOPIC)


@pytest.mark.parametrize(
    ("use", "more"),
    [
        pytest.param(by_kafka_python, {ApiKey.DESCRIBE_CONFIGS}, id="kafka-python"),
        pytest.param(by_confluent, {ApiKey.DESCRIBE_CONFIGS, ApiKey.INIT_PRODUCER_ID}, id="librdkafka"),
    ],
)
def test_our_bytes_are_theirs(broker_port: int, use: Callable[[RecordingProxy], None], more: set[ApiKey]) -> None:
    with recording(broker_port) as proxy:
        use(proxy)
    check(proxy.frames, TRAFFIC | more)


@pytest.mark.jvm
def test_our_bytes_are_javas(broker_port: int, tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    lines.write_text("one\ntwo\n", encoding="utf-8")
    with recording(broker_port) as proxy:
        there = ("--bootstrap-server", proxy.bootstrap, "--topic", TOPIC)
        with lines.open("rb") as standard_input:
            run_tool("org.apache.kafka.tools.ConsoleProducer", *there, standard_input=standard_input)
        consumer = ("--from-beginning", "--max-messages", "2", "--group", "recorded-group")
        run_tool("org.apache.kafka.tools.consumer.ConsoleConsumer", *there, *consumer)
    groups = {ApiKey.FIND_COORDINATOR, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.OFFSET_FETCH, ApiKey.LEAVE_GROUP}
    check(proxy.frames, (TRAFFIC - {ApiKey.LIST_OFFSETS}) | groups)


def run_tool(main_class: str, *words: str, standard_input: object = subprocess.DEVNULL) -> None:
    command = [jvm.program("java"), "-XX:TieredStopAtLevel=1", "-cp", jvm.kafka_classpath(), main_class, *words]
    done = subprocess.run(command, stdin=standard_input, capture_output=True, text=True, timeout=240, check=False)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stdout + done.stderr
