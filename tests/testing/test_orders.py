"""What a test orders happens, and clients see it as they would see it happen by itself."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from itertools import count

import pytest

from ottla.client.blocking import BlockingConnection
from ottla.client.failures import ConnectionLost
from ottla.testing import Broker, BrokerError
from ottla.testing.orders import ORDERS
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.classic_groups import (
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
)
from ottla.wire.messages.configs import DescribeConfigsRequest
from ottla.wire.messages.consumer_groups import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from ottla.wire.messages.metadata import MetadataRequest, MetadataResponse
from tests.testing.brokers import CLIENT_ID, a_client, a_connection, consume, produce, try_to_produce

names = (f"topic-{number}" for number in count())


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(in_thread=True) as broker:
        yield broker


@pytest.fixture
def connection(broker: Broker) -> Iterator[BlockingConnection]:
    with a_connection(broker) as connection:
        yield connection


@pytest.fixture
def topic(broker: Broker) -> str:
    name = next(names)
    broker.create_topic(name)
    return name


# Topics


def test_a_topic_is_there_with_what_was_ordered(broker: Broker) -> None:
    name = next(names)
    broker.create_topic(name, partitions=3, configs={"retention.ms": 1234, "preallocate": True})
    with a_client(broker) as client:
        assert len(client.metadata(name).topic(name).partitions) == 3
        resource = DescribeConfigsRequest.DescribeConfigsResource(
            resource_type=2, resource_name=name, configuration_keys=["retention.ms", "preallocate"]
        )
        (result,) = client.request(DescribeConfigsRequest(resources=[resource])).results
        assert {one.name: one.value for one in result.configs} == {"retention.ms": "1234", "preallocate": "true"}


def test_a_deleted_topic_is_gone(broker: Broker, topic: str, connection: BlockingConnection) -> None:
    broker.delete_topic(topic)
    assert try_to_produce(connection, topic) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


# Faults


@pytest.mark.parametrize("api", ["Produce", "produce", "PRODUCE", 0])
@pytest.mark.parametrize("error", ["NOT_LEADER_OR_FOLLOWER", 6, ErrorCode.NOT_LEADER_OR_FOLLOWER])
def test_api_and_error_have_names_and_numbers(
    broker: Broker, topic: str, connection: BlockingConnection, api: str, error: str | int
) -> None:
    fault = broker.fail_next(api, error)
    assert [try_to_produce(connection, topic) for _ in range(2)] == [6, 0]
    assert fault.taken == 1


def test_names_of_several_words_are_found(broker: Broker, connection: BlockingConnection) -> None:
    for name in ("FindCoordinator", "find_coordinator"):
        broker.fail_next(name, "COORDINATOR_NOT_AVAILABLE")
        response = connection.request(FindCoordinatorRequest(key="g"), 0)
        assert response.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_a_client_can_be_singled_out(broker: Broker, topic: str, connection: BlockingConnection) -> None:
    fault = broker.fail_next("Produce", 6, client_id="another", times=None)
    with a_connection(broker, "another") as another:
        assert try_to_produce(another, topic) == 6
        assert try_to_produce(connection, topic) == 0
        assert try_to_produce(another, topic) == 6
        fault.remove()
        assert try_to_produce(another, topic) == 0
    assert fault.taken == 2


def test_a_test_can_clear_up(broker: Broker, topic: str, connection: BlockingConnection) -> None:
    broker.fail_next("Produce", 6, times=None)
    broker.cut_off_next("Produce", times=None)
    broker.remove_faults()
    assert try_to_produce(connection, topic) == 0


def test_an_order_does_not_meet_the_faults_that_were_ordered(broker: Broker) -> None:
    fault = broker.fail_next("CreateTopics", "NOT_CONTROLLER", times=None)
    metadata = broker.fail_next("Metadata", "UNKNOWN_SERVER_ERROR", times=None)
    broker.create_topic(next(names))
    assert (fault.taken, metadata.taken) == (0, 0)
    broker.remove_faults()


def test_an_answer_can_be_late(broker: Broker, topic: str, connection: BlockingConnection) -> None:
    fault = broker.delay_next("Produce", 0.01)
    assert try_to_produce(connection, topic) == 0
    assert fault.taken == 1


def test_a_connection_can_be_lost(broker: Broker, topic: str, connection: BlockingConnection) -> None:
    broker.cut_off_next("Produce", client_id=CLIENT_ID)
    with pytest.raises(ConnectionLost):
        try_to_produce(connection, topic, b"written all the same")
    assert consume(broker, topic) == [b"written all the same"]


# Leaders


def leader(connection: BlockingConnection, topic: str) -> tuple[int, int, int]:
    """Who leads partition 0, in which epoch, and the error that goes with it."""
    asked = MetadataRequest.MetadataRequestTopic(name=topic)
    response: MetadataResponse = connection.request(MetadataRequest(topics=[asked]), 12)
    (partition,) = response.topics[0].partitions
    return partition.leader_id, partition.leader_epoch, partition.error_code


def test_a_leader_goes_and_comes_back_in_a_later_epoch(
    broker: Broker, topic: str, connection: BlockingConnection
) -> None:
    assert leader(connection, topic) == (1, 0, 0)
    with broker.without_leader(topic):
        assert leader(connection, topic) == (-1, 1, ErrorCode.LEADER_NOT_AVAILABLE)
        assert try_to_produce(connection, topic) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert leader(connection, topic) == (1, 2, 0)
    assert try_to_produce(connection, topic) == 0


def test_a_leader_that_moves_loses_no_records(broker: Broker, topic: str, connection: BlockingConnection) -> None:
    produce(broker, topic, b"before")
    broker.move_leader(topic)
    produce(broker, topic, b"after")
    assert consume(broker, topic) == [b"before", b"after"]
    assert leader(connection, topic)[1] == 2


def test_a_broker_that_starts_anew_takes_what_nobody_leads() -> None:
    with Broker(in_thread=True) as broker:
        broker.create_topic("t")
        with broker.without_leader("t"):
            broker.kill()
        broker.start()
        produce(broker, "t", b"here")
        assert consume(broker, "t") == [b"here"]


# Members


def join(connection: BlockingConnection, group: str) -> tuple[str, int]:
    """A member of a classic group, with the generation that it is in."""
    protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"")
    request = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
        member_id="",
        protocol_type="consumer",
        protocols=[protocol],
    )
    joined: JoinGroupResponse = connection.request(request, 3)
    assert joined.error_code == 0
    request_of_all = SyncGroupRequest(
        group_id=group, generation_id=joined.generation_id, member_id=joined.member_id, assignments=[]
    )
    assert connection.request(request_of_all, 2).error_code == 0
    return joined.member_id, joined.generation_id


def heartbeat(connection: BlockingConnection, group: str, member_id: str, generation_id: int) -> int:
    request = HeartbeatRequest(group_id=group, generation_id=generation_id, member_id=member_id)
    return int(connection.request(request, 3).error_code)


@pytest.fixture
def coordinated(broker: Broker, connection: BlockingConnection) -> BlockingConnection:
    """A connection to a broker whose groups have their topic."""
    with a_client(broker) as client:
        client.request(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]))
        client.metadata("__consumer_offsets")
    return connection


@pytest.mark.parametrize("by", ["member id", "client id", "nothing"])
def test_a_member_that_was_thrown_out_is_told_by_its_next_heartbeat(
    broker: Broker, coordinated: BlockingConnection, by: str
) -> None:
    group = f"classic by {by}"
    member_id, generation_id = join(coordinated, group)
    assert heartbeat(coordinated, group, member_id, generation_id) == 0
    names = {"member id": member_id, "client id": CLIENT_ID, "nothing": None}
    assert broker.fence_member(group, names[by]) == [member_id]
    assert heartbeat(coordinated, group, member_id, generation_id) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_that_the_group_does_not_have_is_told_of(broker: Broker, coordinated: BlockingConnection) -> None:
    member_id, generation_id = join(coordinated, "whole")
    with pytest.raises(BrokerError, match=f"no member nobody, only {CLIENT_ID} .{member_id}"):
        broker.fence_member("whole", "nobody")
    assert heartbeat(coordinated, "whole", member_id, generation_id) == 0


def test_a_member_of_a_new_group_is_thrown_out_as_well(
    broker: Broker, coordinated: BlockingConnection, topic: str
) -> None:
    def beat(epoch: int) -> ConsumerGroupHeartbeatResponse:
        request = ConsumerGroupHeartbeatRequest(
            group_id="new",
            member_id="a-member",
            member_epoch=epoch,
            rebalance_timeout_ms=30_000,
            subscribed_topic_names=[topic],
            topic_partitions=[],
        )
        response: ConsumerGroupHeartbeatResponse = coordinated.request(request, 1)
        return response

    first = beat(0)
    assert (first.error_code, beat(first.member_epoch).error_code) == (0, 0)
    assert broker.fence_member("new", "a-member") == ["a-member"]
    assert beat(first.member_epoch).error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND)


def test_every_order_is_a_coroutine_of_the_broker() -> None:
    assert all(inspect.iscoroutinefunction(order) for order in ORDERS.values())
    assert all(next(iter(inspect.signature(order).parameters)) == "served" for order in ORDERS.values())
