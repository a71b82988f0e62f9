"""Requests that meet a fault, and those that do not; time is the test's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from ottla.server.context import Context
from ottla.server.parking import Pending
from ottla.server.routes import Handler, Route, Serving, versions
from ottla.testing.faults import EXEMPT_CLIENT_ID, Fault, Faults, cut_off, failing, late
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.wire.messages.fetch import FetchRequest
from ottla.wire.messages.produce import ProduceRequest
from tests.server.world import (
    FETCH,
    PRODUCE,
    World,
    a_world,
    batch,
    by_test_clock,
    fetched,
    fetching,
    in_trio,
    pass_time,
    producing,
    values_of,
)

PRODUCE_KEY, FETCH_KEY = 0, 1
REFUSED = ErrorCode.NOT_LEADER_OR_FOLLOWER


def add(
    world: World, key: int, make: object, *, times: int | None = 1, client_id: str | None = None
) -> tuple[Faults, int]:
    faults = Faults(world.broker)
    return faults, faults.add(Fault(key, make, left=times, client_id=client_id))  # type: ignore[arg-type]


async def stored(world: World) -> list[bytes]:
    client = await world.connect()
    response = await client.ask(fetching(), FETCH)
    return values_of(fetched(response)[0].records or b"")


@in_trio
async def test_so_many_requests_fail_and_do_nothing(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.partition()
        client = await world.connect()
        faults, number = add(world, PRODUCE_KEY, failing(REFUSED), times=2)
        codes = [(await client.produce(value)).error_code for value in (b"1", b"2", b"3")]
        assert codes == [REFUSED, REFUSED, 0]
        assert faults.taken(number) == 2
        assert await stored(world) == [b"3"]


@in_trio
async def test_the_broker_is_what_it_was_when_the_last_fault_is_gone(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.partition()
        client = await world.connect()
        faults, number = add(world, PRODUCE_KEY, failing(REFUSED))
        assert world.broker.faults is not None
        await client.produce()
        assert world.broker.faults is None
        endless = faults.add(Fault(PRODUCE_KEY, failing(REFUSED), left=None, client_id=None))
        for _ in range(3):
            assert (await client.produce()).error_code == REFUSED
        assert (faults.taken(number), faults.taken(endless)) == (1, 3)
        faults.remove(endless)
        assert world.broker.faults is None
        assert (await client.produce()).error_code == 0
        faults.add(Fault(PRODUCE_KEY, failing(REFUSED), left=5, client_id=None))
        faults.remove_all()
        assert (await client.produce()).error_code == 0


@in_trio
async def test_other_apis_and_other_clients_are_left_alone(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.partition()
        client = await world.connect()
        faults, _ = add(world, PRODUCE_KEY, failing(REFUSED), client_id="somebody else")
        faults.add(Fault(FETCH_KEY, failing(REFUSED), left=1, client_id=None))
        assert (await client.produce()).error_code == 0
        assert (await client.ask(fetching(), FETCH)).error_code == REFUSED
        assert (await client.produce()).error_code == 0


@in_trio
async def test_faults_are_taken_in_their_order(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.partition()
        client = await world.connect()
        faults, _ = add(world, PRODUCE_KEY, failing(ErrorCode.KAFKA_STORAGE_ERROR))
        faults.add(Fault(PRODUCE_KEY, failing(REFUSED), left=1, client_id=None))
        codes = [(await client.produce()).error_code for _ in range(3)]
        assert codes == [ErrorCode.KAFKA_STORAGE_ERROR, REFUSED, 0]


def test_what_carries_out_the_tests_own_orders_is_exempt() -> None:
    class Bare:
        faults = None

    handlers: list[Handler] = [lambda context, request: "theirs"]
    serving = Serving.__new__(Serving)
    serving.handler = handlers[0]
    serving.route = type("Route", (), {"key": PRODUCE_KEY})()  # type: ignore[assignment]
    broker = Bare()
    Faults(broker).add(Fault(PRODUCE_KEY, failing(REFUSED), left=1, client_id=None))  # type: ignore[arg-type]
    assert broker.faults is not None
    assert broker.faults(serving, EXEMPT_CLIENT_ID) is serving.handler
    assert broker.faults(serving, "a client") is not serving.handler


@by_test_clock
async def test_an_answer_comes_late_and_what_was_asked_is_done_at_once(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.partition()
        client = await world.connect()
        add(world, PRODUCE_KEY, late(30.0))
        answers: list[object] = []
        async with trio.open_nursery() as nursery:

            async def ask() -> None:
                answers.append(await client.produce(b"there"))

            nursery.start_soon(ask)
            await trio.testing.wait_all_tasks_blocked()
            assert await stored(world) == [b"there"]
            await pass_time(29.0)
            assert answers == []
            await pass_time(1.0)
        assert len(answers) == 1


@by_test_clock
async def test_an_answer_that_is_waited_for_is_late_from_when_it_is_there(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.partition()
        reader, writer = await world.connect(), await world.connect()
        add(world, FETCH_KEY, late(5.0))
        answers: list[list[bytes]] = []
        async with trio.open_nursery() as nursery:

            async def ask() -> None:
                response = await reader.ask(fetching(wait_ms=60_000), FETCH)
                answers.append(values_of(fetched(response)[0].records))

            nursery.start_soon(ask)
            await pass_time(10.0)
            await writer.produce(b"news")
            await pass_time(4.0)
            assert answers == []
            await pass_time(1.0)
        assert answers == [[b"news"]]


@by_test_clock
async def test_an_error_comes_late_as_well(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.partition()
        client = await world.connect()
        add(world, PRODUCE_KEY, late(5.0))
        await client.stream.send_all(client.encode(producing(batch(), acks=7), PRODUCE))
        await pass_time(5.0)
        response = (await client.receive(ProduceRequest, PRODUCE))[1]
        assert response.responses[0].partition_responses[0].error_code == ErrorCode.INVALID_REQUIRED_ACKS


@by_test_clock
async def test_what_fails_while_it_is_waited_for_fails_late(tmp_path: Path) -> None:
    waiting: list[Pending] = []

    def wait(context: Context, request: Any) -> Pending:
        waiting.append(Pending(stops_line=True, may_fail=True))
        return waiting[0]

    def refused(request: Any, error: KafkaError) -> ApiVersionsResponse:
        return ApiVersionsResponse(error_code=error.code, api_keys=[])

    route = Route(ApiVersionsRequest, versions(0, 3), wait, refused)
    async with a_world(tmp_path, routes=[route]) as world:
        client = await world.connect()
        add(world, ApiVersionsRequest.api_key, late(5.0))
        await client.send((ApiVersionsRequest(), 0))
        await trio.testing.wait_all_tasks_blocked()
        waiting[0].fail(KafkaError(REFUSED, "too late"))
        await pass_time(5.0)
        assert (await client.receive(ApiVersionsRequest, 0))[1].error_code == REFUSED


@by_test_clock
async def test_who_goes_while_the_answer_is_late_is_forgotten(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        partition = world.partition()
        client, other = await world.connect(), await world.connect()
        add(world, FETCH_KEY, late(5.0))
        await client.stream.send_all(client.encode(fetching(wait_ms=60_000), FETCH))
        await trio.testing.wait_all_tasks_blocked()
        assert len(partition._watchers) == 1
        await client.stream.aclose()
        await trio.testing.wait_all_tasks_blocked()
        assert len(partition._watchers) == 0
        assert (await other.produce()).error_code == 0
        await pass_time(10.0)
        assert (await other.produce()).error_code == 0
        assert partition.log.end_offset == 2


@pytest.mark.parametrize("acks", [-1, 0])
@in_trio
async def test_what_was_asked_is_done_and_the_connection_lost(tmp_path: Path, acks: int) -> None:
    async with a_world(tmp_path) as world:
        world.partition()
        client = await world.connect()
        faults, number = add(world, PRODUCE_KEY, cut_off())
        assert (await client.ask(fetching(), FETCH)).error_code == 0
        await client.stream.send_all(client.encode(producing(batch(b"there"), acks=acks), PRODUCE))
        assert await client.is_cut_off()
        assert faults.taken(number) == 1
        assert await stored(world) == [b"there"]


@in_trio
async def test_a_request_that_fails_by_itself_loses_its_connection_too(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        client = await world.connect()
        add(world, PRODUCE_KEY, cut_off())
        await client.stream.send_all(client.encode(producing(batch(), acks=7), PRODUCE))
        assert await client.is_cut_off()


@in_trio
async def test_a_fetch_that_would_wait_loses_its_connection_at_once(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.partition()
        client = await world.connect()
        add(world, FETCH_KEY, cut_off())
        await client.stream.send_all(client.encode(fetching(wait_ms=60_000), FETCH))
        assert await client.is_cut_off()
        assert (await (await world.connect()).produce()).error_code == 0


def test_the_keys_are_those_of_the_requests() -> None:
    assert (ProduceRequest.api_key, FetchRequest.api_key) == (PRODUCE_KEY, FETCH_KEY)
