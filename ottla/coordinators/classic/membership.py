"""Heartbeat and LeaveGroup.

LeaveGroup removes several members from version 3 on, static ones by their name alone if an administrator wants it
(KIP-345); before, it is the sender that leaves.
"""

from __future__ import annotations

from ottla.coordinators.classic.group import ClassicGroup, ClassicState
from ottla.coordinators.classic.rebalance import Rebalancer, memory_outcome
from ottla.coordinators.contract import Outcome
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.classic_groups import (
    HeartbeatRequest,
    HeartbeatResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
)

MemberIdentity = LeaveGroupRequest.MemberIdentity
MemberResponse = LeaveGroupResponse.MemberResponse


class Membership:
    def __init__(self, rebalancer: Rebalancer) -> None:
        self._rebalancer = rebalancer

    def heartbeat(self, group: ClassicGroup, request: HeartbeatRequest, now_ms: int) -> Outcome[HeartbeatResponse]:
        """The member lives. REBALANCE_IN_PROGRESS calls it to join again."""
        group.check_member(request.member_id, request.group_instance_id)
        group.check_generation(request.generation_id)
        self._rebalancer.expect_heartbeat(group, group.members[request.member_id], now_ms)
        is_preparing = group.state is ClassicState.PREPARING
        code = ErrorCode.REBALANCE_IN_PROGRESS if is_preparing else ErrorCode.NONE
        return Outcome(HeartbeatResponse(error_code=code))

    def leave(self, group: ClassicGroup, leaving: list[MemberIdentity], now_ms: int) -> Outcome[LeaveGroupResponse]:
        out: Outcome[LeaveGroupResponse] = memory_outcome()
        results = [self._leave_one(group, one, out) for one in leaving]
        if any(result.error_code == ErrorCode.NONE for result in results):
            if group.state in (ClassicState.STABLE, ClassicState.COMPLETING):
                self._rebalancer.prepare_or_complete(group, now_ms, out)
            elif group.state is ClassicState.PREPARING:
                self._rebalancer.complete_if_joined(group, now_ms, out)
        out.response = LeaveGroupResponse(members=results)
        return out

    def _leave_one(self, group: ClassicGroup, one: MemberIdentity, out: Outcome[LeaveGroupResponse]) -> MemberResponse:
        code = ErrorCode.NONE
        try:
            member_id = self._leaving_id(group, one)
            self._rebalancer.remove(group, member_id, out)
        except KafkaError as error:
            code = error.code
        return MemberResponse(member_id=one.member_id, group_instance_id=one.group_instance_id, error_code=code)

    def _leaving_id(self, group: ClassicGroup, one: MemberIdentity) -> str:
        if not one.member_id:
            found = None if one.group_instance_id is None else group.static_ids.get(one.group_instance_id)
            if found is None:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
            return found
        if one.member_id not in group.pending_join:
            group.check_member(one.member_id, one.group_instance_id)
        return one.member_id
