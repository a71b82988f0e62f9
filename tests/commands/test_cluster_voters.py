"""A fourth node joins three, votes, votes no more, and is forgotten."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ottla.client.blocking import Client
from ottla.commands.cluster_voters import insist
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.quorum import (
    AddRaftVoterRequest,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    RemoveRaftVoterRequest,
)
from ottla.wire.schema import Request, Response
from tests.commands.command_line import CommandLine
from tests.commands.three_nodes import Nodes, until

DIRECTORY_ID = b"the directory id"
ADD = AddRaftVoterRequest(cluster_id=None, timeout_ms=1, voter_id=4, voter_directory_id=DIRECTORY_ID, listeners=[])
REMOVE = RemoveRaftVoterRequest(cluster_id=None, voter_id=4, voter_directory_id=DIRECTORY_ID)


def roles(three: Nodes) -> dict[int, str]:
    (picture,) = three.command_line.ok("cluster", "info", "--json").rows
    found: dict[str, Any] = picture["quorum"]
    return {one["id"]: "voter" if one["role"] == "leader" else one["role"] for one in found["replicas"]}


def test_a_node_joins_and_leaves(three: Nodes) -> None:
    ottla = three.command_line
    voters = dict.fromkeys((1, 2, 3), "voter")
    assert ottla("cluster", "add-voter", "4", "--listener", three.controller(4)).status == 1, "it is not there"
    three.format(4, "--no-initial-controllers")
    three.begin(4)
    assert roles(three) == {**voters, 4: "observer"}
    told = ottla.ok("cluster", "add-voter", "4", "--listener", three.controller(4))
    assert told.err.endswith(") votes; 4 voters\n")
    assert roles(three) == {**voters, 4: "voter"}
    assert "is a voter already" in ottla("cluster", "add-voter", "4", "--listener", three.controller(4)).err
    ottla.ok("cluster", "remove-voter", "4")
    assert roles(three)[4] == "observer"
    assert "no node 4 is a voter" in ottla("cluster", "remove-voter", "4").err
    three.stop(4)
    ottla.ok("cluster", "unregister", "4", "--yes")
    until(lambda: len(ottla.ok("cluster", "info", "--json").rows[0]["brokers"]) == 3)


class LeaderGone:
    """A cluster whose leader has done, or not, what was asked of it, and went before it said so."""

    def __init__(self, code: ErrorCode, *voter_ids: int) -> None:
        self._code = code
        voters = [
            DescribeQuorumResponse.ReplicaState(replica_id=id, replica_directory_id=DIRECTORY_ID, log_end_offset=1)
            for id in voter_ids
        ]
        partition = DescribeQuorumResponse.PartitionData(
            partition_index=0, leader_id=1, leader_epoch=1, high_watermark=1, current_voters=voters, observers=[]
        )
        topic = DescribeQuorumResponse.TopicData(topic_name="__cluster_metadata", partitions=[partition])
        self._described = DescribeQuorumResponse(topics=[topic])

    def request(self, request: Request, to: object, **options: object) -> Response:
        if isinstance(request, DescribeQuorumRequest):
            return self._described
        raise KafkaError(self._code, "asked again")


@pytest.mark.parametrize(
    ("request_", "code", "voters", "is_done"),
    [
        (ADD, ErrorCode.DUPLICATE_VOTER, (1, 4), True),
        (ADD, ErrorCode.DUPLICATE_VOTER, (1,), False),
        (ADD, ErrorCode.INVALID_REQUEST, (1, 4), False),
        (REMOVE, ErrorCode.VOTER_NOT_FOUND, (1,), True),
        (REMOVE, ErrorCode.VOTER_NOT_FOUND, (1, 4), False),
    ],
)
def test_what_a_leader_did_before_it_went_is_done(
    request_: AddRaftVoterRequest | RemoveRaftVoterRequest, code: ErrorCode, voters: tuple[int, ...], is_done: bool
) -> None:
    when_done = ErrorCode.DUPLICATE_VOTER if request_ is ADD else ErrorCode.VOTER_NOT_FOUND
    client = cast("Client", LeaderGone(code, *voters))
    if is_done:
        insist(client, request_, when_done)
        return
    with pytest.raises(KafkaError):
        insist(client, request_, when_done)


@pytest.mark.parametrize(
    ("words", "status", "reason"),
    [
        ("add-voter 4 --listener one:9093", 2, "NAME://HOST:PORT"),
        ("add-voter 4 --listener CONTROLLER://one:99999", 2, "NAME://HOST:PORT"),
        ("add-voter 4 --listener CONTROLLER://one:1", 1, "no node 4 follows the quorum; start it first"),
        ("remove-voter 1 --directory-id short", 2, "--directory-id"),
        ("remove-voter 1", 1, "(VOTER_NOT_FOUND)"),
        ("unregister 77", 2, "--yes"),
        ("unregister 77 --yes", 1, "BROKER_ID_NOT_REGISTERED"),
    ],
)
def test_mistakes_are_told(ottla: CommandLine, words: str, status: int, reason: str) -> None:
    told = ottla("cluster", *words.split())
    assert (told.status, reason in told.err) == (status, True), told.err
