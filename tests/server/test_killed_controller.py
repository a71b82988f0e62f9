"""A node that is killed, and leads the quorum and a partition, is not waited for: its port says that it is gone."""

from __future__ import annotations

import contextlib
from pathlib import Path

from ottla.client.blocking import Client
from ottla.wire.messages.quorum import DescribeQuorumRequest
from ottla.wire.messages.topics import CreateTopicsRequest
from tests.held_ports import HOST, held_port
from tests.server.node_process import ANNOUNCEMENT, NodeProcess, a_process
from tests.server.world import batch

CLUSTER_ID = "abcdefghijklmnopqrstuw"
TOPIC = "topic"
# Whoever waits for one of them waits longer than the test may take.
TOO_LONG = {"controller.quorum.fetch.timeout.ms": "600000", "broker.session.timeout.ms": "600000"}
NODES = 3


def settings(id: int, ports: list[tuple[int, int]], path: Path) -> list[str]:
    port, controller_port = ports[id - 1]
    voters = ",".join(f"{number}@{HOST}:{controller}" for number, (_, controller) in enumerate(ports, 1))
    given = {
        **TOO_LONG,
        "node.id": str(id),
        "process.roles": "broker,controller",
        "cluster.id": CLUSTER_ID,
        "log.dirs": str(path / str(id)),
        "listeners": f"PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": voters,
        "min.insync.replicas": "2",
    }
    return [word for key, value in given.items() for word in (f"--{key}", value)]


def controller_of(client: Client) -> int:
    partition = DescribeQuorumRequest.PartitionData(partition_index=0)
    topic = DescribeQuorumRequest.TopicData(topic_name="__cluster_metadata", partitions=[partition])
    return int(client.request(DescribeQuorumRequest(topics=[topic])).topics[0].partitions[0].leader_id)


def create(client: Client, replicas: list[int]) -> None:
    """One partition; the first of these leads it."""
    assigned = CreateTopicsRequest.CreatableReplicaAssignment(partition_index=0, broker_ids=replicas)
    wanted = CreateTopicsRequest.CreatableTopic(
        name=TOPIC, num_partitions=-1, replication_factor=-1, assignments=[assigned], configs=[]
    )
    answer = client.request(CreateTopicsRequest(topics=[wanted], timeout_ms=30_000))
    assert answer.topics[0].error_code == 0, answer.topics[0].error_message


def test_others_lead_before_a_fetch_or_a_session_has_timed_out(tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        ports = [(stack.enter_context(held_port()), stack.enter_context(held_port())) for _ in range(NODES)]
        nodes: list[NodeProcess] = [
            stack.enter_context(a_process(*settings(id, ports, tmp_path))) for id in range(1, NODES + 1)
        ]
        for node in nodes:
            node.line(ANNOUNCEMENT)
        client = stack.enter_context(Client([f"{HOST}:{port}" for port, _ in ports]))
        first = controller_of(client)
        create(client, [first, *(id for id in range(1, NODES + 1) if id != first)])
        client.produce(TOPIC, 0, batch(b"before"))
        nodes[first - 1].kill()
        after = client.produce(TOPIC, 0, batch(b"after"))
        assert after is not None
        assert after.base_offset >= 1, "what was acknowledged is there"
        assert controller_of(client) != first
