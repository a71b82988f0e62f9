"""Every request is answered, refused in its own terms, or closes its connection; none ends the process."""

from __future__ import annotations

import gc
import random
import struct
from pathlib import Path
from typing import Any

import pytest

from ottla.server.context import Context
from ottla.server.dispatch import CloseConnection, encode
from ottla.server.parking import Pending
from ottla.server.routes import Route, versions
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.framing import Frame
from ottla.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.wire.messages.fetch import FetchResponse
from ottla.wire.messages.headers import RequestHeader
from ottla.wire.messages.produce import ProduceRequest
from tests.server.world import PRODUCE, ROUTES, World, a_world, batch, in_trio, producing

Handled = list[tuple[int, str | None]]


def refused(request: Any, error: KafkaError) -> ApiVersionsResponse:
    return ApiVersionsResponse(error_code=error.code, api_keys=[])


def routes(handler: Any, high: int = 3) -> tuple[Route, ...]:
    return (*ROUTES, Route(ApiVersionsRequest, versions(0, high), handler, refused))


def answer(context: Context, request: ApiVersionsRequest) -> ApiVersionsResponse:
    return ApiVersionsResponse(api_keys=[])


def framed(*parts: bytes) -> bytes:
    data = b"".join(parts)
    return struct.pack(">i", len(data)) + data


async def is_alive(world: World) -> bool:
    """Whether somebody else is still served."""
    client = await world.connect()
    return (await client.produce()).error_code == 0


@pytest.mark.parametrize("version", [0, 3])
@pytest.mark.parametrize("client_id", ["client", "", None, "kähler", "x" * 300])
@in_trio
async def test_a_handler_knows_who_asks_and_in_which_version(
    tmp_path: Path, version: int, client_id: str | None
) -> None:
    seen: list[Context] = []

    def handler(context: Context, request: ApiVersionsRequest) -> ApiVersionsResponse:
        seen.append(context)
        return answer(context, request)

    async with a_world(tmp_path, routes=routes(handler)) as world:
        client = await world.connect()
        await client.stream.send_all(client.encode(ApiVersionsRequest(), version, client_id))
        assert (await client.receive(ApiVersionsRequest, version))[0] == 1
        (context,) = seen
        assert (context.client_id, context.version) == (client_id, version)
        assert (context.client_host, context.listener_name) == ("127.0.0.1", "PLAINTEXT")
        assert context.principal == "User:ANONYMOUS"


@pytest.mark.parametrize("client_id", ["client", "", None, "kähler", "x" * 300])
@in_trio
async def test_who_answers_from_the_bytes_is_told_where_the_client_id_ends(
    tmp_path: Path, client_id: str | None
) -> None:
    seen: list[bytes] = []

    def quick(broker: Any, connection: Any, frame: Frame, position: int, *told: int) -> bool:
        seen.append(bytes(frame.data[position : frame.end]))
        return False

    route = Route(ApiVersionsRequest, versions(0, 3), answer, refused, quick=quick)
    async with a_world(tmp_path, routes=(*ROUTES, route)) as world:
        client = await world.connect()
        request = ApiVersionsRequest(client_software_name="a", client_software_version="1")
        await client.stream.send_all(client.encode(request, 3, client_id))
        await client.receive(ApiVersionsRequest, 3)
        assert seen == [b"\0" + request.encode(3)]


@in_trio
async def test_a_header_with_tags_that_nobody_knows_is_read(tmp_path: Path) -> None:
    async with a_world(tmp_path, routes=routes(answer)) as world:
        client = await world.connect()
        header = RequestHeader(request_api_key=18, request_api_version=3, correlation_id=9, client_id="c").encode(2)
        body = ApiVersionsRequest(client_software_name="a", client_software_version="1").encode(3)
        await client.stream.send_all(framed(header[:-1], b"\1\7\2ab", body))
        assert (await client.receive(ApiVersionsRequest, 3))[0] == 9


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"",
        b"\0\x12\0\0\0\0\0\1\0",
        struct.pack(">hhih", 18, 0, 1, 500),
        struct.pack(">hhih", 18, 3, 1, -1),
        struct.pack(">hhih", 999, 0, 1, -1),
        struct.pack(">hhih", -1, 0, 1, -1),
        struct.pack(">hhih", 0, 2, 1, -1),
        struct.pack(">hhih", 0, -1, 1, -1),
        struct.pack(">hhih", 1, 99, 1, -1),
        struct.pack(">hhih", 0, 9, 1, -1) + b"\xff" * 30,
    ],
)
@in_trio
async def test_class_13_a_request_that_cannot_be_read_closes_its_connection_alone(
    tmp_path: Path, request_bytes: bytes
) -> None:
    async with a_world(tmp_path, routes=routes(answer)) as world:
        world.partition()
        client = await world.connect()
        await client.stream.send_all(framed(request_bytes))
        assert await client.is_cut_off()
        assert await is_alive(world)


@in_trio
async def test_class_13_no_mutation_of_a_request_ends_the_process(tmp_path: Path) -> None:
    seed = 13
    dice = random.Random(seed)
    async with a_world(tmp_path, routes=routes(answer)) as world:
        world.partition()
        for _ in range(150):
            client = await world.connect()
            data = bytearray(client.encode(producing(batch(), batch()), PRODUCE))
            for _ in range(dice.randint(1, 6)):
                data[dice.randrange(4, len(data))] = dice.randrange(256)
            await client.stream.send_all(bytes(data[: dice.choice([len(data), dice.randrange(4, len(data))])]))
            await client.stream.send_eof()
            while await client.stream.receive_some(1 << 16):
                pass
        assert await is_alive(world), f"seed {seed}"


@pytest.mark.parametrize("version", [4, 99, -1])
@in_trio
async def test_an_api_versions_that_is_too_new_is_told_what_there_is(tmp_path: Path, version: int) -> None:
    async with a_world(tmp_path, routes=routes(answer)) as world:
        client = await world.connect()
        await client.stream.send_all(framed(struct.pack(">hhih", 18, version, 7, -1), b"whatever comes then"))
        correlation_id, response = await client.receive(ApiVersionsRequest, 0)
        assert (correlation_id, response.error_code) == (7, ErrorCode.UNSUPPORTED_VERSION)
        assert [(one.api_key, one.min_version, one.max_version) for one in response.api_keys] == [(18, 0, 3)]


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (KafkaError(ErrorCode.INVALID_REQUEST, "no"), ErrorCode.INVALID_REQUEST),
        (ZeroDivisionError("ours"), ErrorCode.UNKNOWN_SERVER_ERROR),
        (AssertionError("ours"), ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
@in_trio
async def test_class_13_a_handler_that_fails_gives_an_error_in_its_own_response(
    tmp_path: Path, failure: Exception, code: ErrorCode, caplog: pytest.LogCaptureFixture
) -> None:
    def handler(context: Context, request: ApiVersionsRequest) -> ApiVersionsResponse:
        raise failure

    async with a_world(tmp_path, routes=routes(handler)) as world:
        client = await world.connect()
        for _ in range(2):
            assert (await client.ask(ApiVersionsRequest(), 0)).error_code == code
        assert ("ApiVersions v0 failed" in caplog.text) == (code == ErrorCode.UNKNOWN_SERVER_ERROR)


@in_trio
async def test_an_error_that_a_handler_had_as_a_value_holds_on_to_nothing_of_the_request(tmp_path: Path) -> None:
    data = bytearray(b"came with the request")

    def handler(context: Context, request: ApiVersionsRequest) -> ApiVersionsResponse:
        view = memoryview(data)
        error = KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"nobody of {len(view)} bytes")
        raise error

    async with a_world(tmp_path, routes=routes(handler)) as world:
        client = await world.connect()
        gc.disable()
        try:
            await client.stream.send_all(client.encode(ApiVersionsRequest(), 3, "client"))
            _, response = await client.receive(ApiVersionsRequest, 3)
            assert response.error_code == ErrorCode.UNKNOWN_MEMBER_ID
            data.append(0)  # refused as long as there is a view of it
        finally:
            gc.enable()


@in_trio
async def test_a_handler_may_close_the_connection(tmp_path: Path) -> None:
    def handler(context: Context, request: ApiVersionsRequest) -> ApiVersionsResponse:
        raise CloseConnection("nothing fits")

    async with a_world(tmp_path, routes=routes(handler)) as world:
        client = await world.connect()
        await client.send((ApiVersionsRequest(), 0))
        assert await client.is_cut_off()


@in_trio
async def test_a_handler_may_owe_no_answer_or_fail_later(tmp_path: Path) -> None:
    later = Pending(stops_line=False, may_fail=True)
    replies: list[Any] = [None, later]

    def handler(context: Context, request: ApiVersionsRequest) -> Any:
        return replies.pop(0)

    async with a_world(tmp_path, routes=routes(handler)) as world:
        world.partition()
        client = await world.connect()
        await client.send((ApiVersionsRequest(), 0), (ApiVersionsRequest(), 0), (producing(batch()), PRODUCE))
        world.broker.after_pass(lambda: None)
        while later.place is None:
            await world.broker.flusher.round()
        later.fail(KafkaError(ErrorCode.NOT_CONTROLLER, "moved"))
        world.broker.send_answers()
        correlation_id, response = await client.receive(ApiVersionsRequest, 0)
        assert (correlation_id, response.error_code) == (2, ErrorCode.NOT_CONTROLLER)
        assert (await client.receive(ProduceRequest, PRODUCE))[0] == 3


@pytest.mark.parametrize("header_version", [0, 1])
def test_a_response_is_framed_with_its_header(header_version: int) -> None:
    header = struct.pack(">i", 5) + b"\0" * header_version
    for reply, version in [
        (b"body", 0),
        (ApiVersionsResponse(api_keys=[]), 0),
        (
            FetchResponse(
                responses=[
                    FetchResponse.FetchableTopicResponse(
                        topic="t",
                        partitions=[
                            FetchResponse.PartitionData(
                                partition_index=0, high_watermark=1, aborted_transactions=None, records=b"records"
                            )
                        ],
                    )
                ]
            ),
            12,
        ),
    ]:
        data = b"".join(encode(reply, version, header_version, 5))  # type: ignore[arg-type]
        body = reply if isinstance(reply, bytes) else reply.encode(version)
        assert data == struct.pack(">i", len(header) + len(body)) + header + body
