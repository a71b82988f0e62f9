"""ConsumerGroupHeartbeat: joining, staying, moving to a new target (KIP-848).

A heartbeat that says nothing new to a group where nothing changed writes nothing. The answer carries the assignment
when it changed, and whenever the member sent a whole request: when it joins, and when it is not sure what was received.
"""

from __future__ import annotations

from ottla.coordinators.classic.group import ClassicGroup
from ottla.coordinators.consumer_group.deadlines import Deadlines
from ottla.coordinators.consumer_group.group import ConsumerGroup
from ottla.coordinators.consumer_group.identity import check_has_room, heartbeating_member
from ottla.coordinators.consumer_group.member import JOINING_EPOCH, EpochedPartitions, Member
from ottla.coordinators.consumer_group.migration import Migration
from ottla.coordinators.consumer_group.progress import Progress
from ottla.coordinators.consumer_group.surroundings import Surroundings
from ottla.coordinators.contract import Answer, Outcome, Record, RequestContext
from ottla.coordinators.subscriptions import Subscription
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.consumer_groups import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse

TopicPartitions = ConsumerGroupHeartbeatResponse.TopicPartitions
NOTHING_SAID = (None,) * 5


class Heartbeats:
    def __init__(self, around: Surroundings, deadlines: Deadlines, migration: Migration) -> None:
        self._around = around
        self._deadlines = deadlines
        self._migration = migration

    def heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, context: RequestContext, now_ms: int
    ) -> Outcome[ConsumerGroupHeartbeatResponse]:
        """A heartbeat of a member that stays or joins."""
        known = self._around.state.groups.get(request.group_id)
        if type(known) is ConsumerGroup and (settled := _settled(known, request, context, now_ms)) is not None:
            return self._stays(known, settled, now_ms)
        progress, member, owned = self._entered(request, known, context, now_ms)
        member = progress.step(member, progress.assign(member), owned)
        interval_ms = self._stays_for_now(progress.group, member, now_ms)
        answers = self._called_back(known, progress.group, now_ms)
        shows_assignment = _is_whole(request) or member.assigned != progress.old.assigned
        return Outcome(_answer(member, interval_ms, shows_assignment), progress.drafted, answers)

    def enter(self, request: ConsumerGroupHeartbeatRequest, context: RequestContext, now_ms: int) -> Outcome[None]:
        """The first half of that, for one of several who join together: a target is computed for the last of them."""
        known = self._around.state.groups.get(request.group_id)
        if not (known is None or isinstance(known, ConsumerGroup)):
            return Outcome()  # its heartbeat does all, a change of the group's kind included
        progress, member, _ = self._entered(request, known, context, now_ms)
        self._stays_for_now(progress.group, member, now_ms)
        return Outcome(records=progress.drafted)

    def _entered(
        self, request: ConsumerGroupHeartbeatRequest, known: object, context: RequestContext, now_ms: int
    ) -> tuple[Progress, Member, dict[bytes, list[int]] | None]:
        """The member as it is when it has entered its group, or said something new; and what it says it owns."""
        group, drafted = self._group_of(request, known)
        check_has_room(group, request.member_id, self._around.state.settings.consumer_members_max)
        owned = _owned(request)
        member_id = request.member_id or self._around.state.new_uuid()
        found = heartbeating_member(group, member_id, request.instance_id, request.member_epoch, owned)
        drafted += found.drafted
        progress = Progress(group, found.member, found.is_known, self._around, self._deadlines, drafted, now_ms)
        member = _told(found.member, request, context)
        progress.enter(member)
        return progress, member, owned

    def _stays_for_now(self, group: ConsumerGroup, member: Member, now_ms: int) -> int:
        """The member has its session, and is to come back within so many milliseconds."""
        times = self._around.times_of(group.group_id)
        self._deadlines.session(group.group_id, member.member_id, now_ms + times.session_timeout_ms)
        return times.heartbeat_interval_ms

    def _stays(self, group: ConsumerGroup, member: Member, now_ms: int) -> Outcome[ConsumerGroupHeartbeatResponse]:
        """The answer to a member that is where it is to be: it has its session, and hears nothing new."""
        return Outcome(_answer(member, self._stays_for_now(group, member, now_ms), shows_assignment=False))

    def _group_of(self, request: ConsumerGroupHeartbeatRequest, known: object) -> tuple[ConsumerGroup, list[Record]]:
        """The member's group, and the records that make it a consumer group if it is not one yet."""
        if isinstance(known, ConsumerGroup):
            return known, []
        if request.member_epoch == JOINING_EPOCH:
            if known is None:
                return ConsumerGroup(request.group_id), []
            if isinstance(known, ClassicGroup):
                if known.is_empty:
                    return ConsumerGroup(request.group_id), known.tombstones()
                return self._migration.upgrade(known)
        reason = f"there is no group {request.group_id}" if known is None else f"{request.group_id} is of another kind"
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, reason)

    def _called_back(self, known: object, group: ConsumerGroup, now_ms: int) -> list[Answer]:
        if known is not group and isinstance(known, ClassicGroup) and not known.is_empty:
            return self._migration.call_back(known, group, now_ms)
        return []


def may_enter_first(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Whether this is a join that may be done in two halves: nobody's place is taken, and no expression resolved."""
    return (
        request.member_epoch == JOINING_EPOCH
        and bool(request.member_id)
        and request.instance_id is None
        and not request.subscribed_topic_regex
    )


def _settled(
    group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest, context: RequestContext, now_ms: int
) -> Member | None:
    """The member, if its heartbeat says nothing but its epoch and there is nothing to do for it or its group.

    Nearly every heartbeat is one of these. What partitions a member owns is nothing new once it has all of its target.
    """
    member = group.members.get(request.member_id)
    if (
        member is None
        or request.member_epoch != member.epoch
        or member.epoch == JOINING_EPOCH
        or not member.is_reconciled_to(group.target_epoch)
        or group.epoch != group.target_epoch
        or group.regexes
        or group.needs_refresh(now_ms)
        or _told(member, request, context) is not member
    ):
        return None
    return member


def _owned(request: ConsumerGroupHeartbeatRequest) -> dict[bytes, list[int]] | None:
    if request.topic_partitions is None:
        return None
    owned: dict[bytes, list[int]] = {}
    for entry in request.topic_partitions:
        owned.setdefault(entry.topic_id, []).extend(entry.partitions)
    return owned


def _told(member: Member, request: ConsumerGroupHeartbeatRequest, context: RequestContext) -> Member:
    """The member with what this heartbeat says about it; what it leaves out stays as it was."""
    names, regex = request.subscribed_topic_names, request.subscribed_topic_regex
    if (
        (names, regex, request.instance_id, request.rack_id, request.server_assignor) == NOTHING_SAID
        and request.rebalance_timeout_ms == -1
        and (member.client_id, member.client_host, member.classic) == (context.client_id, context.client_host, None)
    ):
        return member
    subscription = member.subscription
    if names is not None or regex is not None:
        subscription = Subscription(
            subscription.names if names is None else frozenset(names),
            subscription.regex if regex is None else regex,
        )
    timeout_ms = request.rebalance_timeout_ms
    return member.saying(
        instance_id=member.instance_id if request.instance_id is None else request.instance_id,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        assignor=member.assignor if request.server_assignor is None else request.server_assignor,
        subscription=subscription,
        client_id=context.client_id,
        client_host=context.client_host,
        classic=None,
    )


def _is_whole(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Whether the member says all about itself: it joins, or does not know what we know."""
    says_topics = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    is_whole = request.rebalance_timeout_ms != -1 and says_topics and request.topic_partitions is not None
    return is_whole or request.member_epoch == JOINING_EPOCH


def _answer(member: Member, interval_ms: int, shows_assignment: bool) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=interval_ms,
        assignment=_assignment(member.assigned) if shows_assignment else None,
    )


def _assignment(assigned: EpochedPartitions) -> ConsumerGroupHeartbeatResponse.Assignment:
    return ConsumerGroupHeartbeatResponse.Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic, partitions=sorted(assigned[topic])) for topic in sorted(assigned)
        ]
    )
