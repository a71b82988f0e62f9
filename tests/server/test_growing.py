"""A quorum whose voters are in the log: begun by three, joined, left, and found again by who has moved (KIP-853)."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.client.cluster import Cluster
from ottla.cluster.voters import ReplicaKey
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.quorum import (
    AddRaftVoterRequest,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    RemoveRaftVoterRequest,
)
from tests.server.cluster_world import ClusterNode, until
from tests.server.growing_world import GrowingCluster, a_growing_cluster, controller_address, format_node
from tests.server.test_cluster import in_trio

DESCRIBE = DescribeQuorumRequest(
    topics=[
        DescribeQuorumRequest.TopicData(
            topic_name="__cluster_metadata", partitions=[DescribeQuorumRequest.PartitionData(partition_index=0)]
        )
    ]
)


def voter_ids(node: ClusterNode) -> list[int]:
    """The voters as a node knows them."""
    return node.broker.quorum.raft.voters.ids


def directory_id(node: ClusterNode) -> bytes:
    return node.broker.directories.directories[0].meta.directory_id or b""


def addition(node: ClusterNode) -> AddRaftVoterRequest:
    host, _, port = controller_address(node).partition(":")
    listener = AddRaftVoterRequest.Listener(name="CONTROLLER", host=host, port=int(port))
    return AddRaftVoterRequest(
        cluster_id=None,
        timeout_ms=30_000,
        voter_id=node.id,
        voter_directory_id=directory_id(node),
        listeners=[listener],
    )


def removal(node: ClusterNode) -> RemoveRaftVoterRequest:
    return RemoveRaftVoterRequest(cluster_id=None, voter_id=node.id, voter_directory_id=directory_id(node))


async def partition_of(client: Cluster) -> DescribeQuorumResponse.PartitionData:
    response: DescribeQuorumResponse = await client.request(DESCRIBE)
    return response.topics[0].partitions[0]


async def promote(cluster: GrowingCluster, node: ClusterNode) -> None:
    """Ask the node itself, which is no voter, to pass it on."""
    async with cluster.client(node.id) as client:
        response = await client.request(addition(node))
    assert response.error_code == ErrorCode.NONE, response.error_message


@in_trio
async def test_three_that_were_formatted_together_are_a_quorum(tmp_path: Path) -> None:
    async with a_growing_cluster(tmp_path, 3) as cluster:
        assert all(voter_ids(node) == [1, 2, 3] for node in cluster.nodes)
        assert all(node.broker.quorum.raft.kraft_version == 1 for node in cluster.nodes)
        for node in cluster.nodes:  # whichever is asked, the leader answers
            async with cluster.client(node.id) as client:
                told = await partition_of(client)
            assert {one.replica_id for one in told.current_voters} == {1, 2, 3}
        await cluster.create("topic", partitions=3, replicas=3)


@pytest.mark.parametrize("is_formatted", [True, False])
def test_a_node_that_joins_is_an_observer_until_it_is_added(tmp_path: Path, is_formatted: bool) -> None:
    @in_trio
    async def run() -> None:
        async with a_growing_cluster(tmp_path, 3) as cluster:
            fourth = cluster.add(4)
            if is_formatted:
                format_node(fourth)
            await fourth.start()
            assert voter_ids(fourth) == [1, 2, 3]
            async with cluster.client(4) as client:
                assert {one.replica_id for one in (await partition_of(client)).observers} == {4}
            await promote(cluster, fourth)
            await until(lambda: all(voter_ids(node) == [1, 2, 3, 4] for node in cluster.nodes))
            await cluster.create("topic", replicas=4)

    run()


@in_trio
async def test_a_controller_joins_by_itself_where_it_may(tmp_path: Path) -> None:
    async with a_growing_cluster(tmp_path, 1, controller_quorum_auto_join_enable="true") as cluster:
        for id in (2, 3):
            await cluster.add(id).start()
        await until(lambda: all(voter_ids(node) == [1, 2, 3] for node in cluster.nodes))
        await cluster.node(1).stop()
        await until(lambda: cluster.controller)
        await cluster.create("topic", replicas=2)


@in_trio
async def test_a_voter_is_removed_and_the_others_go_on_without_it(tmp_path: Path) -> None:
    async with a_growing_cluster(tmp_path, 3) as cluster:
        leader = await until(lambda: cluster.controller)
        async with cluster.client(leader.id) as client:
            response = await client.request(removal(leader))
        assert response.error_code == ErrorCode.NONE, response.error_message
        others = [node for node in cluster.nodes if node is not leader]
        await until(lambda: all(voter_ids(node) == [one.id for one in others] for node in cluster.nodes))
        await until(lambda: cluster.controller in others)
        await leader.stop()
        await leader.start()
        assert leader.id not in voter_ids(leader), "it came back as an observer"
        await cluster.create("topic", replicas=3)


@in_trio
async def test_a_voter_that_has_moved_says_so(tmp_path: Path) -> None:
    async with a_growing_cluster(tmp_path, 3) as cluster:
        moved = next(node for node in cluster.nodes if node is not cluster.controller)
        await moved.stop()
        cluster.move_controller(moved)
        await moved.start()
        address = controller_address(moved)

        def is_known(node: ClusterNode) -> bool:
            endpoint = node.broker.quorum.raft.voters.endpoints(moved.id)["CONTROLLER"]
            return f"{endpoint.host}:{endpoint.port}" == address

        await until(lambda: all(is_known(node) for node in cluster.nodes))


@in_trio
async def test_a_voter_that_lost_its_disk_is_somebody_else_until_it_is_added(tmp_path: Path) -> None:
    async with a_growing_cluster(tmp_path, 3) as cluster:
        lost = next(node for node in cluster.nodes if node is not cluster.controller)
        was = removal(lost)
        await lost.stop()
        lost.settings["log.dirs"] = str(tmp_path / "another disk")
        await lost.start()
        async with cluster.client(lost.id) as client:
            again = await client.request(addition(lost), check=lambda response: None)
            assert again.error_code == ErrorCode.DUPLICATE_VOTER
            assert (await client.request(was)).error_code == ErrorCode.NONE
        await promote(cluster, lost)
        key = ReplicaKey(lost.id, directory_id(lost))
        await until(lambda: all(node.broker.quorum.raft.voters.is_voter(key) for node in cluster.nodes))
