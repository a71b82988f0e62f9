"""Connections are made once, shared, replaced when closed, and all closed at the end."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from ottla.client.addresses import Address
from ottla.client.connection import Connection
from ottla.client.connections import Connections
from ottla.client.failures import ConnectionLost
from ottla.client.settings import Settings
from ottla.wire.messages.api_versions import ApiVersionsRequest
from tests.client.stub_cluster import SILENCE, StubBroker, in_trio, network

SETTINGS = Settings(connect_timeout_ms=2_000)


@in_trio
async def test_two_who_want_it_at_once_share_one_connection() -> None:
    broker = StubBroker()
    async with network(broker) as net:
        connections = Connections(SETTINGS, net.open_stream)
        got: list[Connection] = []

        async def get() -> None:
            got.append(await connections.get(broker.address))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(get)
            nursery.start_soon(get)
        assert got[0] is got[1]
        assert connections.is_connected(broker.address)
        assert not connections.is_connected(Address("elsewhere", 1))
        await connections.aclose()
        assert not got[0].is_open
    assert len(net.tried) == 1


@in_trio
async def test_a_closed_connection_is_replaced() -> None:
    broker = StubBroker()
    async with network(broker) as net:
        connections = Connections(SETTINGS, net.open_stream)
        first = await connections.get(broker.address)
        await first.aclose()
        assert not connections.is_connected(broker.address)
        assert (await connections.get(broker.address)).is_open
        await connections.aclose()


@in_trio
async def test_a_lane_has_a_connection_of_its_own_and_can_be_closed() -> None:
    broker = StubBroker()
    async with network(broker) as net:
        connections = Connections(SETTINGS, net.open_stream)
        shared, lane = await connections.get(broker.address), await connections.get(broker.address, "slow")
        assert shared is not lane
        await connections.aclose_lane("slow")
        assert (shared.is_open, lane.is_open) == (True, False)
        await connections.aclose()


@in_trio
async def test_a_broker_that_does_not_introduce_itself_in_time_is_lost() -> None:
    broker = StubBroker()
    broker.on(ApiVersionsRequest, SILENCE)
    async with network(broker) as net:
        with pytest.raises(ConnectionLost, match="broker1:9092: not ready to talk within 2000 ms"):
            await Connections(SETTINGS, net.open_stream).get(broker.address)


@in_trio
async def test_a_host_that_swallows_everything_is_lost_in_time() -> None:
    async def swallow(address: Address) -> trio.abc.Stream:
        await trio.sleep_forever()
        raise AssertionError("never")

    with pytest.raises(ConnectionLost, match="not ready to talk"):
        await Connections(SETTINGS, swallow).get(Address("hole", 1))


@in_trio
async def test_a_host_that_refuses_is_lost_at_once() -> None:
    async with network() as net:
        with pytest.raises(ConnectionLost, match="cannot connect to nobody:1"):
            await Connections(SETTINGS, net.open_stream).get(Address("nobody", 1))


@in_trio
async def test_nothing_is_opened_after_the_end() -> None:
    broker = StubBroker()
    async with network(broker) as net:
        connections = Connections(SETTINGS, net.open_stream)
        await connections.aclose()
        with pytest.raises(ConnectionLost, match="the client was closed"):
            await connections.get(broker.address)
    assert net.tried == []


@in_trio
async def test_what_is_opened_while_all_are_closed_is_closed_as_well() -> None:
    broker = StubBroker()
    may_connect = trio.Event()
    streams: list[trio.abc.Stream] = []

    async with network(broker) as net:

        async def open_late(address: Address) -> trio.abc.Stream:
            await may_connect.wait()
            streams.append(await net.open_stream(address))
            return streams[0]

        connections = Connections(SETTINGS, open_late)

        async def get() -> None:
            with pytest.raises(ConnectionLost, match="the client was closed"):
                await connections.get(broker.address)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(get)
            await trio.testing.wait_all_tasks_blocked()
            await connections.aclose()
            may_connect.set()
        with pytest.raises(trio.ClosedResourceError):
            await streams[0].send_all(b"x")
