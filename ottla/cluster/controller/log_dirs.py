"""AssignReplicasToDirs (KIP-858): brokers say in which directory each replica lies; and directories that take no more.

A replica in a directory that is not there cannot lead and is not in sync, whatever was believed before.
"""

from __future__ import annotations

from collections.abc import Sequence

from ottla.cluster.controller import fail_over
from ottla.cluster.controller.draft import Draft
from ottla.cluster.controller.partition_index import PartitionKey
from ottla.cluster.controller.result import Result
from ottla.cluster.controller.state import ControllerState
from ottla.cluster.features import DIRECTORY_ASSIGNMENT_SINCE, METADATA_VERSION
from ottla.cluster.image import Broker, Topic
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.log_dirs import AssignReplicasToDirsRequest, AssignReplicasToDirsResponse
from ottla.wire.stored.metadata_records import BrokerRegistrationChangeRecord


def assign_replicas_to_dirs(
    state: ControllerState, request: AssignReplicasToDirsRequest
) -> Result[AssignReplicasToDirsResponse]:
    if state.image.metadata_version < DIRECTORY_ASSIGNMENT_SINCE:
        reason = f"directories are assigned from {METADATA_VERSION} {DIRECTORY_ASSIGNMENT_SINCE} on"
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, reason)
    broker = state.broker_at(request.broker_id, request.broker_epoch)
    draft = Draft(state)
    offline: dict[PartitionKey, None] = {}
    directories = []
    for directory in request.directories:
        topics = []
        for topic in directory.topics:
            known = state.image.topics.by_id.get(topic.topic_id)
            partitions = []
            for partition in topic.partitions:
                code = _assign(draft, broker, directory.id, known, partition.partition_index)
                if code == ErrorCode.NONE and not broker.has_online_log_dir(directory.id):
                    offline[topic.topic_id, partition.partition_index] = None
                partitions.append(_partition_data(partition.partition_index, code))
            topics.append(AssignReplicasToDirsResponse.TopicData(topic_id=topic.topic_id, partitions=partitions))
        directories.append(AssignReplicasToDirsResponse.DirectoryData(id=directory.id, topics=topics))
    fail_over.move_leaders(draft, offline, without=broker.id)
    return Result(AssignReplicasToDirsResponse(directories=directories), draft.records, atomic=False)


def _partition_data(partition_index: int, code: ErrorCode) -> AssignReplicasToDirsResponse.PartitionData:
    return AssignReplicasToDirsResponse.PartitionData(partition_index=partition_index, error_code=code)


def _assign(draft: Draft, broker: Broker, directory_id: bytes, topic: Topic | None, partition_id: int) -> ErrorCode:
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    partition = draft.partition(topic, partition_id)
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if broker.id not in partition.replicas:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    change = draft.change(topic, partition_id)
    change.directories[broker.id] = directory_id
    draft.commit(change)
    return ErrorCode.NONE


def cordon(draft: Draft, broker: Broker, cordoned: Sequence[bytes] | None) -> None:
    """Directories that are to get no new replicas (KIP-1066); None says nothing."""
    if cordoned is None or (broker.cordoned_log_dirs is not None and set(broker.cordoned_log_dirs) == set(cordoned)):
        return
    draft.change_broker(
        BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, cordoned_log_dirs=list(cordoned))
    )
