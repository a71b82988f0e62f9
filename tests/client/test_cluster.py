"""A cluster: who is asked, what is tried again, and what is told when time is up."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest
import trio
import trio.testing

from ottla.client.addresses import Address
from ottla.client.cluster import Cluster
from ottla.client.failures import ConnectionLost, MalformedAnswer
from ottla.client.metadata import TopicPartition
from ottla.client.routing import CONTROLLER, Broker, CoordinatorType, group, leader
from ottla.client.settings import Settings
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.api_versions import ApiVersionsRequest
from ottla.wire.messages.classic_groups import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
)
from ottla.wire.messages.metadata import MetadataRequest, MetadataResponse
from ottla.wire.messages.produce import ProduceRequest
from tests.client.stub_cluster import HANG_UP, SILENCE, TOPIC, StubBroker, StubNetwork, in_trio, metadata, network

BEAT = HeartbeatRequest(group_id="g", generation_id=0, member_id="m")
ALIVE = HeartbeatResponse()


def refusing(code: ErrorCode) -> HeartbeatResponse:
    return HeartbeatResponse(error_code=code)


def two_brokers(leaders: dict[int, int]) -> list[StubBroker]:
    brokers = [StubBroker(1), StubBroker(2)]
    for broker in brokers:
        broker.on(MetadataRequest, metadata(brokers, leaders))
        broker.on(HeartbeatRequest, ALIVE)
    return brokers


@asynccontextmanager
async def cluster_of(*brokers: StubBroker, bootstrap: str | None = None) -> AsyncIterator[tuple[Cluster, StubNetwork]]:
    async with (
        network(*brokers) as net,
        Cluster(bootstrap or net.bootstrap, open_stream=net.open_stream, random=Random(1)) as cluster,
    ):
        yield cluster, net


def beats(broker: StubBroker) -> int:
    return len(broker.requests(HeartbeatRequest))


def coordinators(**nodes: StubBroker) -> FindCoordinatorResponse:
    listed = [
        FindCoordinatorResponse.Coordinator(
            key=key, node_id=one.node_id, host=one.address.host, port=one.address.port, error_message=None
        )
        for key, one in nodes.items()
    ]
    return FindCoordinatorResponse(coordinators=listed)


# Bootstrap


@in_trio
async def test_bootstrap_servers_are_tried_until_one_answers() -> None:
    one, _ = two_brokers({})
    async with cluster_of(one, bootstrap="nobody:1,nowhere:2,broker1:9092") as (cluster, net):
        assert (await cluster.metadata()).brokers[1] == one.address
    assert net.tried == [Address("nobody", 1), Address("nowhere", 2), one.address]


@in_trio
async def test_when_nobody_answers_all_reasons_are_told_at_the_deadline() -> None:
    async with cluster_of(bootstrap="nobody:1,nowhere:2") as (cluster, net):
        before = trio.current_time()
        with pytest.raises(ConnectionLost, match=r"no broker answers: .*nobody:1; .*nowhere:2"):
            await cluster.request(BEAT, timeout_ms=5_000)
        assert trio.current_time() - before == pytest.approx(5)
        # 0.1, 0.2, 0.4, 0.8, 1 and then every second.
        assert 8 <= len(net.tried) // 2 <= 10


@in_trio
async def test_who_does_not_speak_kafka_is_not_asked_again() -> None:
    web = StubBroker()
    web.on(ApiVersionsRequest, b"HTTP/1.1 400 Bad Request")
    async with cluster_of(web) as (cluster, net):
        with pytest.raises(MalformedAnswer, match="broker1:9092: a frame of 1213486160 bytes"):
            await cluster.request(BEAT)
    assert len(net.tried) == 1


@in_trio
async def test_a_broker_that_is_gone_is_passed_over() -> None:
    one, two = two_brokers({})
    async with cluster_of(one, two) as (cluster, net):
        await cluster.metadata()
        one.on(HeartbeatRequest, HANG_UP)
        del net.brokers[one.address]
        assert await cluster.request(BEAT) == ALIVE
    assert beats(two) == 1


# Metadata


@in_trio
async def test_metadata_is_asked_for_once_and_again_when_it_is_old() -> None:
    one, _ = two_brokers({0: 1})
    async with cluster_of(one) as (cluster, _):
        for _ in range(3):
            await cluster.metadata([TOPIC])
        assert len(one.requests(MetadataRequest)) == 1
        await trio.sleep(299)
        await cluster.metadata([TOPIC])
        assert len(one.requests(MetadataRequest)) == 1
        await trio.sleep(2)
        await cluster.metadata()
        await cluster.refreshed()
    assert [[topic.name for topic in request.topics] for request in one.requests(MetadataRequest)] == [[TOPIC]] * 3
    assert not any(request.allow_auto_topic_creation for request in one.requests(MetadataRequest))


@in_trio
async def test_many_who_want_metadata_at_once_ask_once() -> None:
    one, _ = two_brokers({0: 1})
    async with cluster_of(one) as (cluster, _), trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(cluster.metadata, [TOPIC])
    assert len(one.requests(MetadataRequest)) == 1


@in_trio
async def test_a_topic_that_is_not_there_is_not_asked_for_for_ever() -> None:
    one, _ = two_brokers({})
    one.on(MetadataRequest, metadata([one], {}, error_code=3), metadata([one], {0: 1}, topic="other"))
    async with cluster_of(one) as (cluster, _):
        with pytest.raises(KafkaError, match="topic topic: "):
            (await cluster.metadata([TOPIC])).topic(TOPIC)
        await cluster.metadata(["other"])
    assert [[topic.name for topic in request.topics] for request in one.requests(MetadataRequest)] == [
        [TOPIC],
        ["other"],
    ]


@in_trio
async def test_a_cluster_that_asks_for_a_new_start_gets_one() -> None:
    one, two = two_brokers({0: 2})
    again = MetadataResponse(brokers=[], topics=[], error_code=ErrorCode.REBOOTSTRAP_REQUIRED)
    one.on(MetadataRequest, metadata([two], {0: 2}), metadata([one], {0: 1}))
    two.on(MetadataRequest, again)
    async with cluster_of(one, two, bootstrap="broker1:9092") as (cluster, _):
        await cluster.request(BEAT, leader(TOPIC, 0))
        assert set((await cluster.refreshed([TOPIC])).brokers) == {1}
        assert len(two.requests(MetadataRequest)) == 1


@in_trio
async def test_an_error_at_the_top_of_metadata_is_raised() -> None:
    one, _ = two_brokers({})
    one.on(MetadataRequest, MetadataResponse(brokers=[], topics=[], error_code=31))
    async with cluster_of(one) as (cluster, _):
        with pytest.raises(KafkaError, match="Metadata: ") as raised:
            await cluster.metadata()
    assert raised.value.code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


@in_trio
async def test_partitions_are_grouped_by_their_leaders() -> None:
    one, two = two_brokers({0: 1, 1: 2, 2: 1})
    async with cluster_of(one, two) as (cluster, _):
        grouped = await cluster.partitions_by_leader(TopicPartition(TOPIC, index) for index in range(3))
    assert grouped == {1: [TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 2)], 2: [TopicPartition(TOPIC, 1)]}


# Routing


@in_trio
async def test_the_leader_is_asked_and_after_it_moved_the_new_one() -> None:
    one, two = two_brokers({0: 1})
    one.on(HeartbeatRequest, refusing(ErrorCode.NOT_LEADER_OR_FOLLOWER))
    async with cluster_of(one, two) as (cluster, _):
        await cluster.metadata([TOPIC])
        for broker in (one, two):
            broker.on(MetadataRequest, metadata([one, two], {0: 2}, epoch=1))
        assert await cluster.request(BEAT, leader(TOPIC, 0)) == ALIVE
    assert (beats(one), beats(two)) == (1, 1)


@in_trio
async def test_a_leader_that_dies_is_looked_for_elsewhere() -> None:
    one, two = two_brokers({0: 1})
    async with cluster_of(one, two) as (cluster, net):
        await cluster.metadata([TOPIC])
        one.on(HeartbeatRequest, HANG_UP)
        del net.brokers[one.address]
        two.on(MetadataRequest, metadata([two], {0: 2}, epoch=1))
        one.on(MetadataRequest, HANG_UP)
        assert await cluster.request(BEAT, leader(TOPIC, 0)) == ALIVE
    assert beats(two) == 1


@in_trio
async def test_an_error_that_will_not_pass_is_raised_at_once() -> None:
    one, _ = two_brokers({})
    one.on(HeartbeatRequest, refusing(ErrorCode.UNKNOWN_MEMBER_ID))
    async with cluster_of(one) as (cluster, _):
        with pytest.raises(KafkaError, match="Heartbeat: The group has no such member"):
            await cluster.request(BEAT)
    assert beats(one) == 1


@in_trio
async def test_the_last_error_is_raised_when_time_is_up() -> None:
    one, _ = two_brokers({0: -1})
    async with cluster_of(one) as (cluster, _):
        with pytest.raises(KafkaError, match="topic-0: no broker leads it now") as raised:
            await cluster.request(BEAT, leader(TOPIC, 0), timeout_ms=3_000)
    assert raised.value.code == ErrorCode.LEADER_NOT_AVAILABLE
    assert len(one.requests(MetadataRequest)) > 3


@in_trio
async def test_no_answer_at_all_is_a_timeout_that_names_the_target() -> None:
    one, _ = two_brokers({})
    one.on(HeartbeatRequest, SILENCE)
    async with cluster_of(one) as (cluster, _):
        with pytest.raises(KafkaError, match="any broker: no answer within 3000 ms") as raised:
            await cluster.request(BEAT, timeout_ms=3_000)
    assert raised.value.code == ErrorCode.REQUEST_TIMED_OUT


@in_trio
async def test_a_broker_that_keeps_silent_is_hung_up_on_and_another_is_asked() -> None:
    one, two = two_brokers({0: 1})
    one.on(HeartbeatRequest, SILENCE)
    async with cluster_of(one, two) as (cluster, _):
        await cluster.metadata([TOPIC])
        for broker in (one, two):
            broker.on(MetadataRequest, metadata([one, two], {0: 2}, epoch=1))
        before = trio.current_time()
        assert await cluster.request(BEAT, leader(TOPIC, 0), answer_ms_max=7_000) == ALIVE
        assert 7 <= trio.current_time() - before < 8
    assert (beats(one), beats(two)) == (1, 1)


@in_trio
async def test_the_callers_own_timeout_wins() -> None:
    one, _ = two_brokers({})
    one.on(HeartbeatRequest, SILENCE)
    async with cluster_of(one) as (cluster, _):
        with pytest.raises(trio.TooSlowError), trio.fail_after(1):
            await cluster.request(BEAT)


@in_trio
async def test_the_controller_is_asked_and_where_there_is_none_any_broker() -> None:
    one, two = two_brokers({})
    one.on(MetadataRequest, metadata([one, two], {}, controller_id=2), metadata([one], {}, controller_id=-1))
    async with cluster_of(one, two, bootstrap="broker1:9092") as (cluster, _):
        await cluster.request(BEAT, CONTROLLER)
        assert (beats(one), beats(two)) == (0, 1)
        two.on(MetadataRequest, HANG_UP)
        await cluster.refreshed()
        await cluster.request(BEAT, CONTROLLER)
    assert (beats(one), beats(two)) == (1, 1)


@in_trio
async def test_a_broker_that_has_just_come_is_found() -> None:
    one, two = two_brokers({})
    one.on(MetadataRequest, metadata([one], {}), metadata([one, two], {}))
    async with cluster_of(one, two, bootstrap="broker1:9092") as (cluster, _):
        await cluster.metadata()
        assert await cluster.request(BEAT, Broker(1)) == ALIVE
        assert await cluster.request(BEAT, Broker(2)) == ALIVE
        with pytest.raises(KafkaError, match="broker 3: broker 3 is not known") as raised:
            await cluster.request(BEAT, Broker(3))
    assert raised.value.code == ErrorCode.BROKER_NOT_AVAILABLE


@in_trio
async def test_an_answer_that_never_comes_is_not_checked() -> None:
    one, _ = two_brokers({})
    one.on(ProduceRequest, SILENCE)
    async with cluster_of(one) as (cluster, _):
        assert await cluster.request(ProduceRequest(acks=0, timeout_ms=1, topic_data=[])) is None


# Coordinators


@in_trio
async def test_a_coordinator_is_looked_up_once() -> None:
    one, two = two_brokers({})
    one.on(FindCoordinatorRequest, coordinators(g=two))
    async with cluster_of(one, two, bootstrap="broker1:9092") as (cluster, _):
        for _ in range(3):
            assert await cluster.request(BEAT, group("g")) == ALIVE
    assert len(one.requests(FindCoordinatorRequest)) == 1
    assert beats(two) == 3


@in_trio
async def test_a_coordinator_that_moved_is_looked_up_again() -> None:
    one, two = two_brokers({})
    for broker in (one, two):
        broker.on(FindCoordinatorRequest, coordinators(g=two))
    async with cluster_of(one, two, bootstrap="broker1:9092") as (cluster, _):
        await cluster.request(BEAT, group("g"))
        two.on(HeartbeatRequest, refusing(ErrorCode.NOT_COORDINATOR))
        for broker in (one, two):
            broker.on(FindCoordinatorRequest, coordinators(g=one))
        assert await cluster.request(BEAT, group("g")) == ALIVE
    assert (beats(one), beats(two)) == (1, 2)


@in_trio
async def test_a_coordinator_that_died_is_looked_up_again() -> None:
    one, two = two_brokers({})
    one.on(FindCoordinatorRequest, coordinators(g=two), coordinators(g=one))
    two.on(HeartbeatRequest, HANG_UP)
    two.on(FindCoordinatorRequest, coordinators(g=one))
    async with cluster_of(one, two, bootstrap="broker1:9092") as (cluster, _):
        assert await cluster.request(BEAT, group("g")) == ALIVE
    assert (beats(one), beats(two)) == (1, 1)


@in_trio
async def test_a_coordinator_that_left_the_cluster_is_looked_up_again() -> None:
    one, two = two_brokers({})
    one.on(FindCoordinatorRequest, coordinators(g=two), coordinators(g=one))
    for broker in (one, two):
        broker.on(MetadataRequest, metadata([one], {}))
    async with cluster_of(one, two, bootstrap="broker1:9092") as (cluster, _):
        await cluster.coordinators(CoordinatorType.GROUP, ["g"])
        await cluster.metadata()
        assert await cluster.request(BEAT, group("g")) == ALIVE
    assert (beats(one), beats(two)) == (1, 0)


@in_trio
async def test_many_coordinators_are_looked_up_together_and_remembered() -> None:
    one, two = two_brokers({})
    one.on(FindCoordinatorRequest, coordinators(a=one, b=two), coordinators(c=one))
    async with cluster_of(one, two, bootstrap="broker1:9092") as (cluster, _):
        assert await cluster.coordinators(CoordinatorType.GROUP, ["a", "b", "a"]) == {"a": 1, "b": 2}
        one.on(FindCoordinatorRequest, coordinators(c=one))
        two.on(FindCoordinatorRequest, coordinators(c=one))
        assert await cluster.coordinators(CoordinatorType.GROUP, ["b", "c"]) == {"b": 2, "c": 1}
    asked = [request.coordinator_keys for broker in (one, two) for request in broker.requests(FindCoordinatorRequest)]
    assert asked == [["a", "b"], ["c"]]


# The end


@in_trio
async def test_a_closed_cluster_opens_nothing() -> None:
    one, _ = two_brokers({})
    async with cluster_of(one) as (cluster, net):
        await cluster.metadata()
        await cluster.aclose()
        with pytest.raises(ConnectionLost, match="the client was closed"):
            await cluster.send(BEAT)
        before = trio.current_time()
        with pytest.raises(ConnectionLost, match="the client was closed"):
            await cluster.request(BEAT)
        assert trio.current_time() == before, "it is not tried again"
    assert len(net.tried) == 1


@in_trio
async def test_settings_reach_the_requests() -> None:
    one, _ = two_brokers({})
    async with network(one) as net:
        settings = Settings(client_id="me", auto_create_topics=True)
        async with Cluster(["broker1"], settings, open_stream=net.open_stream) as cluster:
            await cluster.metadata()
    assert {header.client_id for header, _ in one.received} == {"me"}
    assert one.requests(MetadataRequest)[0].allow_auto_topic_creation
