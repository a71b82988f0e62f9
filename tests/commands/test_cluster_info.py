"""The cluster in one picture."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.client.cluster import Cluster
from ottla.commands.cluster_info import ask
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.metadata import DescribeClusterRequest, DescribeClusterResponse
from ottla.wire.messages.quorum import DescribeQuorumRequest, DescribeQuorumResponse
from tests.client.stub_cluster import StubBroker, in_trio, network
from tests.commands.command_line import CommandLine


def test_the_picture_has_nodes_features_and_quorum(ottla: CommandLine) -> None:
    (picture,) = ottla.ok("cluster", "info", "--json").rows
    (broker,) = picture["brokers"]
    assert f"{broker['host']}:{broker['port']}" == ottla.bootstrap
    assert (broker["id"], broker["isFenced"], picture["controller"]) == (1, False, 1)
    levels = {feature["name"]: feature["level"] for feature in picture["features"]}
    assert levels["kraft.version"] == 1
    assert (picture["quorum"]["leader"], picture["quorum"]["replicas"][0]["role"]) == (1, "leader")
    assert picture["quorum"]["replicas"][0]["lag"] == 0


def test_a_person_sees_tables(ottla: CommandLine) -> None:
    told = ottla.ok("cluster", "info")
    assert told.lines[0].startswith("cluster ")
    assert told.lines[0].endswith(", controller 1")
    assert ["1", ottla.bootstrap, "-", "serving"] in [line.split() for line in told.lines]
    assert any(line.startswith("quorum: leader 1, ") for line in told.lines)


def quorum(leader_id: int) -> DescribeQuorumResponse:
    voters = [
        DescribeQuorumResponse.ReplicaState(replica_id=node_id, log_end_offset=offset)
        for node_id, offset in ((1, 50), (2, 60))
    ]
    observer = DescribeQuorumResponse.ReplicaState(replica_id=3, log_end_offset=20)
    partition = DescribeQuorumResponse.PartitionData(
        partition_index=0,
        leader_id=leader_id,
        leader_epoch=4,
        high_watermark=50,
        current_voters=voters,
        observers=[observer],
    )
    topic = DescribeQuorumResponse.TopicData(topic_name="__cluster_metadata", partitions=[partition])
    return DescribeQuorumResponse(topics=[topic])


async def picture_of(broker: StubBroker) -> dict[str, Any]:
    nodes = [DescribeClusterResponse.DescribeClusterBroker(broker_id=1, host="h", port=1, is_fenced=True)]
    broker.on(DescribeClusterRequest, DescribeClusterResponse(cluster_id="c", brokers=nodes))
    async with network(broker) as net, Cluster(net.bootstrap, open_stream=net.open_stream) as cluster:
        return await ask(cluster)


@in_trio
async def test_who_lags_in_the_quorum_is_told() -> None:
    broker = StubBroker()
    broker.on(DescribeQuorumRequest, quorum(2))
    picture = await picture_of(broker)
    assert [(one["id"], one["role"], one["lag"]) for one in picture["quorum"]["replicas"]] == [
        (1, "voter", 10),
        (2, "leader", 0),
        (3, "observer", 40),
    ]
    assert picture["brokers"][0]["isFenced"]
    assert broker.requests(DescribeClusterRequest)[0].include_fenced_brokers


@in_trio
async def test_an_old_broker_tells_neither_who_is_fenced_nor_a_quorum() -> None:
    broker = StubBroker(versions={DescribeClusterRequest: (0, 1)})
    broker.on(DescribeQuorumRequest, DescribeQuorumResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, topics=[]))

    def described(request: DescribeClusterRequest) -> DescribeClusterResponse:
        assert not request.include_fenced_brokers
        node = DescribeClusterResponse.DescribeClusterBroker(broker_id=1, host="h", port=1)
        return DescribeClusterResponse(cluster_id="c", brokers=[node])

    broker.on(DescribeClusterRequest, described)
    async with network(broker) as net, Cluster(net.bootstrap, open_stream=net.open_stream) as cluster:
        picture = await ask(cluster)
    assert (picture["quorum"], picture["brokers"][0]["isFenced"]) == (None, False)


@in_trio
async def test_other_errors_are_raised() -> None:
    broker = StubBroker()
    broker.on(DescribeQuorumRequest, DescribeQuorumResponse(error_code=ErrorCode.INVALID_REQUEST, topics=[]))
    with pytest.raises(KafkaError, match="the quorum: "):
        await picture_of(broker)
