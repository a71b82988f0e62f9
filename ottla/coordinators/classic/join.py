"""JoinGroup: who may join, under which id, and when that makes the group rebalance.

A dynamic member asks first for an id and comes back with it (version 4, KIP-394). A static member (KIP-345) that
comes without an id replaces the member of its name, which is fenced; in a stable group it just takes the place over,
and from version 9 on a leader that does so is told not to assign (KIP-814). Version 8 brings a reason, for logs only.
"""

from __future__ import annotations

from typing import Any

from ottla.coordinators.classic.answers import join_refused, joined, sync_refused
from ottla.coordinators.classic.group import ClassicGroup, ClassicState
from ottla.coordinators.classic.member import Member, Protocols
from ottla.coordinators.classic.rebalance import Rebalancer, memory_outcome
from ottla.coordinators.classic.records import empty_group_record, group_record
from ottla.coordinators.contract import Answer, Outcome, RequestContext
from ottla.coordinators.settings import GroupSettings
from ottla.coordinators.state import ShardState
from ottla.coordinators.write_errors import as_coordinator_error
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.classic_groups import JoinGroupRequest, JoinGroupResponse

MEMBER_ID_REQUIRED_VERSION_MIN = 4
SKIP_ASSIGNMENT_VERSION_MIN = 9
OWN_REBALANCE_TIMEOUT_VERSION_MIN = 1
# As long as a name may be for clients that check it; a longer one would make an id that no answer can hold.
NAME_LENGTH_MAX = 249


def check_join(request: JoinGroupRequest, settings: GroupSettings) -> None:
    """What can be refused whoever coordinates the group."""
    if not request.group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
    low, high = settings.classic_session_timeout_ms_min, settings.classic_session_timeout_ms_max
    if not low <= request.session_timeout_ms <= high:
        reason = f"a session timeout of {request.session_timeout_ms} ms, {low} to {high} are allowed"
        raise KafkaError(ErrorCode.INVALID_SESSION_TIMEOUT, reason)


class _Join:
    """One JoinGroup, made ready."""

    __slots__ = ("context", "now_ms", "out", "protocols", "rebalance_timeout_ms", "request", "token")

    def __init__(self, request: JoinGroupRequest, context: RequestContext, token: Any, now_ms: int) -> None:
        self.request = request
        self.context = context
        self.token = token
        self.now_ms = now_ms
        self.out: Outcome[JoinGroupResponse] = memory_outcome()
        self.protocols: Protocols = {}
        for protocol in request.protocols:
            self.protocols.setdefault(protocol.name, protocol.metadata)
        # Version 0 knows one timeout only.
        has_own = context.version >= OWN_REBALANCE_TIMEOUT_VERSION_MIN
        self.rebalance_timeout_ms = request.rebalance_timeout_ms if has_own else request.session_timeout_ms

    def answer(self, response: JoinGroupResponse) -> None:
        self.out.answers.append(Answer(self.token, response))


class Joining:
    def __init__(self, state: ShardState, rebalancer: Rebalancer) -> None:
        self._state = state
        self._rebalancer = rebalancer

    def join(
        self, request: JoinGroupRequest, context: RequestContext, token: Any, now_ms: int
    ) -> Outcome[JoinGroupResponse]:
        """A JoinGroup to a classic group, to an empty group of another kind, or to none yet."""
        join = _Join(request, context, token, now_ms)
        known = self._state.groups.get(request.group_id)
        group = known if isinstance(known, ClassicGroup) else None
        if group is None:
            if request.member_id:
                join.answer(join_refused(ErrorCode.UNKNOWN_MEMBER_ID, request.member_id))
                return join.out
            group = self._create(join)
        if not self._has_room_for(group, request.member_id):
            join.answer(join_refused(ErrorCode.GROUP_MAX_SIZE_REACHED))
            self._give_up_place(group, request.member_id, join)
        elif request.member_id:
            self._join_known(group, join)
        else:
            self._join_new(group, join)
        return join.out

    def _create(self, join: _Join) -> ClassicGroup:
        """A new group, instead of an empty one of another kind; it is written down as empty."""
        group_id = join.request.group_id
        replaced = self._state.groups.get(group_id)
        group = ClassicGroup(group_id, state_timestamp_ms=join.now_ms)
        if replaced is not None:
            assert replaced.is_empty, replaced
            join.out.records.extend(replaced.tombstones())
            self._state.forget_timers(replaced)
        join.out.records.append(empty_group_record(group))
        self._state.groups[group_id] = group

        def then(error: KafkaError | None, now_ms: int) -> Outcome[None]:
            out = memory_outcome()
            if error is not None and self._rebalancer.is_here(group):
                self._state.forget_timers(group)
                del self._state.groups[group_id]
                if replaced is not None:
                    self._state.groups[group_id] = replaced
                self._refuse_waiting(group, as_coordinator_error(error).code, out)
            return out

        join.out.then = then
        return group

    def _refuse_waiting(self, group: ClassicGroup, code: ErrorCode, out: Outcome[Any]) -> None:
        for member_id in list(group.join_tokens):
            self._rebalancer.answer_join(group, member_id, join_refused(code), out)

    def _has_room_for(self, group: ClassicGroup, member_id: str) -> bool:
        members_max = self._state.settings.classic_members_max
        if group.state is ClassicState.PREPARING:
            # Counting those who wait lets a group that is too large shrink: the last ones to come back are left out.
            return member_id in group.join_tokens or len(group.join_tokens) < members_max
        if group.state in (ClassicState.COMPLETING, ClassicState.STABLE):
            return member_id in group.members or len(group.members) < members_max
        return True

    def _give_up_place(self, group: ClassicGroup, member_id: str, join: _Join) -> None:
        if member_id:
            self._rebalancer.remove(group, member_id, join.out)

    # Without an id

    def _join_new(self, group: ClassicGroup, join: _Join) -> None:
        request = join.request
        if not group.supports(request.protocol_type, join.protocols):
            join.answer(join_refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
            return
        instance_id = request.group_instance_id
        name = join.context.client_id if instance_id is None else instance_id
        member_id = f"{name[:NAME_LENGTH_MAX]}-{self._state.new_uuid()}"
        if instance_id is None:
            if join.context.version >= MEMBER_ID_REQUIRED_VERSION_MIN:
                group.pending_join.add(member_id)
                self._rebalancer.expire_at(group, member_id, join.now_ms + request.session_timeout_ms)
                join.answer(join_refused(ErrorCode.MEMBER_ID_REQUIRED, member_id))
            else:
                self._add(group, member_id, join)
            return
        existing_id = group.static_ids.get(instance_id)
        if existing_id is None:
            self._add(group, member_id, join)
        else:
            self._replace(group, existing_id, member_id, join)

    def _add(self, group: ClassicGroup, member_id: str, join: _Join) -> None:
        request = join.request
        member = Member(
            member_id,
            instance_id=request.group_instance_id,
            client_id=join.context.client_id,
            client_host=join.context.client_host,
            rebalance_timeout_ms=join.rebalance_timeout_ms,
            session_timeout_ms=request.session_timeout_ms,
            protocol_type=request.protocol_type,
            protocols=join.protocols,
        )
        member.is_new = True
        if group.state is ClassicState.PREPARING and group.previous_state is ClassicState.EMPTY:
            group.has_newcomer = True
        group.add(member, join.token)
        timeout_ms = self._state.settings.classic_new_member_join_timeout_ms
        self._rebalancer.expect_heartbeat(group, member, join.now_ms, timeout_ms)
        self._rebalancer.prepare_or_complete(group, join.now_ms, join.out)

    # With an id

    def _join_known(self, group: ClassicGroup, join: _Join) -> None:
        request = join.request
        member_id = request.member_id
        if not group.supports(request.protocol_type, join.protocols):
            join.answer(join_refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id))
            return
        if member_id in group.pending_join:
            if request.group_instance_id is not None:
                # Kafka fails here as well: ids are handed out to dynamic members only.
                join.answer(join_refused(ErrorCode.UNKNOWN_SERVER_ERROR))
                return
            self._add(group, member_id, join)
            return
        try:
            group.check_member(member_id, request.group_instance_id)
        except KafkaError as error:
            join.answer(join_refused(error.code, member_id))
            return
        member = group.members[member_id]
        if group.state is ClassicState.PREPARING or self._needs_rebalance(group, member, join):
            self._update(group, member, join)
        elif group.is_empty:
            join.answer(join_refused(ErrorCode.UNKNOWN_MEMBER_ID, member_id))
        else:
            is_leader = group.leader == member_id and group.state is ClassicState.COMPLETING
            join.answer(joined(group, member_id, is_leader=is_leader))

    def _needs_rebalance(self, group: ClassicGroup, member: Member, join: _Join) -> bool:
        """A leader may want one for reasons of its own, such as new partitions; others when they have changed."""
        if group.state is ClassicState.STABLE and group.leader == member.member_id:
            return True
        return not group.is_empty and not member.matches(join.protocols)

    def _update(self, group: ClassicGroup, member: Member, join: _Join) -> None:
        group.update(member, join.protocols, join.rebalance_timeout_ms, join.request.session_timeout_ms)
        self._wait(group, member.member_id, join)
        self._rebalancer.prepare_or_complete(group, join.now_ms, join.out)

    def _wait(self, group: ClassicGroup, member_id: str, join: _Join) -> None:
        """Only the last JoinGroup of a member counts. The one before is not left without an answer."""
        refused = join_refused(ErrorCode.REBALANCE_IN_PROGRESS, member_id)
        self._rebalancer.answer_join(group, member_id, refused, join.out)
        group.join_tokens[member_id] = join.token

    # A static member that comes back

    def _replace(self, group: ClassicGroup, old_id: str, new_id: str, join: _Join) -> None:
        leader_before = group.leader
        self._fence(group, old_id, join)
        member = group.replace_static(old_id, new_id)
        self._rebalancer.expect_heartbeat(group, member, join.now_ms)
        before = (member.protocols, member.rebalance_timeout_ms, member.session_timeout_ms)
        group.update(member, join.protocols, join.rebalance_timeout_ms, join.request.session_timeout_ms)
        group.join_tokens[new_id] = join.token
        if group.state is ClassicState.STABLE and group.select_protocol() == group.protocol:
            self._take_over(group, member, old_id, before, leader_before, join)
        elif group.state is ClassicState.PREPARING:
            self._rebalancer.complete_if_joined(group, join.now_ms, join.out)
        else:
            # The protocol changes; or the leader may be assigning to an id that is gone.
            self._rebalancer.prepare(group, join.now_ms, join.out)

    def _fence(self, group: ClassicGroup, member_id: str, join: _Join) -> None:
        refused = join_refused(ErrorCode.FENCED_INSTANCE_ID, member_id)
        self._rebalancer.answer_join(group, member_id, refused, join.out)
        token = group.sync_tokens.pop(member_id, None)
        if token is not None:
            join.out.answers.append(Answer(token, sync_refused(ErrorCode.FENCED_INSTANCE_ID)))
        self._state.timers.cancel(group.session_key(member_id))

    def _take_over(
        self,
        group: ClassicGroup,
        member: Member,
        old_id: str,
        before: tuple[Protocols, int, int],
        leader_before: str | None,
        join: _Join,
    ) -> None:
        """Nothing changes but the id: it is written down, and told when it is kept."""
        assignments = {one.member_id: one.assignment for one in group.members.values()}
        join.out.records.append(group_record(group, assignments))

        def then(error: KafkaError | None, now_ms: int) -> Outcome[None]:
            out = memory_outcome()
            new_id = member.member_id
            if not self._rebalancer.is_here(group) or group.join_tokens.get(new_id) is not join.token:
                return out
            if error is not None:
                refused = join_refused(as_coordinator_error(error).code)
                self._rebalancer.answer_join(group, new_id, refused, out)
                group.update(member, *before)
                self._state.timers.cancel(group.session_key(new_id))
                old = group.replace_static(new_id, old_id)
                self._rebalancer.expect_heartbeat(group, old, now_ms)
            elif group.state is ClassicState.STABLE:
                response = self._taken_over(group, new_id, leader_before, join.context.version)
                self._rebalancer.answer_join(group, new_id, response, out)
            return out

        join.out.then = then

    def _taken_over(
        self, group: ClassicGroup, member_id: str, leader_before: str | None, version: int
    ) -> JoinGroupResponse:
        if version >= SKIP_ASSIGNMENT_VERSION_MIN:
            return joined(group, member_id, skips_assignment=group.leader == member_id)
        # An old leader must not assign: it is told that its former id leads.
        return joined(group, member_id, leader=leader_before, is_leader=False)
