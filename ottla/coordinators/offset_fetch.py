"""OffsetFetch for one group: some partitions, or all that the group has committed.

With `require_stable` (KIP-447) a partition for which a transaction has an offset pending says so. A group that does
not exist has committed nothing. An offset of a topic that was deleted and made anew counts as none, where ids tell.
"""

from __future__ import annotations

from ottla.coordinators.offset_store import CommittedOffset, TopicPartition
from ottla.coordinators.state import ShardState
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.group_offsets import OffsetFetchRequest, OffsetFetchResponse
from ottla.wire.primitives import ZERO_UUID

NO_OFFSET = -1
NO_EPOCH = -1

RequestGroup = OffsetFetchRequest.OffsetFetchRequestGroup
ResponseGroup = OffsetFetchResponse.OffsetFetchResponseGroup
ResponseTopics = OffsetFetchResponse.OffsetFetchResponseTopics
ResponsePartitions = OffsetFetchResponse.OffsetFetchResponsePartitions


def fetch_offsets(state: ShardState, request: RequestGroup, *, require_stable: bool) -> ResponseGroup:
    """KafkaError where the member may not ask.

    The caller fills in both names and ids of the topics that it asks for, and ids where the answer is about all.
    """
    group_id = request.group_id
    group = state.groups.get(group_id)
    if group is not None:
        group.check_offset_fetch(request.member_id, request.member_epoch)
    committed = {} if group is None else state.offsets.of_group(group_id)

    def one(key: TopicPartition, topic_id: bytes) -> ResponsePartitions:
        if require_stable and state.offsets.is_pending(group_id, key):
            return _partition(key[1], None, ErrorCode.UNSTABLE_OFFSET_COMMIT)
        found = committed.get(key)
        return _partition(key[1], None if found is None or _is_of_another(found, topic_id) else found)

    if request.topics is None:
        by_name: dict[str, ResponseTopics] = {}
        for key in committed:
            topic = by_name.setdefault(key[0], ResponseTopics(name=key[0], partitions=[]))
            topic.partitions.append(one(key, ZERO_UUID))
        return ResponseGroup(group_id=group_id, topics=list(by_name.values()))
    topics = [
        ResponseTopics(
            name=topic.name,
            topic_id=topic.topic_id,
            partitions=[one((topic.name, index), topic.topic_id) for index in topic.partition_indexes],
        )
        for topic in request.topics
    ]
    return ResponseGroup(group_id=group_id, topics=topics)


def _is_of_another(found: CommittedOffset, topic_id: bytes) -> bool:
    return ZERO_UUID not in (found.topic_id, topic_id) and found.topic_id != topic_id


def _partition(index: int, found: CommittedOffset | None, code: ErrorCode = ErrorCode.NONE) -> ResponsePartitions:
    return ResponsePartitions(
        partition_index=index,
        committed_offset=NO_OFFSET if found is None else found.offset,
        committed_leader_epoch=NO_EPOCH if found is None else found.leader_epoch,
        metadata="" if found is None else found.metadata,
        error_code=code,
    )
