"""Classic consumers inside a consumer group: JoinGroup, SyncGroup and Heartbeat, put in the terms of KIP-848.

The member's epoch is its generation. A join does what a heartbeat of the new protocol does, and is answered at once
with the epoch reached; nobody leads, for the broker assigns. SyncGroup gives the partitions. When there is something to
give back or to take, Heartbeat says REBALANCE_IN_PROGRESS and the member joins again, in time or it is fenced.
Cooperative and eager assignors both work: what an eager one gave up it is given again.
"""

from __future__ import annotations

from typing import Any

from ottla.coordinators import embedded
from ottla.coordinators.classic.answers import join_refused, sync_refused
from ottla.coordinators.consumer_group.conversion import named
from ottla.coordinators.consumer_group.deadlines import Deadlines
from ottla.coordinators.consumer_group.group import ConsumerGroup
from ottla.coordinators.consumer_group.identity import (
    Found,
    check_has_room,
    dynamic_member,
    joining_static_member,
    known_member,
    known_static_member,
)
from ottla.coordinators.consumer_group.member import ClassicSide, Member, MemberState
from ottla.coordinators.consumer_group.migration import Migration
from ottla.coordinators.consumer_group.progress import Progress
from ottla.coordinators.consumer_group.surroundings import Surroundings
from ottla.coordinators.contract import Answer, Outcome, RequestContext
from ottla.coordinators.subscriptions import Subscription
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.classic_groups import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from ottla.wire.stored.consumer_protocol import ConsumerProtocolSubscription

MEMBER_ID_REQUIRED_VERSION_MIN = 4


class ClassicMembers:
    def __init__(self, around: Surroundings, deadlines: Deadlines, migration: Migration) -> None:
        self._around = around
        self._deadlines = deadlines
        self._migration = migration

    # -- JoinGroup ----------------------------------------------------------------------------------------------------

    def join(
        self, group: ConsumerGroup, request: JoinGroupRequest, context: RequestContext, token: Any, now_ms: int
    ) -> Outcome[JoinGroupResponse]:
        """A JoinGroup to a consumer group that has members."""
        member_id = request.member_id or self._around.state.new_uuid()
        self._check_join(group, request, member_id)
        needs_id = context.version >= MEMBER_ID_REQUIRED_VERSION_MIN and request.group_instance_id is None
        if needs_id and not request.member_id:
            return Outcome(answers=[Answer(token, join_refused(ErrorCode.MEMBER_ID_REQUIRED, member_id))])
        subscription = _subscription(request)
        found = self._find(group, request, member_id)
        replaced = group.static_member(request.group_instance_id)
        progress = Progress(
            group, found.member, found.is_known, self._around, self._deadlines, list(found.drafted), now_ms
        )
        member = _joined(found.member, request, context, subscription)
        progress.enter(member, bump_for_unresolved=True)
        owned = self._owned(subscription)
        if replaced is not None and self._migration.becomes_classic_by_replacing(group, replaced):
            rebalances = group.target_epoch < progress.epoch
            if not rebalances:
                member = progress.step(member, progress.last_target(member), owned)
            out = self._migration.downgrade_replacing(group, replaced, member, rebalances=rebalances, now_ms=now_ms)
            out.records[:0] = progress.drafted
        else:
            member = progress.step(member, progress.assign(member), owned)
            out = Outcome(records=progress.drafted)
            self._expect_sync(group, member, request, context, now_ms)
        out.answers.append(Answer(token, _answer(member)))
        return out

    def _check_join(self, group: ConsumerGroup, request: JoinGroupRequest, member_id: str) -> None:
        if not any(self._migration.policy):
            raise KafkaError(
                ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
                f"{group.group_id} takes no classic members",
            )
        check_has_room(group, member_id, self._around.state.settings.consumer_members_max)
        shared = (group.classic_protocols[protocol.name] == group.classic_count for protocol in request.protocols)
        if request.protocol_type != embedded.CONSUMER or not any(shared):
            raise KafkaError(
                ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"{member_id} has no protocol that all classic members share"
            )

    def _find(self, group: ConsumerGroup, request: JoinGroupRequest, member_id: str) -> Found:
        if request.group_instance_id is None:
            return dynamic_member(group, member_id, may_be_new=True)
        if not request.member_id:
            return joining_static_member(group, member_id, request.group_instance_id, is_classic=True)
        return Found(known_static_member(group, member_id, request.group_instance_id), is_known=True)

    def _owned(self, subscription: ConsumerProtocolSubscription) -> dict[bytes, list[int]]:
        owned = {}
        for entry in subscription.owned_partitions:
            topic = self._around.state.topics.by_name(entry.topic)
            if topic is not None:
                owned[topic.id] = list(entry.partitions)
        return owned

    def _expect_sync(
        self, group: ConsumerGroup, member: Member, request: JoinGroupRequest, context: RequestContext, now_ms: int
    ) -> None:
        self._deadlines.no_join(group.group_id, member.member_id)
        self._deadlines.session(group.group_id, member.member_id, now_ms + request.session_timeout_ms)
        self._deadlines.sync(group.group_id, member.member_id, now_ms + _rebalance_timeout_ms(request, context))

    # -- SyncGroup and Heartbeat --------------------------------------------------------------------------------------

    def sync(
        self, group: ConsumerGroup, request: SyncGroupRequest, token: Any, now_ms: int
    ) -> Outcome[SyncGroupResponse]:
        """What the member has in its generation."""
        member, classic = self._classic_member(group, request)
        self._check_protocol(classic, request)
        # One who is giving back has joined already; it is called again when that is done.
        if group.target_epoch > member.epoch and member.state is not MemberState.UNREVOKED_PARTITIONS:
            self._deadlines.join(group.group_id, member, now_ms)
            return Outcome(answers=[Answer(token, sync_refused(ErrorCode.REBALANCE_IN_PROGRESS))])
        self._deadlines.no_sync(group.group_id, member.member_id)
        self._deadlines.session(group.group_id, member.member_id, now_ms + classic.session_timeout_ms)
        version = embedded.version_of(classic.protocols[0][1])
        response = SyncGroupResponse(
            protocol_type=request.protocol_type,
            protocol_name=request.protocol_name,
            assignment=embedded.assignment_bytes(named(member.assigned, self._around.state.topics), version),
        )
        return Outcome(answers=[Answer(token, response)])

    def _check_protocol(self, classic: ClassicSide, request: SyncGroupRequest) -> None:
        if request.protocol_type not in (None, embedded.CONSUMER):
            raise KafkaError(
                ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"the group is of consumers, not of {request.protocol_type}"
            )
        chosen = classic.protocols[0][0]
        if request.protocol_name not in (None, chosen):
            raise KafkaError(
                ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"the member joined with {chosen}, not {request.protocol_name}"
            )

    def heartbeat(self, group: ConsumerGroup, request: HeartbeatRequest, now_ms: int) -> Outcome[HeartbeatResponse]:
        """Whether the member has to join again: the target has moved on, or it has to give back, or can take more."""
        member, classic = self._classic_member(group, request)
        self._deadlines.session(group.group_id, member.member_id, now_ms + classic.session_timeout_ms)
        must_join = (
            member.epoch < group.target_epoch
            or member.state is MemberState.UNREVOKED_PARTITIONS
            or (member.state is MemberState.UNRELEASED_PARTITIONS and not waits_for_others(group, member))
        )
        if must_join:
            self._deadlines.join(group.group_id, member, now_ms)
        return Outcome(HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS if must_join else ErrorCode.NONE))

    def _classic_member(
        self, group: ConsumerGroup, request: SyncGroupRequest | HeartbeatRequest
    ) -> tuple[Member, ClassicSide]:
        member = known_member(group, request.member_id, request.group_instance_id)
        if member.classic is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"{member.member_id} does not use the classic protocol")
        if request.generation_id != member.epoch:
            raise KafkaError(
                ErrorCode.ILLEGAL_GENERATION,
                f"{member.member_id} is in generation {member.epoch}, not {request.generation_id}",
            )
        return member, member.classic


def waits_for_others(group: ConsumerGroup, member: Member) -> bool:
    """Whether something of the member's target is still with another."""
    return any(
        partition not in member.assigned.get(topic, {}) and group.is_held(topic, partition)
        for topic, partitions in group.target_of(member.member_id).items()
        for partition in partitions
    )


def _subscription(request: JoinGroupRequest) -> ConsumerProtocolSubscription:
    """What the member consumes, by its preferred protocol."""
    try:
        return embedded.subscription_of(request.protocols[0].metadata)
    except KafkaError as error:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"the subscription cannot be read: {error.message}") from error


def _rebalance_timeout_ms(request: JoinGroupRequest, context: RequestContext) -> int:
    """Version 0 knows one timeout only."""
    return request.rebalance_timeout_ms if context.version >= 1 else request.session_timeout_ms


def _joined(
    member: Member, request: JoinGroupRequest, context: RequestContext, subscription: ConsumerProtocolSubscription
) -> Member:
    """The member as this JoinGroup describes it."""
    protocols: dict[str, bytes] = {}
    for protocol in request.protocols:
        protocols.setdefault(protocol.name, bytes(protocol.metadata))
    timeout_ms = _rebalance_timeout_ms(request, context)
    return member._replace(
        instance_id=request.group_instance_id if request.group_instance_id is not None else member.instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        subscription=Subscription(frozenset(subscription.topics)),
        client_id=context.client_id,
        client_host=context.client_host,
        classic=ClassicSide(request.session_timeout_ms, tuple(protocols.items())),
    )


def _answer(member: Member) -> JoinGroupResponse:
    assert member.classic is not None, "it has just joined"
    return JoinGroupResponse(
        generation_id=member.epoch,
        protocol_type=embedded.CONSUMER,
        protocol_name=member.classic.protocols[0][0],
        leader="",
        member_id=member.member_id,
        members=[],
    )
