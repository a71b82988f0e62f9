"""The client without trio, against brokers on sockets; and that it leaves no thread and no socket."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import trio

from ottla.client import offsets
from ottla.client.blocking import Client
from ottla.client.exchange import request_bytes
from ottla.client.failures import ConnectionLost
from ottla.client.metadata import TopicPartition
from ottla.client.offsets import LATEST
from ottla.client.produce import Produced
from ottla.client.settings import Settings
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.classic_groups import HeartbeatRequest, HeartbeatResponse
from ottla.wire.messages.fetch import FetchRequest
from ottla.wire.messages.metadata import MetadataRequest
from ottla.wire.messages.offsets_lookup import ListOffsetsRequest
from ottla.wire.messages.produce import ProduceRequest
from tests.client.stub_cluster import HANG_UP, SILENCE, TOPIC, StubBroker, listening, metadata
from tests.client.test_consume import END, serve
from tests.client.test_offsets import answering
from tests.client.test_produce import one_record, produced

BEAT = HeartbeatRequest(group_id="g", generation_id=0, member_id="m")
SECONDS_MAX = 60


@contextmanager
def serving() -> Iterator[StubBroker]:
    """A broker in a thread, on a socket; it has an answer to everything that is asked here."""
    broker = StubBroker()
    broker.on(HeartbeatRequest, HeartbeatResponse())
    broker.on(ProduceRequest, produced())
    broker.on(FetchRequest, serve)
    broker.on(ListOffsetsRequest, answering())
    started, stop = threading.Event(), trio.Event()
    tokens = []

    async def main() -> None:
        async with listening(broker):
            broker.on(MetadataRequest, metadata([broker], {0: 1}))
            tokens.append(trio.lowlevel.current_trio_token())
            started.set()
            await stop.wait()

    thread = threading.Thread(target=trio.run, args=(main,))
    thread.start()
    try:
        assert started.wait(SECONDS_MAX)
        yield broker
    finally:
        tokens[0].run_sync_soon(stop.set)
        thread.join()


@pytest.fixture
def broker() -> Iterator[StubBroker]:
    """Threads and descriptors are as before when a test is over."""
    gc.collect()
    threads, descriptors = set(threading.enumerate()), len(os.listdir("/dev/fd"))
    with serving() as running:
        yield running
    assert set(threading.enumerate()) == threads
    assert len(os.listdir("/dev/fd")) == descriptors


def test_everything_works_without_trio(broker: StubBroker) -> None:
    with Client(str(broker.address)) as client:
        assert client.metadata(TOPIC).leader(TopicPartition(TOPIC, 0)) == 1
        assert client.request(BEAT) == HeartbeatResponse()
        assert client.produce(TOPIC, 0, one_record()) == Produced(42, 7, 3)
        asked = {TopicPartition(TOPIC, 0): LATEST}
        assert client.list_offsets(asked)[TopicPartition(TOPIC, 0)].offset == 0
        assert client.call(offsets.list_offsets, asked) == client.list_offsets(asked)
        records = client.consume(TOPIC, 0, 2, end_offset=END)
        assert [record.value for record in records] == [b"c", b"d", b"e", b"f"]


def test_an_error_is_raised_where_it_is_asked(broker: StubBroker) -> None:
    broker.on(HeartbeatRequest, HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
    with Client([str(broker.address)]) as client, pytest.raises(KafkaError, match="Heartbeat: "):
        client.request(BEAT)


def test_a_reader_that_is_left_in_the_middle_leaves_nothing(broker: StubBroker) -> None:
    with Client(str(broker.address)) as client:
        records = client.consume(TOPIC, 0, 0)
        assert next(records).value == b"a"


def test_one_connection_takes_requests_at_any_version(broker: StubBroker) -> None:
    with Client(str(broker.address)) as client, client.connect(str(broker.address)) as connection:
        assert connection.request(BEAT) == HeartbeatResponse()
        assert connection.request(BEAT, 0) == HeartbeatResponse()
        assert connection.is_open
    assert not connection.is_open
    assert broker.versions_of(HeartbeatRequest) == [4, 0]


def test_a_frame_is_read_as_it_is(broker: StubBroker) -> None:
    broker.on(HeartbeatRequest, b"\0\0\0\3abc")
    with Client(str(broker.address)) as client, client.connect(broker.address) as connection:
        connection.send_raw(request_bytes(BEAT, 4, correlation_id=1, client_id=None))
        assert connection.read_frame() == b"abc"


def test_a_broker_that_hangs_up_is_a_lost_connection(broker: StubBroker) -> None:
    broker.on(HeartbeatRequest, HANG_UP)
    with Client(str(broker.address)) as client, client.connect(broker.address) as connection:
        with pytest.raises(ConnectionLost):
            connection.request(BEAT)
        assert not connection.is_open


def test_a_call_on_one_connection_takes_no_longer_than_it_may(broker: StubBroker) -> None:
    broker.on(HeartbeatRequest, SILENCE)
    with Client(str(broker.address)) as client, client.connect(broker.address) as connection:
        connection._settings = Settings(request_timeout_ms=20)  # only now: connecting may take its time
        with pytest.raises(KafkaError, match="not done within 20 ms") as raised:
            connection.request(BEAT)
        assert raised.value.code == ErrorCode.REQUEST_TIMED_OUT


def test_connections_that_nobody_closed_are_closed_with_the_client(broker: StubBroker) -> None:
    with Client(str(broker.address)) as client:
        forgotten = client.connect(broker.address)
        closed = client.connect(broker.address)
        closed.close()
        closed.close()
    assert not forgotten.is_open
    forgotten.close()


def test_an_error_in_the_block_closes_everything(broker: StubBroker) -> None:
    def interrupted() -> None:
        with Client(str(broker.address)) as client:
            client.request(BEAT)
            client.connect(broker.address)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
