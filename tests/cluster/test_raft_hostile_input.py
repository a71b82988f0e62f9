"""Nothing that a peer sends, in a request or in an answer, makes raft raise, and everything is answered.

Well-formed messages are taken and bent: numbers to their extremes, lists emptied and doubled, ids and texts swapped.
Then they are handed to replicas in every role. One seed is one run.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from ottla.cluster import raft_messages as messages
from ottla.cluster.quorum_state import ElectionState
from ottla.cluster.raft_effects import InstallSnapshot, Send
from ottla.cluster.raft_log import OffsetAndEpoch
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.wire.messages.fetch import FetchRequest
from ottla.wire.messages.quorum import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    BeginQuorumEpochRequest,
    DescribeQuorumRequest,
    EndQuorumEpochRequest,
    FetchSnapshotRequest,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
    VoteRequest,
)
from ottla.wire.schema import Request, Response, Struct
from tests.cluster.raft_replica import (
    CLUSTER,
    NEWEST,
    NEWEST_FETCH,
    Replica,
    batch,
    endpoints,
    key,
    leader_info,
    log_with,
    voter,
)

NUMBERS = (-(2**31), -2, -1, 0, 1, 2, 3, 4, 5, 9, 2**30)
TEXTS = ("", "CONTROLLER", "__cluster_metadata", CLUSTER, "x")


def bent(value: Any, dice: Random) -> Any:
    """The same message, some of it changed."""
    if isinstance(value, Struct):
        for declared in type(value).fields:
            if declared.name == "topic_id":
                continue
            setattr(value, declared.name, bent(getattr(value, declared.name), dice))
        return value
    if isinstance(value, list):
        bent_items = [bent(item, dice) for item in value]
        return bent_items if dice.randrange(20) else dice.choice([[], bent_items * 2])
    if dice.randrange(5):
        return value
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return dice.choice(NUMBERS)
    if isinstance(value, str):
        return value if dice.randrange(3) else dice.choice(TEXTS)
    if isinstance(value, bytes) and len(value) == 16:
        return dice.choice([bytes(16), key(dice.randrange(1, 5)).directory_id])
    if isinstance(value, bytes | memoryview):
        data = bytearray(value)
        if data:
            data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        return memoryview(bytes(data))
    return value


def request(dice: Random, replica: Replica) -> Request:
    epoch, end = replica.raft.epoch + dice.choice([0, 0, 0, 1]), replica.raft.end
    node_id = dice.randrange(1, 5)
    describe = DescribeQuorumRequest.TopicData(
        topic_name="__cluster_metadata", partitions=[DescribeQuorumRequest.PartitionData(partition_index=0)]
    )
    made = dice.choice(
        [
            messages.vote_request(CLUSTER, epoch + 1, key(node_id), key(1), end, is_pre_vote=bool(dice.randrange(2))),
            messages.begin_quorum_epoch_request(CLUSTER, epoch, node_id, endpoints(node_id), key(1)),
            messages.end_quorum_epoch_request(CLUSTER, epoch, node_id, endpoints(node_id), [key(1), key(3)]),
            replica.fetch_of(node_id),
            messages.fetch_snapshot_request(CLUSTER, key(node_id), epoch, OffsetAndEpoch(1, 1), 0, 100),
            messages.add_voter_request(CLUSTER, voter(node_id), 1000),
            messages.remove_voter_request(CLUSTER, key(node_id)),
            messages.update_voter_request(CLUSTER, epoch, voter(node_id)),
            DescribeQuorumRequest(topics=[describe]),
        ]
    )
    return bent(made, dice)  # type: ignore[no-any-return]


def response(dice: Random, replica: Replica, send: Send) -> Response:
    epoch, end = replica.raft.epoch, replica.raft.end
    leader = leader_info(dice.choice([None, 1, 2, 3]), epoch)
    error = dice.choice([ErrorCode.NONE] * 3 + [ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.SNAPSHOT_NOT_FOUND])
    made: Response
    match send.request:
        case VoteRequest():
            made = messages.vote_response(NEWEST, leader, error, is_granted=True)
        case BeginQuorumEpochRequest():
            made = messages.begin_quorum_epoch_response(NEWEST, leader, error)
        case EndQuorumEpochRequest():
            made = messages.end_quorum_epoch_response(NEWEST, leader, error)
        case FetchRequest():
            made = messages.fetch_response(NEWEST_FETCH, leader, error, dice.choice([-1, 0, 2, 2**62]))
            partition = made.responses[0].partitions[0]
            partition.records = memoryview(batch(b"a", base_offset=end.offset, epoch=max(end.epoch, 1)))
            if not dice.randrange(4):
                partition.diverging_epoch.epoch = dice.choice(NUMBERS)
                partition.diverging_epoch.end_offset = dice.choice(NUMBERS)
            if not dice.randrange(4):
                partition.snapshot_id.epoch = dice.choice(NUMBERS)
                partition.snapshot_id.end_offset = dice.choice(NUMBERS)
        case FetchSnapshotRequest():
            asked = send.request.topics[0].partitions[0]
            snapshot = OffsetAndEpoch(asked.snapshot_id.end_offset, asked.snapshot_id.epoch)
            made = messages.fetch_snapshot_response(NEWEST, leader, error, snapshot, 8, asked.position)
            made.topics[0].partitions[0].unaligned_records = memoryview(b"four")
        case ApiVersionsRequest():
            feature = ApiVersionsResponse.SupportedFeatureKey(name="kraft.version", min_version=0, max_version=1)
            made = ApiVersionsResponse(api_keys=[], supported_features=[feature])
        case UpdateRaftVoterRequest():
            made = UpdateRaftVoterResponse(error_code=error)
        case AddRaftVoterRequest():
            made = AddRaftVoterResponse(error_code=error, error_message=None)
        case RemoveRaftVoterRequest():
            made = RemoveRaftVoterResponse(error_code=error, error_message=None)
        case _:
            raise AssertionError(send)
    return bent(made, dice)  # type: ignore[no-any-return]


def replica_of(kind: int) -> Replica:
    if kind == 0:
        return Replica(log=log_with(1, 1, 2))
    if kind == 1:
        return Replica(log=log_with(1, 1, 2), saved=ElectionState(4, 2), is_auto_join_enabled=True)
    if kind == 2:
        return Replica(node_id=4, log=log_with(1, 1, 2), saved=ElectionState(4, 2), is_auto_join_enabled=True)
    leader = Replica(voters=(1,) if kind == 3 else (1, 2, 3))
    if kind == 3:
        leader.sync()
    else:
        leader.elect()
    return leader


@pytest.mark.parametrize("seed", range(40))
def test_bent_messages_are_answered_and_survived(seed: int) -> None:
    dice = Random(seed)
    for kind in range(5):
        replica = replica_of(kind)
        waiting: list[Send] = []
        for _ in range(60):
            waiting += replica.of(Send)
            if replica.of(InstallSnapshot):
                installed = replica.of(InstallSnapshot)[0].snapshot
                replica.perform(replica.raft.snapshot_installed(installed, [], replica.now_ms))
                continue
            what = dice.randrange(10)
            if what < 4:
                replica.ask(request(dice, replica))
            elif what < 8 and waiting:
                send = waiting.pop(dice.randrange(len(waiting)))
                replica.answer(response(dice, replica, send), send)
            elif what == 8 and replica.flushes:
                replica.sync()
            else:
                replica.wait(dice.randrange(1, 800))
        replica.wait(2_000)
        leader = replica.raft._state.role
        parked = len(getattr(leader, "parked", [])) + (getattr(leader, "change", None) is not None)
        unanswered = set(range(1, replica.last_token + 1)) - set(replica.replies)
        assert len(unanswered) <= parked, f"requests {unanswered} were never answered"
