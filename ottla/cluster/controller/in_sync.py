"""AlterPartition (KIP-497): a leader proposes who is in sync with it.

The proposal counts only if it is made by the leader, of this epoch, about the state of the partition as it is. Nobody
gets into the ISR who is fenced, on its way out, or another incarnation than the leader knows (KIP-841, KIP-903). A
proposal may complete a reassignment, and that may move the leader away from who made it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ottla.cluster.controller.draft import Draft
from ottla.cluster.controller.partition_change import Election
from ottla.cluster.controller.result import Result
from ottla.cluster.controller.state import ControllerState
from ottla.cluster.image import Partition, Topic
from ottla.cluster.image.partitions import NO_LEADER_CHANGE, RECOVERED, RECOVERING
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.controller import AlterPartitionRequest, AlterPartitionResponse

Proposal = AlterPartitionRequest.PartitionData
Member = AlterPartitionRequest.BrokerState
Outcome = AlterPartitionResponse.PartitionData

EPOCHS_SINCE = 3
_ANY_EPOCH = -1


def alter_partition(
    state: ControllerState, request: AlterPartitionRequest, version: int
) -> Result[AlterPartitionResponse]:
    state.broker_at(request.broker_id, request.broker_epoch)
    draft = Draft(state)
    topics = []
    for topic in request.topics:
        known = state.image.topics.by_id.get(topic.topic_id)
        outcomes = []
        for proposal in topic.partitions:
            isr = _proposed_isr(proposal, version)
            outcomes.append(
                _refused(proposal, ErrorCode.UNKNOWN_TOPIC_ID)
                if known is None
                else _alter(draft, request.broker_id, known, proposal, isr)
            )
        topics.append(AlterPartitionResponse.TopicData(topic_id=topic.topic_id, partitions=outcomes))
    return Result(AlterPartitionResponse(topics=topics), draft.records, atomic=False)


def _proposed_isr(proposal: Proposal, version: int) -> list[Member]:
    if version >= EPOCHS_SINCE:
        return proposal.new_isr_with_epochs
    return [Member(broker_id=broker_id, broker_epoch=_ANY_EPOCH) for broker_id in proposal.new_isr]


def _refused(proposal: Proposal, code: ErrorCode) -> Outcome:
    return Outcome(
        partition_index=proposal.partition_index,
        error_code=code,
        leader_id=0,
        leader_epoch=0,
        isr=[],
        partition_epoch=0,
    )


def _alter(draft: Draft, broker_id: int, topic: Topic, proposal: Proposal, isr: Sequence[Member]) -> Outcome:
    partition = draft.partition(topic, proposal.partition_index)
    if partition is None:
        return _refused(proposal, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    code = _reason_to_refuse(draft, broker_id, partition, proposal, isr)
    if code != ErrorCode.NONE:
        return _refused(proposal, code)
    change = draft.change(topic, proposal.partition_index)
    change.isr = [member.broker_id for member in isr]
    change.leader_recovery_state = proposal.leader_recovery_state
    if draft.allows_unclean_election(topic):
        change.election = Election.UNCLEAN
    record = draft.commit(change)
    if record is not None and record.leader not in (broker_id, NO_LEADER_CHANGE):
        return _refused(proposal, ErrorCode.NEW_LEADER_ELECTED)
    after = draft.partition(topic, proposal.partition_index) or partition
    return Outcome(
        partition_index=proposal.partition_index,
        leader_id=after.leader,
        leader_epoch=after.leader_epoch,
        isr=list(after.isr),
        leader_recovery_state=after.leader_recovery_state,
        partition_epoch=after.partition_epoch,
    )


def _reason_to_refuse(
    draft: Draft, broker_id: int, partition: Partition, proposal: Proposal, isr: Sequence[Member]
) -> ErrorCode:
    ahead = proposal.leader_epoch > partition.leader_epoch or proposal.partition_epoch > partition.partition_epoch
    if ahead:
        return ErrorCode.NOT_CONTROLLER  # the leader has heard of a later controller than this one
    if proposal.leader_epoch < partition.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if broker_id != partition.leader:
        return ErrorCode.INVALID_REQUEST
    if proposal.partition_epoch < partition.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    if not _is_sound(partition, proposal, [member.broker_id for member in isr]):
        return ErrorCode.INVALID_REQUEST
    eligible = all(_may_be_in_sync(draft, member) for member in isr)
    return ErrorCode.NONE if eligible else ErrorCode.INELIGIBLE_REPLICA


def _is_sound(partition: Partition, proposal: Proposal, isr: list[int]) -> bool:
    """Replicas, each once, the leader among them; and a leader that recovers is alone until it has recovered."""
    if len(set(isr)) != len(isr) or not set(isr) <= set(partition.replicas) or partition.leader not in isr:
        return False
    if proposal.leader_recovery_state == RECOVERING:
        return len(isr) == 1 and partition.leader_recovery_state == RECOVERING
    return proposal.leader_recovery_state == RECOVERED


def _may_be_in_sync(draft: Draft, member: Member) -> bool:
    broker = draft.broker(member.broker_id)
    if broker is None or not broker.is_active:
        return False
    return member.broker_epoch in (_ANY_EPOCH, broker.epoch)
