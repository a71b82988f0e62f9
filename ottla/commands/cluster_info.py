"""`ottla cluster info`: three questions to the cluster at once, put together to one picture.

A broker that does not serve DescribeQuorum (ZooKeeper's, or one that may not tell) leaves the quorum out.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import Any

from ottla.client.cluster import Cluster
from ottla.client.failures import check
from ottla.client.together import together
from ottla.client.versions import introduction
from ottla.commands import EXIT_OK
from ottla.commands.asking import asking
from ottla.commands.terminal import Column, Row, Table, Terminal
from ottla.commands.text_form import compact_json, printable
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.api_versions import ApiVersionsResponse
from ottla.wire.messages.metadata import DescribeClusterRequest, DescribeClusterResponse
from ottla.wire.messages.quorum import DescribeQuorumRequest, DescribeQuorumResponse
from ottla.wire.schema import VERSION_MAX, Versions

WITH_FENCED_VERSIONS = Versions(2, VERSION_MAX)
METADATA_TOPIC = "__cluster_metadata"
_UNTOLD = (ErrorCode.UNSUPPORTED_VERSION, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)

BROKER_COLUMNS = (
    Column("BROKER", lambda row: str(row["id"]), is_number=True),
    Column("ADDRESS", lambda row: f"{row['host']}:{row['port']}"),
    Column("RACK", lambda row: row["rack"] or "-"),
    Column("STATE", lambda row: "fenced" if row["isFenced"] else "serving", is_remarkable=lambda row: row["isFenced"]),
)
FEATURE_COLUMNS = (
    Column("FEATURE", lambda row: str(row["name"])),
    Column("LEVEL", lambda row: str(row["level"]), is_number=True),
    Column("SUPPORTED", lambda row: f"{row['supportedMin']}-{row['supportedMax']}"),
)
VOTER_COLUMNS = (
    Column("QUORUM", lambda row: str(row["id"]), is_number=True),
    Column("ROLE", lambda row: str(row["role"])),
    Column("NEXT OFFSET", lambda row: str(row["logEndOffset"]), is_number=True),
    Column("LAG", lambda row: str(row["lag"]), True, lambda row: row["lag"] > 0),
)


def info(parsed: argparse.Namespace) -> int:
    terminal = Terminal(sys.stdout)
    with asking(parsed) as client:
        picture = client.call(ask)
    if parsed.json:
        terminal.line(compact_json(picture))
        return EXIT_OK
    terminal.line(f"cluster {terminal.bold(printable(picture['clusterId']))}, controller {picture['controller']}")
    _table(terminal, BROKER_COLUMNS, picture["brokers"])
    _table(terminal, FEATURE_COLUMNS, picture["features"])
    if picture["quorum"] is not None:
        quorum = picture["quorum"]
        terminal.line()
        terminal.line(
            f"quorum: leader {quorum['leader']}, epoch {quorum['epoch']}, high watermark {quorum['highWatermark']}"
        )
        _table(terminal, VOTER_COLUMNS, quorum["replicas"])
    return EXIT_OK


def _table(terminal: Terminal, columns: tuple[Column, ...], rows: list[Row]) -> None:
    terminal.line()
    with Table(terminal, columns) as table:
        for row in rows:
            table.row(row)


async def ask(cluster: Cluster) -> Row:
    """The picture, as a JSON object."""
    questions: list[Any] = [
        partial(_described, cluster),
        partial(cluster.request, introduction()),
        partial(_quorum, cluster),
    ]
    described, versions, quorum = await together(questions)
    return {**_nodes(described), "features": _features(versions), "quorum": quorum}


async def _described(cluster: Cluster) -> DescribeClusterResponse:
    """With the brokers that are fenced, if the cluster can tell (KIP-1073)."""
    wide = DescribeClusterRequest(include_cluster_authorized_operations=False, include_fenced_brokers=True)
    try:
        response: DescribeClusterResponse = await cluster.request(wide, within=WITH_FENCED_VERSIONS)
    except KafkaError as error:
        if error.code != ErrorCode.UNSUPPORTED_VERSION:
            raise
        response = await cluster.request(DescribeClusterRequest(include_cluster_authorized_operations=False))
    return response


def _nodes(described: DescribeClusterResponse) -> Row:
    brokers = [
        {
            "id": broker.broker_id,
            "host": broker.host,
            "port": broker.port,
            "rack": broker.rack,
            "isFenced": broker.is_fenced,
        }
        for broker in sorted(described.brokers, key=lambda one: one.broker_id)
    ]
    return {"clusterId": described.cluster_id, "controller": described.controller_id, "brokers": brokers}


def _features(versions: ApiVersionsResponse) -> list[Row]:
    levels = {feature.name: feature.max_version_level for feature in versions.finalized_features}
    return [
        {
            "name": feature.name,
            "level": levels.get(feature.name, 0),
            "supportedMin": feature.min_version,
            "supportedMax": feature.max_version,
        }
        for feature in sorted(versions.supported_features, key=lambda one: one.name)
    ]


async def _quorum(cluster: Cluster) -> Row | None:
    asked = DescribeQuorumRequest.TopicData(
        topic_name=METADATA_TOPIC, partitions=[DescribeQuorumRequest.PartitionData(partition_index=0)]
    )

    def check_partition(response: DescribeQuorumResponse) -> None:
        check(response.error_code, "the quorum", response.error_message)
        for topic in response.topics:
            for one in topic.partitions:
                check(one.error_code, "the quorum", one.error_message)

    try:
        response: DescribeQuorumResponse = await cluster.request(
            DescribeQuorumRequest(topics=[asked]), check=check_partition
        )
    except KafkaError as error:
        if error.code in _UNTOLD:
            return None
        raise
    ((partition,),) = (topic.partitions for topic in response.topics)
    end_offset = max(replica.log_end_offset for replica in partition.current_voters)
    replicas = [
        {
            "id": replica.replica_id,
            "role": "leader" if replica.replica_id == partition.leader_id and role == "voter" else role,
            "logEndOffset": replica.log_end_offset,
            "lag": max(0, end_offset - replica.log_end_offset),
        }
        for role, found in (("voter", partition.current_voters), ("observer", partition.observers))
        for replica in found
    ]
    return {
        "leader": partition.leader_id,
        "epoch": partition.leader_epoch,
        "highWatermark": partition.high_watermark,
        "replicas": replicas,
    }
