"""AlterPartitionReassignments and ListPartitionReassignments (KIP-455): replicas move from brokers to brokers.

First all of them are replicas, those that come marked as adding and those that go as removing; once the ones that stay
are in sync the others are dropped, which `partition_change` does with whatever change comes first. A new target for a
partition on the move replaces the old one; to cancel goes back to the replicas from before the move.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ottla.cluster.controller.assignments import check_manual_assignment
from ottla.cluster.controller.draft import Draft
from ottla.cluster.controller.partition_change import Election
from ottla.cluster.controller.result import RequestTooLarge, Result
from ottla.cluster.controller.state import ControllerState
from ottla.cluster.image import Partition, Topic
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.partition_admin import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

Outcome = AlterPartitionReassignmentsResponse.ReassignablePartitionResponse
Ongoing = ListPartitionReassignmentsResponse.OngoingPartitionReassignment


def alter_partition_reassignments(
    state: ControllerState, request: AlterPartitionReassignmentsRequest
) -> Result[AlterPartitionReassignmentsResponse]:
    draft = Draft(state, bounded_for="AlterPartitionReassignments")
    may_resize = request.allow_replication_factor_change
    responses = []
    for topic in request.topics:
        outcomes = [
            _try_alter(draft, topic.name, wish.partition_index, wish.replicas, may_resize) for wish in topic.partitions
        ]
        responses.append(
            AlterPartitionReassignmentsResponse.ReassignableTopicResponse(name=topic.name, partitions=outcomes)
        )
    response = AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=may_resize, error_message=None, responses=responses
    )
    return Result(response, draft.records)


def _try_alter(draft: Draft, topic_name: str, partition_id: int, target: list[int] | None, may_resize: bool) -> Outcome:
    try:
        topic = draft.state.image.topics.by_name.get(topic_name)
        partition = None if topic is None else draft.partition(topic, partition_id)
        if topic is None or partition is None:
            reason = f"there is no partition {topic_name}-{partition_id}"
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, reason)
        if target is None:
            _cancel(draft, topic, partition_id, partition)
        else:
            _start(draft, topic, partition_id, partition, target, may_resize)
    except RequestTooLarge:
        raise
    except KafkaError as error:
        return Outcome(partition_index=partition_id, error_code=error.code, error_message=error.message)
    return Outcome(partition_index=partition_id, error_message=None)


def original_replicas(partition: Partition) -> list[int]:
    """Those from before the move."""
    return [replica for replica in partition.replicas if replica not in partition.adding_replicas]


def _start(
    draft: Draft, topic: Topic, partition_id: int, partition: Partition, target: Sequence[int], may_resize: bool
) -> None:
    check_manual_assignment(draft, target)
    staying = [replica for replica in partition.replicas if replica not in partition.removing_replicas]
    if not may_resize and len(staying) != len(target):
        reason = f"{topic.name}-{partition_id} has {len(staying)} replicas, the target {len(target)}"
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, reason)
    # What an earlier target brought and this one does not want goes at once, unless it is all that is in sync.
    dropped = set(partition.adding_replicas) - set(target)
    if dropped >= set(partition.isr):
        dropped = set()
    change = draft.change(topic, partition_id)
    change.isr = [replica for replica in partition.isr if replica not in dropped]
    change.removing = sorted(set(partition.replicas) - dropped - set(target))
    change.adding = sorted(set(target) - set(original_replicas(partition)))
    change.replicas = [*target, *change.removing]
    draft.commit(change)


def _cancel(draft: Draft, topic: Topic, partition_id: int, partition: Partition) -> None:
    if not partition.is_reassigning:
        reason = f"{topic.name}-{partition_id} is not being reassigned"
        raise KafkaError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, reason)
    unclean_allowed = draft.allows_unclean_election(topic)
    replicas = original_replicas(partition)
    isr = [replica for replica in partition.isr if replica not in partition.adding_replicas]
    if not replicas or (not isr and not unclean_allowed):
        reason = f"{topic.name}-{partition_id} cannot go back: none of its former replicas is in sync"
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)
    change = draft.change(topic, partition_id)
    change.replicas, change.isr = replicas, isr or replicas[:1]
    change.removing, change.adding = [], []
    if unclean_allowed:
        change.election = Election.UNCLEAN
    draft.commit(change)


def list_partition_reassignments(
    state: ControllerState, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    """What is on the move: all of it, or of the partitions that are named. Topics with nothing are left out."""
    topics = state.image.topics
    moving: dict[str, list[Ongoing]] = {}
    if request.topics is None:
        for topic_id, partition_id in state.index.reassigning:
            topic = topics.by_id[topic_id]
            moving.setdefault(topic.name, []).extend(_ongoing(topic, [partition_id]))
    else:
        for wanted in request.topics:
            known = topics.by_name.get(wanted.name)
            found = [] if known is None else list(_ongoing(known, wanted.partition_indexes))
            if found:
                moving.setdefault(wanted.name, []).extend(found)
    return ListPartitionReassignmentsResponse(
        error_message=None,
        topics=[
            ListPartitionReassignmentsResponse.OngoingTopicReassignment(name=name, partitions=partitions)
            for name, partitions in moving.items()
        ],
    )


def _ongoing(topic: Topic, partition_ids: Iterable[int]) -> Iterable[Ongoing]:
    for partition_id in partition_ids:
        partition = topic.partitions.get(partition_id)
        if partition is not None and partition.is_reassigning:
            yield Ongoing(
                partition_index=partition_id,
                replicas=list(partition.replicas),
                adding_replicas=list(partition.adding_replicas),
                removing_replicas=list(partition.removing_replicas),
            )
