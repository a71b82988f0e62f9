"""Members that go: by their own word, by LeaveGroup, or because a deadline passed.

The group's epoch grows, and the next heartbeat finds a new target. A static member may say that it will be back (epoch
-2): it keeps its place and its partitions until its session ends. When only classic members are left, the group becomes
a classic one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

from ottla.coordinators.consumer_group import records, tombstones
from ottla.coordinators.consumer_group.epochs import bump_for
from ottla.coordinators.consumer_group.group import TIMER_KINDS, ConsumerGroup
from ottla.coordinators.consumer_group.identity import known_static_member
from ottla.coordinators.consumer_group.member import LEFT_STATIC_EPOCH, NOTHING_HELD, Member
from ottla.coordinators.consumer_group.migration import Migration
from ottla.coordinators.consumer_group.surroundings import Surroundings
from ottla.coordinators.contract import Outcome, Record
from ottla.coordinators.subscriptions import all_wanted_names
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.classic_groups import LeaveGroupRequest, LeaveGroupResponse
from ottla.wire.messages.consumer_groups import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse

R = TypeVar("R")
MemberResponse = LeaveGroupResponse.MemberResponse


class Leaving:
    def __init__(self, around: Surroundings, migration: Migration) -> None:
        self._around = around
        self._migration = migration

    def leave(
        self, group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest, now_ms: int
    ) -> Outcome[ConsumerGroupHeartbeatResponse]:
        """A heartbeat with epoch -1 or -2."""
        response = ConsumerGroupHeartbeatResponse(
            member_id=request.member_id, member_epoch=request.member_epoch, heartbeat_interval_ms=0
        )
        if request.instance_id is None:
            return self.fence(group, [group.member(request.member_id)], response, now_ms)
        member = known_static_member(group, request.member_id, request.instance_id)
        if request.member_epoch == LEFT_STATIC_EPOCH:
            return Outcome(response, [records.current_assignment(group.group_id, until_it_is_back(member))])
        return self.fence(group, [member], response, now_ms)

    def leave_group(
        self, group: ConsumerGroup, leaving: Sequence[LeaveGroupRequest.MemberIdentity], now_ms: int
    ) -> Outcome[LeaveGroupResponse]:
        """LeaveGroup, by classic members or by an administrator; each gets its own answer."""
        found: dict[str, Member] = {}
        results = []
        for one in leaving:
            code = ErrorCode.NONE
            try:
                member = self._leaving_member(group, one)
                found[member.member_id] = member
            except KafkaError as error:
                code = error.code
            results.append(
                MemberResponse(member_id=one.member_id, group_instance_id=one.group_instance_id, error_code=code)
            )
        return self.fence(group, list(found.values()), LeaveGroupResponse(members=results), now_ms)

    def _leaving_member(self, group: ConsumerGroup, one: LeaveGroupRequest.MemberIdentity) -> Member:
        if one.group_instance_id is None:
            return group.member(one.member_id)
        existing = group.static_member(one.group_instance_id)
        if existing is not None and not one.member_id:
            return existing  # an administrator knows the instance only
        return known_static_member(group, one.member_id, one.group_instance_id)

    def fence(self, group: ConsumerGroup, members: Sequence[Member], response: R, now_ms: int) -> Outcome[R]:
        """Take members out of the group."""
        if not members:
            return Outcome(response)
        if self._migration.becomes_classic_without(group, members):
            return self._migration.downgrade_without(group, members, response, now_ms)
        drafted: list[Record] = []
        for member in members:
            drafted += tombstones.of_member(group.group_id, member.member_id)
        after = group.subscriptions - Counter(member.subscription for member in members)
        gone = group.regexes - {subscription.regex for subscription in after}
        drafted += (tombstones.of_regex(group.group_id, regex) for regex in sorted(gone))
        bump_for(group, self._around.metadata_hash(all_wanted_names(after, group.resolved)), drafted, now_ms)
        for member in members:
            for kind in TIMER_KINDS:
                self._around.state.timers.cancel((kind, group.group_id, member.member_id))

        def then(error: KafkaError | None, now_ms: int) -> Outcome[None]:
            if error is not None:  # they are still members, and have to be given up some day
                times = self._around.times_of(group.group_id)
                self._migration.deadlines.start(group.group_id, members, times.session_timeout_ms, now_ms)
            return Outcome()

        return Outcome(response, drafted, then=then)


def until_it_is_back(member: Member) -> Member:
    """A static member that left for a while: it keeps what it has, for whoever comes with its instance id."""
    assigned = {topic: dict.fromkeys(partitions, 0) for topic, partitions in member.assigned.items()}
    return member._replace(epoch=LEFT_STATIC_EPOCH, assigned=assigned, pending_revocation=NOTHING_HELD)
