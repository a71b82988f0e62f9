"""The way to the controller: a call where it is here, a request where it is not, again where it has moved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
import trio
import trio.testing

from ottla.cluster.voters import Endpoint
from ottla.server.controller_channel import ControllerChannel, OnBehalf
from ottla.server.controlling import Call, Controller, Done
from ottla.server.envelopes import enclosed, reply
from ottla.server.quorum import Quorum
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.controller import AlterPartitionRequest, EnvelopeRequest, EnvelopeResponse
from ottla.wire.messages.topics import CreateTopicsRequest, CreateTopicsResponse
from ottla.wire.messages.transactions import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from tests.client.stub_cluster import HANG_UP, SILENCE, StubBroker, StubNetwork, in_trio
from tests.server.metadata_world import NODE_ID, a_quorum
from tests.server.world import in_trio as by_real_clock
from tests.storage.fake_disk import FakeDisk

REQUEST = AllocateProducerIdsRequest(broker_id=NODE_ID, broker_epoch=7)
GRANTED = AllocateProducerIdsResponse(producer_id_start=1000, producer_id_len=1000)
ELSEWHERE = AllocateProducerIdsResponse(error_code=ErrorCode.NOT_CONTROLLER, producer_id_start=0, producer_id_len=0)
CLIENT = OnBehalf("User:somebody", "127.0.0.1", "client")


class Elsewhere:
    """A quorum that is led by another node, and a controller that is not the active one."""

    state = None

    class raft:
        leader_endpoint: Endpoint | None = None


class World:
    def __init__(self, nursery: trio.Nursery, *brokers: StubBroker) -> None:
        self.there = Elsewhere()
        self.lead(brokers[0] if brokers else None)
        network = StubNetwork(nursery, brokers)
        self.channel = ControllerChannel(
            NODE_ID, cast("Quorum", self.there), cast("Controller", self.there), network.open_stream
        )
        nursery.start_soon(self.channel.run)

    def lead(self, broker: StubBroker | None) -> None:
        self.there.raft.leader_endpoint = None if broker is None else Endpoint(*broker.address)


def code_of(error: pytest.ExceptionInfo[KafkaError]) -> ErrorCode:
    return error.value.code


@by_real_clock
async def test_a_controller_that_is_here_is_called() -> None:
    async with a_quorum(FakeDisk()) as world:
        assert world.channel.is_here
        with pytest.raises(KafkaError) as refused:
            await world.channel.request(REQUEST)
        assert code_of(refused) is ErrorCode.STALE_BROKER_EPOCH


@in_trio
async def test_one_that_is_elsewhere_is_asked() -> None:
    broker = StubBroker(2)
    broker.on(AllocateProducerIdsRequest, GRANTED)
    async with trio.open_nursery() as nursery:
        world = World(nursery, broker)
        settled: list[int] = []
        world.channel.settled = lambda: settled.append(1)
        assert await world.channel.request(REQUEST) == GRANTED
        assert broker.requests(AllocateProducerIdsRequest) == [REQUEST]
        await trio.testing.wait_all_tasks_blocked()
        assert settled == [1]
        nursery.cancel_scope.cancel()


@in_trio
async def test_one_that_has_moved_is_looked_for() -> None:
    first, second = StubBroker(2), StubBroker(3)
    second.on(AllocateProducerIdsRequest, GRANTED)
    async with trio.open_nursery() as nursery:
        world = World(nursery, first, second)

        def moved(request: Any) -> Any:
            world.lead(second)
            return ELSEWHERE

        first.on(AllocateProducerIdsRequest, moved)
        assert await world.channel.request(REQUEST) == GRANTED
        nursery.cancel_scope.cancel()


class MovesAway:
    """A controller in this process that is deposed before what it was asked for is committed."""

    next_offset = 0

    def __init__(self, moved: Callable[[], None]) -> None:
        self.state: object | None = object()
        self._moved = moved

    def change(self, call: Call, done: Done) -> None:
        self.state = None
        self._moved()
        done(None, KafkaError(ErrorCode.NOT_CONTROLLER, "the controller has moved"))


@in_trio
async def test_one_that_was_here_and_moves_before_it_can_answer_is_followed() -> None:
    successor = StubBroker(2)
    successor.on(AllocateProducerIdsRequest, GRANTED)
    async with trio.open_nursery() as nursery:
        there = Elsewhere()
        there.raft.leader_endpoint = None

        def moved() -> None:
            there.raft.leader_endpoint = Endpoint(*successor.address)

        network = StubNetwork(nursery, [successor])
        controller = cast("Controller", MovesAway(moved))
        channel = ControllerChannel(NODE_ID, cast("Quorum", there), controller, network.open_stream)
        nursery.start_soon(channel.run)
        assert await channel.request(REQUEST) == GRANTED
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("answer", [HANG_UP, SILENCE], ids=["hangs up", "is silent"])
def test_one_that_does_not_answer_is_asked_again(answer: Any) -> None:
    @in_trio
    async def run() -> None:
        broker = StubBroker(2)
        broker.on(AllocateProducerIdsRequest, answer, GRANTED)
        async with trio.open_nursery() as nursery:
            world = World(nursery, broker)
            assert await world.channel.request(REQUEST) == GRANTED
            assert broker.connections == 2
            nursery.cancel_scope.cancel()

    run()


@in_trio
async def test_without_any_it_ends_in_time() -> None:
    async with trio.open_nursery() as nursery:
        world = World(nursery)
        began = trio.current_time()
        with pytest.raises(KafkaError) as refused:
            await world.channel.request(REQUEST, timeout_ms=3000)
        assert code_of(refused) is ErrorCode.NOT_CONTROLLER
        assert 3 <= trio.current_time() - began < 4
        nursery.cancel_scope.cancel()


@in_trio
async def test_a_refusal_that_will_not_pass_is_told_at_once() -> None:
    broker = StubBroker(2)
    stale = AllocateProducerIdsResponse(error_code=ErrorCode.STALE_BROKER_EPOCH, producer_id_start=0, producer_id_len=0)
    broker.on(AllocateProducerIdsRequest, stale)
    async with trio.open_nursery() as nursery:
        with pytest.raises(KafkaError) as refused:
            await World(nursery, broker).channel.request(REQUEST)
        assert code_of(refused) is ErrorCode.STALE_BROKER_EPOCH
        assert len(broker.requests(AllocateProducerIdsRequest)) == 1
        nursery.cancel_scope.cancel()


@in_trio
async def test_what_a_client_asks_goes_in_an_envelope_and_its_answer_comes_out() -> None:
    broker = StubBroker(2)
    answer = CreateTopicsResponse(topics=[])
    broker.on(
        EnvelopeRequest,
        EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER),
        lambda request: reply(enclosed(request), answer),
    )
    request = CreateTopicsRequest(topics=[], timeout_ms=5)
    told: list[Any] = []
    async with trio.open_nursery() as nursery:
        world = World(nursery, broker)
        world.channel.ask(request, 5, lambda *outcome: told.append(outcome), on_behalf=CLIENT)
        while not told:
            await trio.sleep(1)
        nursery.cancel_scope.cancel()
    assert told == [(answer, None)]
    inside = enclosed(broker.requests(EnvelopeRequest)[-1])
    assert (inside.request, inside.version) == (request, 5)


@in_trio
async def test_a_controller_that_is_too_old_for_a_request_refuses_it() -> None:
    broker = StubBroker(2, {AlterPartitionRequest: (2, 2)})
    member = AlterPartitionRequest.BrokerState(broker_id=NODE_ID, broker_epoch=7)
    proposal = AlterPartitionRequest.PartitionData(
        partition_index=0, leader_epoch=1, new_isr_with_epochs=[member], partition_epoch=1
    )
    topic = AlterPartitionRequest.TopicData(topic_id=bytes(16), partitions=[proposal])
    request = AlterPartitionRequest(broker_id=NODE_ID, broker_epoch=7, topics=[topic])
    async with trio.open_nursery() as nursery:
        world = World(nursery, broker)
        with pytest.raises(KafkaError) as refused:
            await world.channel.request(request)
        assert code_of(refused) is ErrorCode.UNSUPPORTED_VERSION
        nursery.cancel_scope.cancel()
