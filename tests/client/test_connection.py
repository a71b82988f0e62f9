"""One connection: versions, pipelining, and what happens when the other side or the caller lets go."""

from __future__ import annotations

import gc
from collections.abc import Callable
from random import Random

import pytest
import trio
import trio.testing

from ottla.client import connection as connection_module
from ottla.client.addresses import Address
from ottla.client.connection import CORRELATION_ID_MAX, LINE_LENGTH_MAX, Connection, connect, open_tcp
from ottla.client.exchange import request_bytes
from ottla.client.failures import ConnectionLost, MalformedAnswer
from ottla.client.settings import Settings
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.wire.messages.classic_groups import HeartbeatRequest, HeartbeatResponse
from ottla.wire.messages.produce import ProduceRequest, ProduceResponse
from ottla.wire.schema import Versions
from tests.client.stub_cluster import HANG_UP, SILENCE, StubBroker, in_trio, listening, network, response_bytes

SETTINGS = Settings(frame_bytes_max=10_000)


def beat(generation_id: int = 0) -> HeartbeatRequest:
    return HeartbeatRequest(group_id="g", generation_id=generation_id, member_id="m")


def echo(request: HeartbeatRequest) -> HeartbeatResponse:
    return HeartbeatResponse(throttle_time_ms=request.generation_id)


class Wire:
    """A connection whose other end is the test itself."""

    def __init__(self, settings: Settings = SETTINGS) -> None:
        ours, self.peer = trio.testing.memory_stream_pair()
        self.connection = Connection(ours, "peer", settings)

    async def answer(self, *correlation_ids: int) -> None:
        """Answers to heartbeats, all in one piece; each carries its correlation id as its throttle time."""
        pieces = [response_bytes(HeartbeatResponse(throttle_time_ms=number), 4, number) for number in correlation_ids]
        await self.peer.send_all(b"".join(pieces))


async def ask(wire: Wire, answers: dict[str, int], name: str) -> None:
    response: HeartbeatResponse = await wire.connection.request(beat(), 4)
    answers[name] = response.throttle_time_ms


# Versions


@in_trio
async def test_the_highest_shared_version_is_used_and_negotiated_once() -> None:
    broker = StubBroker(versions={HeartbeatRequest: (0, 3)})
    broker.on(HeartbeatRequest, echo)
    async with network(broker) as net, await connect(broker.address, SETTINGS, net.open_stream) as connection:
        for _ in range(2):
            await connection.request(beat())
        await connection.request(beat(), within=Versions(0, 2))
    assert broker.versions_of(HeartbeatRequest) == [3, 3, 2]
    assert broker.versions_of(ApiVersionsRequest) == [ApiVersionsRequest.versions.high]
    (hello,) = broker.requests(ApiVersionsRequest)
    assert hello.client_software_name == "ottla"
    assert broker.received[0][0].client_id == "ottla"


@in_trio
async def test_two_who_ask_at_once_negotiate_once() -> None:
    broker = StubBroker()
    broker.on(HeartbeatRequest, echo)
    async with (
        network(broker) as net,
        await connect(broker.address, SETTINGS, net.open_stream) as connection,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(connection.request, beat())
        nursery.start_soon(connection.request, beat())
    assert len(broker.requests(ApiVersionsRequest)) == 1
    assert len(broker.requests(HeartbeatRequest)) == 2


@pytest.mark.parametrize(("named", "tried"), [([(18, 0, 3)], 3), ([], 0)])
def test_a_broker_that_refuses_our_api_versions_is_asked_in_its_own(
    named: list[tuple[int, int, int]], tried: int
) -> None:
    @in_trio
    async def story() -> None:
        broker = StubBroker()
        listed = [
            ApiVersionsResponse.ApiVersion(api_key=key, min_version=low, max_version=high) for key, low, high in named
        ]
        refusal = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=listed)
        broker.on(ApiVersionsRequest, lambda request: response_bytes(refusal, 0, 1), broker.api_versions())
        broker.on(HeartbeatRequest, echo)
        async with network(broker) as net, await connect(broker.address, SETTINGS, net.open_stream) as connection:
            await connection.request(beat())
        assert broker.versions_of(ApiVersionsRequest) == [ApiVersionsRequest.versions.high, tried]

    story()


@in_trio
async def test_api_versions_with_an_error_is_an_error() -> None:
    broker = StubBroker()
    broker.on(ApiVersionsRequest, ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST, api_keys=[]))
    async with network(broker) as net, await connect(broker.address, SETTINGS, net.open_stream) as connection:
        with pytest.raises(KafkaError, match="broker1:9092 refuses ApiVersions") as raised:
            await connection.negotiated()
    assert raised.value.code == ErrorCode.INVALID_REQUEST


@in_trio
async def test_a_given_version_needs_no_negotiation() -> None:
    broker = StubBroker()
    broker.on(HeartbeatRequest, echo)
    async with network(broker) as net, await connect(broker.address, None, net.open_stream) as connection:
        for version in range(5):
            response = await connection.request(beat(), version)
            assert response == HeartbeatResponse()
    assert broker.versions_of(HeartbeatRequest) == [0, 1, 2, 3, 4]
    assert broker.requests(ApiVersionsRequest) == []


# Pipelining


@in_trio
async def test_requests_are_pipelined_and_each_gets_its_own_answer() -> None:
    wire, answers = Wire(), dict[str, int]()
    async with wire.connection, trio.open_nursery() as nursery:
        for name in "abc":
            nursery.start_soon(ask, wire, answers, name)
            await trio.testing.wait_all_tasks_blocked()
        assert len(await wire.peer.receive_some()) == 3 * len(
            request_bytes(beat(), 4, correlation_id=1, client_id="ottla")
        )
        await wire.answer(1)
        await trio.testing.wait_all_tasks_blocked()
        assert answers == {"a": 1}
        await wire.answer(2, 3)
    assert answers == {"a": 1, "b": 2, "c": 3}


@in_trio
async def test_whoever_receives_hands_on_when_it_is_cancelled_and_its_answer_is_dropped() -> None:
    wire, answers, scope = Wire(), dict[str, int](), trio.CancelScope()

    async def give_up() -> None:
        with scope:
            await ask(wire, answers, "a")

    async with wire.connection, trio.open_nursery() as nursery:
        nursery.start_soon(give_up)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(ask, wire, answers, "b")
        await trio.testing.wait_all_tasks_blocked()
        scope.cancel()
        await trio.testing.wait_all_tasks_blocked()
        await wire.answer(1, 2)
    assert answers == {"b": 2}
    assert scope.cancelled_caught


@in_trio
async def test_one_who_waits_behind_another_may_leave_without_disturbing_it() -> None:
    wire, answers, scope = Wire(), dict[str, int](), trio.CancelScope()

    async def give_up() -> None:
        with scope:
            await ask(wire, answers, "b")

    async with wire.connection, trio.open_nursery() as nursery:
        for task in (lambda: ask(wire, answers, "a"), give_up, lambda: ask(wire, answers, "c")):
            nursery.start_soon(task)
            await trio.testing.wait_all_tasks_blocked()
        scope.cancel()
        await trio.testing.wait_all_tasks_blocked()
        await wire.answer(1)
        await trio.testing.wait_all_tasks_blocked()
        await wire.answer(2, 3)
    assert answers == {"a": 1, "c": 3}


@in_trio
async def test_a_timeout_is_a_cancel_scope_and_the_connection_lives_on() -> None:
    wire, answers = Wire(), dict[str, int]()
    async with wire.connection, trio.open_nursery() as nursery:
        with pytest.raises(trio.TooSlowError), trio.fail_after(30):
            await wire.connection.request(beat(), 4)
        nursery.start_soon(ask, wire, answers, "later")
        await trio.testing.wait_all_tasks_blocked()
        await wire.answer(1, 2)
    assert answers == {"later": 2}


def test_random_histories_of_callers_give_each_its_own_answer_or_none() -> None:
    for seed in range(60):
        run_history(seed)


@in_trio
async def run_history(seed: int) -> None:
    random = Random(seed)
    wire, answers = Wire(), dict[str, int]()
    scopes = [trio.CancelScope() for _ in range(8)]
    gone = set(random.sample(range(8), 3))

    async def caller(index: int) -> None:
        with scopes[index]:
            await ask(wire, answers, str(index + 1))

    events: list[Callable[[], None]] = [scopes[index].cancel for index in gone]
    async with wire.connection, trio.open_nursery() as nursery:
        for index in range(8):
            nursery.start_soon(caller, index)
            await trio.testing.wait_all_tasks_blocked()
        data = b"".join(response_bytes(HeartbeatResponse(throttle_time_ms=number), 4, number) for number in range(1, 9))
        while data or events:
            if events and random.random() < 0.3:
                events.pop()()
            elif data:
                cut = random.randrange(1, 40)
                await wire.peer.send_all(data[:cut])
                data = data[cut:]
            if random.random() < 0.7:
                await trio.testing.wait_all_tasks_blocked()
    assert all(answers[name] == int(name) for name in answers), f"seed {seed}: {answers}"
    assert set(answers) >= {str(index + 1) for index in range(8) if index not in gone}, f"seed {seed}"


@in_trio
async def test_produce_with_acks_0_has_no_answer() -> None:
    broker = StubBroker()
    broker.on(ProduceRequest, SILENCE, ProduceResponse(responses=[]))
    broker.on(HeartbeatRequest, echo)
    async with network(broker) as net, await connect(broker.address, SETTINGS, net.open_stream) as connection:
        assert await connection.request(ProduceRequest(acks=0, timeout_ms=1, topic_data=[])) is None
        response = await connection.request(ProduceRequest(acks=1, timeout_ms=1, topic_data=[]))
        assert response == ProduceResponse(responses=[])
        assert await connection.request(beat(5)) == HeartbeatResponse(throttle_time_ms=5)


def test_correlation_ids_begin_again_after_the_last() -> None:
    connection = Wire().connection
    connection._last_correlation_id = CORRELATION_ID_MAX - 1
    assert [connection._next_correlation_id() for _ in range(3)] == [CORRELATION_ID_MAX, 1, 2]


# Failures


@pytest.mark.parametrize(
    ("sent", "kind", "why"),
    [
        (b"", ConnectionLost, "peer: the broker closed the connection$"),
        (b"\0\0\0\7abc", ConnectionLost, "peer: the broker closed the connection 7 bytes into an answer"),
        (b"\0\0\x27\x11", MalformedAnswer, "peer: a frame of 10001 bytes was announced, at most 10000"),
        (b"HTTP/1.1 400 Bad Request", MalformedAnswer, "peer: a frame of 1213486160 bytes was announced"),
        (b"\xff\xff\xff\xff", MalformedAnswer, "peer: a frame of -1 bytes"),
        (b"\0\0\0\2ab", MalformedAnswer, "peer: the answer to Heartbeat v4 cannot be read"),
        (response_bytes(HeartbeatResponse(), 4, 9), MalformedAnswer, "peer: .* has correlation id 9, not 1"),
    ],
)
def test_a_bad_answer_closes_the_connection_and_everybody_is_told(
    sent: bytes, kind: type[KafkaError], why: str
) -> None:
    @in_trio
    async def story() -> None:
        wire, told = Wire(), []

        async def hear() -> None:
            with pytest.raises(kind, match=why):
                await wire.connection.request(beat(), 4)
            told.append(True)

        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(hear)
            await trio.testing.wait_all_tasks_blocked()
            await wire.peer.send_all(sent)
            await wire.peer.send_eof()
        assert told == [True] * 3
        assert not wire.connection.is_open
        with pytest.raises(kind, match=why):
            await wire.connection.request(beat(), 4)
        with pytest.raises(kind, match=why):
            await wire.connection.read_frame()

    story()


@in_trio
async def test_an_announced_size_costs_no_memory() -> None:
    wire = Wire(Settings(frame_bytes_max=1 << 30))
    await wire.peer.send_all((1 << 30).to_bytes(4, "big") + bytes(100))
    with trio.move_on_after(1):
        await wire.connection.request(beat(), 4)
    assert wire.connection._reader.pending_bytes == 104
    assert wire.connection.is_open
    await wire.connection.aclose()


@in_trio
async def test_closing_tells_those_who_wait() -> None:
    wire = Wire()
    async with trio.open_nursery() as nursery:
        for _ in range(2):
            nursery.start_soon(expect_lost, wire, "peer: it was closed")
        await trio.testing.wait_all_tasks_blocked()
        await wire.connection.aclose()
        await wire.connection.aclose("the second reason does not matter")


async def expect_lost(wire: Wire, why: str) -> None:
    with pytest.raises(ConnectionLost, match=why):
        await wire.connection.request(beat(), 4)


@in_trio
async def test_a_peer_that_resets_is_a_lost_connection() -> None:
    """The other end refuses what we send, and later what we want to receive."""
    broken = Wire()
    await trio.aclose_forcefully(broken.peer)
    await expect_lost(broken, "peer: sending failed")

    class Reset(trio.abc.ReceiveStream):
        async def receive_some(self, max_bytes: int | None = None) -> bytearray:
            raise trio.BrokenResourceError("reset by peer")

        async def aclose(self) -> None:
            await trio.lowlevel.checkpoint()

    resetting = Wire()
    halves = trio.StapledStream(trio.testing.MemorySendStream(), Reset())
    resetting.connection = Connection(halves, "peer", SETTINGS)
    await expect_lost(resetting, "peer: receiving failed: reset by peer")


@in_trio
async def test_a_request_that_is_cancelled_while_it_is_sent_takes_the_connection_with_it() -> None:
    ours, theirs = trio.testing.lockstep_stream_pair()
    connection = Connection(ours, "peer", SETTINGS)
    with trio.move_on_after(1) as scope:
        await connection.request(beat(), 4)
    assert scope.cancelled_caught
    with pytest.raises(ConnectionLost, match="a request was cancelled while it was sent"):
        await connection.request(beat(), 4)
    await theirs.aclose()


@in_trio
async def test_a_request_that_is_cancelled_before_it_is_sent_does_no_harm() -> None:
    wire = Wire()
    async with wire.connection:
        with trio.CancelScope() as scope:
            scope.cancel()
            await wire.connection.request(beat(), 4)
        assert wire.connection.is_open


@in_trio
async def test_a_broker_that_answers_nothing_costs_a_bounded_line() -> None:
    wire = Wire()
    for _ in range(LINE_LENGTH_MAX):
        with trio.move_on_after(1):
            await wire.connection.request(beat(), 4)
    await expect_lost(wire, "peer: 1000 requests are without an answer")


# Raw bytes


@in_trio
async def test_bytes_go_out_as_they_are_and_frames_come_back_as_they_are() -> None:
    wire = Wire()
    async with wire.connection:
        await wire.connection.send_raw(b"anything")
        assert await wire.peer.receive_some() == b"anything"
        await wire.peer.send_all(b"\0\0\0\2ab\0\0\0\0\0\0\0\1c")
        assert [await wire.connection.read_frame() for _ in range(3)] == [b"ab", b"", b"c"]


@in_trio
async def test_an_answer_that_nobody_asked_for_is_noticed_by_the_next_request() -> None:
    wire = Wire()
    await wire.answer(1, 7)
    assert (await wire.connection.request(beat(), 4)).throttle_time_ms == 1
    with pytest.raises(MalformedAnswer, match="has correlation id 7, not 2"):
        await wire.connection.request(beat(), 4)


# Sockets


@in_trio
async def test_requests_and_answers_travel_over_tcp() -> None:
    broker = StubBroker()
    broker.on(HeartbeatRequest, echo, HANG_UP)
    async with listening(broker), await connect(broker.address) as connection:
        assert await connection.request(beat(3)) == HeartbeatResponse(throttle_time_ms=3)
        with pytest.raises(ConnectionLost, match=r"127\.0\.0\.1:\d+: the broker closed the connection"):
            await connection.request(beat(4))


@in_trio
async def test_a_large_answer_arrives_in_pieces() -> None:
    broker = StubBroker()
    name = "x" * 30_000
    listed = [ProduceResponse.TopicProduceResponse(name=name, partition_responses=[]) for _ in range(100)]
    broker.on(ProduceRequest, ProduceResponse(responses=listed))
    async with listening(broker), await connect(broker.address) as connection:
        response = await connection.request(ProduceRequest(acks=1, timeout_ms=1, topic_data=[]), 9)
    assert [one.name for one in response.responses] == [name] * 100


@pytest.mark.parametrize(
    "address", [Address("127.0.0.1", 0), Address("", 1), Address("a" * 300, 1), Address("a..b", 1)]
)
def test_what_cannot_be_connected_to_is_a_lost_connection(address: Address) -> None:
    with pytest.raises(ConnectionLost):
        trio.run(open_tcp, address)


@in_trio
async def test_nobody_listens_there() -> None:
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    address = Address(*listener.socket.getsockname())
    await listener.aclose()
    with pytest.raises(ConnectionLost, match=f"cannot connect to {address}"):
        await connect(address)


@in_trio
async def test_a_closed_connection_leaves_no_socket() -> None:
    broker = StubBroker()
    broker.on(HeartbeatRequest, HANG_UP)
    async with listening(broker):
        connection = await connection_module.connect(broker.address)
        stream = connection._stream
        with pytest.raises(ConnectionLost):
            await connection.request(beat())
        assert isinstance(stream, trio.SocketStream)
        assert stream.socket.fileno() == -1
    gc.collect()
