"""DescribeQuorum: what the leader can tell of the voters and observers (KIP-595, KIP-836, KIP-853)."""

from __future__ import annotations

from collections.abc import Iterable

from ottla.cluster.raft_effects import Reply, Token
from ottla.cluster.raft_leader import Leader, ReplicaProgress
from ottla.cluster.raft_log import PARTITION, TOPIC
from ottla.cluster.raft_messages import Context, only_partition
from ottla.cluster.raft_state import RaftState
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.quorum import DescribeQuorumRequest, DescribeQuorumResponse

_WITH_DIRECTORIES_AND_NODES = 2
_UNKNOWN = -1


def handle_describe_quorum(
    state: RaftState, token: Token, request: DescribeQuorumRequest, context: Context, now_ms: int
) -> None:
    if only_partition(request.topics) is None:
        state.emit(Reply(token, _unknown_partitions(request)))
        return
    leader = state.role
    if not isinstance(leader, Leader):
        state.emit(Reply(token, _response(_partition(PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER))))
        return
    leader.expire_observers(now_ms)
    partition = _partition(PARTITION, ErrorCode.NONE)
    partition.leader_id = leader.leader_id
    partition.leader_epoch = leader.epoch
    partition.high_watermark = _UNKNOWN if leader.high_watermark is None else leader.high_watermark
    partition.current_voters = _replicas(leader, leader.voters.values(), context, now_ms)
    partition.observers = _replicas(leader, leader.observers.values(), context, now_ms)
    response = _response(partition)
    if context.version >= _WITH_DIRECTORIES_AND_NODES:
        response.nodes = _nodes(state)
    state.emit(Reply(token, response))


def _replicas(
    leader: Leader, replicas: Iterable[ReplicaProgress], context: Context, now_ms: int
) -> list[DescribeQuorumResponse.ReplicaState]:
    described = []
    for replica in replicas:
        is_leader = replica.key.accepts(leader.key)  # always caught up with itself
        shown = DescribeQuorumResponse.ReplicaState(
            replica_id=replica.key.id,
            log_end_offset=replica.end_offset,
            last_fetch_timestamp=now_ms if is_leader else replica.last_fetch_ms,
            last_caught_up_timestamp=now_ms if is_leader else replica.last_caught_up_ms,
        )
        if context.version >= _WITH_DIRECTORIES_AND_NODES:
            shown.replica_directory_id = replica.key.directory_id
        described.append(shown)
    return described


def _nodes(state: RaftState) -> list[DescribeQuorumResponse.Node]:
    return [
        DescribeQuorumResponse.Node(
            node_id=voter.key.id,
            listeners=[
                DescribeQuorumResponse.Listener(name=name, host=endpoint.host, port=endpoint.port)
                for name, endpoint in voter.endpoints.items()
            ],
        )
        for voter in state.voters
    ]


def _partition(index: int, error: ErrorCode) -> DescribeQuorumResponse.PartitionData:
    """Nothing but an error says zeros, and no error says an empty text: both as in Kafka."""
    return DescribeQuorumResponse.PartitionData(
        partition_index=index,
        error_code=error,
        error_message="" if error is ErrorCode.NONE else error.text,
        leader_id=0,
        leader_epoch=0,
        high_watermark=0,
        current_voters=[],
        observers=[],
    )


def _response(partition: DescribeQuorumResponse.PartitionData) -> DescribeQuorumResponse:
    return DescribeQuorumResponse(topics=[DescribeQuorumResponse.TopicData(topic_name=TOPIC, partitions=[partition])])


def _unknown_partitions(request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    return DescribeQuorumResponse(
        topics=[
            DescribeQuorumResponse.TopicData(
                topic_name=topic.topic_name,
                partitions=[
                    _partition(partition.partition_index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
