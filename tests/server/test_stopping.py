"""A broker that stops answers what it has been asked so far, and every answer it gave is true."""

from __future__ import annotations

import signal
import socket
import struct
from pathlib import Path

import pytest
import trio
import trio.testing

from ottla.server import running_node
from ottla.server.connection import LINGER_SECONDS_MAX, OTHERS_SECONDS_MAX
from ottla.server.context import Context
from ottla.server.parking import Pending
from ottla.storage.clean_shutdown import FILE_NAME as CLEAN_MARKER
from ottla.wire.framing import FrameReader
from ottla.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.wire.messages.fetch import FetchRequest
from ottla.wire.messages.headers import ResponseHeader
from ottla.wire.messages.produce import ProduceRequest, ProduceResponse
from tests.server.node_process import a_node
from tests.server.test_connection import asking
from tests.server.test_node import create_topic as create_topic_of
from tests.server.test_node import running
from tests.server.test_node_process import TOPIC, a_client, all_values, create_topic
from tests.server.world import (
    FETCH,
    PRODUCE,
    Client,
    a_world,
    batch,
    by_test_clock,
    fetched,
    fetching,
    in_trio,
    pass_time,
    producing,
    until,
    values_of,
)

WAIT_MS = 3_600_000
IN_FLIGHT = 100


# A connection that finishes


@in_trio
async def test_what_has_come_before_the_stop_is_answered_and_then_comes_the_end(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = world.partition(flush_messages=1)
        connection, client = world.local_connection()
        # Some have been handled and wait for the disk, some lie in the socket, and the last has not come whole.
        await client.send(*[(producing(batch(b"%d" % number)), PRODUCE) for number in range(IN_FLIGHT)])
        world.nursery.start_soon(connection.serve)
        await trio.testing.wait_all_tasks_blocked()
        await client.send(*[(producing(batch(b"%d" % (IN_FLIGHT + number))), PRODUCE) for number in range(IN_FLIGHT)])
        await client.stream.send_all(client.encode(producing(batch(b"never")), PRODUCE)[:-1])
        connection.finish()
        connection.finish()
        # What comes after the stop is not handled any more.
        await client.send((producing(batch(b"too late")), PRODUCE))
        world.nursery.start_soon(world.broker.flusher.run)
        for number in range(2 * IN_FLIGHT):
            correlation_id, response = await client.receive(ProduceRequest, PRODUCE)
            assert correlation_id == number + 1
            assert response.responses[0].partition_responses[0].base_offset == number
        assert await client.is_cut_off()
        assert partition.log.end_offset == partition.log.recovery_point == 2 * IN_FLIGHT


@in_trio
async def test_a_fetch_that_waits_is_answered_at_once_and_so_is_one_that_comes_with_the_stop(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        partition = world.partition()
        world.append(partition, b"a")
        clients = [await world.connect() for _ in range(2)]
        await clients[0].send((fetching(1, wait_ms=WAIT_MS), FETCH))
        await until(lambda: bool(partition._watchers))
        world.broker.deadlines.end()
        await clients[1].send((fetching(0, min_bytes=1 << 20, wait_ms=WAIT_MS), FETCH))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(world.listener.finish)
            for client, expected in zip(clients, ([], [b"a"]), strict=True):
                _, response = await client.receive(FetchRequest, FETCH)
                assert values_of(fetched(response)[0].records) == expected
                assert await client.is_cut_off()


@by_test_clock
async def test_who_says_nothing_does_not_hold_up_the_stop_and_nobody_is_accepted_any_more(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        client = await world.connect()
        address = world.listener.address
        await pass_time(2)
        await world.listener.finish()
        assert await client.is_cut_off()
        assert not world.listener.connections
        with pytest.raises(OSError, match=r"Connection refused|all attempts to connect"):
            await trio.open_tcp_stream(*address)


@by_test_clock
async def test_who_does_not_close_his_end_is_waited_for_a_little(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.partition()
        client = await world.connect()
        assert (await client.produce()).error_code == 0
        world.nursery.start_soon(world.listener.finish)
        await trio.testing.wait_all_tasks_blocked()
        assert len(world.listener.connections) == 1
        await client.stream.send_all(b"anything")
        await trio.testing.wait_all_tasks_blocked()
        assert not await client.stream.receive_some(1)  # the end of what the broker says, not a reset
        await pass_time(1.1)
        assert not world.listener.connections


@by_test_clock
async def test_answers_that_others_would_have_to_complete_are_waited_for_a_little(tmp_path: Path) -> None:
    parked: list[Pending] = []

    def handler(context: Context, request: ApiVersionsRequest) -> Pending:
        parked.append(Pending(stops_line=True))
        return parked[-1]

    async with a_world(tmp_path, routes=asking(handler), serves=False) as world:
        clients = []
        for _ in range(2):
            connection, client = world.local_connection()
            world.nursery.start_soon(connection.serve)
            await client.send((ApiVersionsRequest(), 0))
            await trio.testing.wait_all_tasks_blocked()
            connection.finish()
            clients.append(client)
        await trio.testing.wait_all_tasks_blocked()
        parked[0].complete(ApiVersionsResponse(api_keys=[]))
        world.broker.send_answers()
        assert (await clients[0].receive(ApiVersionsRequest, 0))[0] == 1
        await pass_time(OTHERS_SECONDS_MAX)
        assert await clients[1].is_cut_off()
        await pass_time(LINGER_SECONDS_MAX)
        assert parked[1].is_complete  # given up


# A node that stops


@in_trio
async def test_a_client_that_does_not_read_cannot_hold_up_the_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(running_node, "DRAIN_SECONDS_MAX", 0.05)
    async with running(tmp_path) as node:
        await create_topic_of(node)
        stream = await trio.open_tcp_stream("127.0.0.1", node.bound[0].port)
        client = Client(stream)
        await client.produce(bytes(900_000))
        with trio.move_on_after(0.2):
            await client.send(*[(fetching(), FETCH)] * 1000)
    assert "1 connections are cut off: they did not take their answers in time" in caplog.text
    assert (tmp_path / CLEAN_MARKER).exists()
    await stream.aclose()


@in_trio
async def test_a_node_that_stops_is_not_ready_and_says_so(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        assert node.unreadiness() == []
    assert node.unreadiness() == ["the node is stopping"]


class Flood:
    """A producer on a bare socket that keeps so many requests in flight, until the broker closes."""

    def __init__(self, address: str) -> None:
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=60)
        self.encoder = Client.__new__(Client)
        self.encoder.correlation_id = 0
        self.answered: list[int] = []
        self.reader = FrameReader(1 << 20)

    def send(self) -> None:
        request = producing(batch(b"%d" % self.encoder.correlation_id), topic=TOPIC)
        self.socket.sendall(Client.encode(self.encoder, request, PRODUCE))

    def receive(self) -> int:
        """How many answers have come; 0 at the end."""
        while True:
            data = self.socket.recv(1 << 16)
            if not data:
                return 0
            self.reader.receive_data(data)
            frames = [bytes(frame.data[frame.start : frame.end]) for frame in self.reader.frames()]
            for frame in frames:
                _, position = ResponseHeader.read(frame, 1)
                part = ProduceResponse.decode(frame, PRODUCE, position).responses[0].partition_responses[0]
                assert part.error_code == 0, part
                assert struct.unpack_from(">i", frame)[0] == part.base_offset + 1
                self.answered.append(part.base_offset)
            if frames:
                return len(frames)


def test_with_a_hundred_requests_in_flight_every_answer_before_the_stop_is_true(tmp_path: Path) -> None:
    with a_node(tmp_path) as node:
        with a_client(node) as client:
            create_topic(client, flush_messages="1")  # so that some are always waiting for the disk
        flood = Flood(node.address)
        with flood.socket:
            for _ in range(IN_FLIGHT):
                flood.send()
            is_told = False
            while count := flood.receive():
                # Who goes on sending is reset some day, and loses answers that were on their way: not this client.
                if len(flood.answered) > 5 * IN_FLIGHT and not is_told:
                    is_told = True
                    node.send(signal.SIGTERM)
                for _ in range(0 if is_told else count):
                    flood.send()
        assert node.exit_status() == 0, node.printed
        assert not any("Traceback" in line for line in node.printed), node.printed
    assert (tmp_path / CLEAN_MARKER).exists()
    with a_node(tmp_path) as node:
        found = all_values(node)
    # In order, none twice, none missing; and as nothing was handled that was not answered, none too many.
    assert flood.answered == list(range(len(flood.answered)))
    assert found == [b"%d" % number for number in flood.answered]
