"""The quorum's messages: every version can carry what is built, and nothing a peer leaves out is an exception."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.cluster import raft_messages as messages
from ottla.cluster.raft_log import OffsetAndEpoch
from ottla.cluster.raft_messages import Context, LeaderInfo, leader_endpoints, named_endpoints, only_partition
from ottla.cluster.voters import Endpoint
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.fetch import FetchRequest, FetchResponse
from ottla.wire.messages.quorum import (
    AddRaftVoterRequest,
    BeginQuorumEpochRequest,
    FetchSnapshotRequest,
    VoteRequest,
    VoteResponse,
)
from ottla.wire.schema import Message
from tests.cluster.raft_replica import CLUSTER, LISTENER, endpoints, key, leader_info, voter

END = OffsetAndEpoch(7, 3)
REQUESTS = [
    messages.vote_request(CLUSTER, 4, key(1), key(2), END, is_pre_vote=False),
    messages.begin_quorum_epoch_request(CLUSTER, 4, 1, endpoints(1), key(2)),
    messages.end_quorum_epoch_request(CLUSTER, 4, 1, endpoints(1), [key(2), key(3)]),
    messages.fetch_snapshot_request(CLUSTER, key(1), 4, END, 10, 1000),
    messages.update_voter_request(CLUSTER, 4, voter(1)),
    messages.add_voter_request(CLUSTER, voter(1), 1000),
    messages.remove_voter_request(CLUSTER, key(1)),
]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: type(request).__name__)
def test_requests_can_be_sent_and_read(request_: Message) -> None:
    high = type(request_).versions.high
    data = request_.encode(high)
    assert type(request_).decode(data, high).encode(high) == data
    for version in () if isinstance(request_, AddRaftVoterRequest) else range(high):
        assert request_.encode(version), "nothing in it stops an older version"


def test_a_fetch_names_the_partition_in_every_version_that_kraft_uses() -> None:
    request = messages.fetch_request(CLUSTER, key(1), 4, END, 5, 1000, 500)
    for version in (15, 16, 17, 18):
        read = FetchRequest.decode(request.encode(version), version)
        partition = only_partition(read.topics)
        assert partition.fetch_offset == 7
        assert read.replica_state.replica_id == 1


def responses(version: int, fetch_version: int) -> list[tuple[Message, int]]:
    context, leader = Context(version, LISTENER), leader_info(2, 4)
    return [
        (messages.vote_response(context, leader, ErrorCode.NONE, is_granted=True), version),
        (messages.begin_quorum_epoch_response(context, leader, ErrorCode.NONE), version),
        (messages.end_quorum_epoch_response(context, leader, ErrorCode.NONE), version),
        (messages.fetch_snapshot_response(context, leader, ErrorCode.NONE, END, 100, 10), version),
        (messages.fetch_response(Context(fetch_version, LISTENER), leader, ErrorCode.NONE, 5, 0), fetch_version),
    ]


@pytest.mark.parametrize(("response", "version"), responses(0, 11) + responses(1, 18))
def test_an_answer_says_where_the_leader_is_if_its_version_can(response: Any, version: int) -> None:
    read = type(response).decode(response.encode(version), version)
    is_new = version in (1, 18)
    assert [node.port for node in getattr(read, "node_endpoints", [])] == ([9002] if is_new else [])


def test_an_answer_does_not_say_where_a_leader_is_that_is_not_known_there() -> None:
    context = Context(1, "ANOTHER")
    assert messages.vote_response(context, leader_info(2, 4), ErrorCode.NONE, is_granted=False).node_endpoints == []
    nobody = messages.vote_response(context, LeaderInfo(None, 4), ErrorCode.NONE, is_granted=False)
    assert nobody.topics[0].partitions[0].leader_id == -1


def vote_topic(name: str = "__cluster_metadata", index: int = 0, count: int = 1) -> Any:
    request = messages.vote_request(CLUSTER, 4, key(1), key(2), END, is_pre_vote=False)
    topic = request.topics[0]
    topic.topic_name = name
    topic.partitions[0].partition_index = index
    topic.partitions = topic.partitions * count
    return topic


def test_the_metadata_partition_must_be_all_that_a_message_is_about() -> None:
    assert only_partition([vote_topic()]) is not None
    assert only_partition([]) is None
    assert only_partition([vote_topic(), vote_topic()]) is None
    assert only_partition([vote_topic(count=0)]) is None
    assert only_partition([vote_topic(count=2)]) is None
    assert only_partition([vote_topic(name="orders")]) is None
    assert only_partition([vote_topic(name="")]) is None
    assert only_partition([vote_topic(index=1)]) is None


def test_the_partition_is_found_in_every_kind_of_message() -> None:
    fetch = FetchResponse.decode(responses(1, 18)[4][0].encode(18), 18)
    assert only_partition(fetch.responses) is fetch.responses[0].partitions[0]
    snapshot = REQUESTS[3]
    assert isinstance(snapshot, FetchSnapshotRequest)
    assert only_partition(snapshot.topics) is snapshot.topics[0].partitions[0]
    assert isinstance(REQUESTS[0], VoteRequest)


def test_endpoints_are_found_by_the_leaders_id_or_by_name() -> None:
    nodes = [
        VoteResponse.NodeEndpoint(node_id=3, host="h", port=1),
        VoteResponse.NodeEndpoint(node_id=2, host="i", port=2),
    ]
    assert leader_endpoints("L", 2, nodes) == {"L": Endpoint("i", 2)}
    assert leader_endpoints("L", None, nodes) == {}
    listeners = [BeginQuorumEpochRequest.LeaderEndpoint(name="A", host="h", port=1)]
    assert named_endpoints(listeners) == {"A": Endpoint("h", 1)}
