"""SyncGroup: the leader brings the assignment, everybody else fetches theirs.

The group is stable, and members get their answers, when the leader's assignment is committed; whatever makes the
group rebalance before that makes it void. From version 5 on protocol type and name are checked (KIP-559).
"""

from __future__ import annotations

from typing import Any

from ottla.coordinators.classic.answers import sync_refused, synced
from ottla.coordinators.classic.group import ClassicGroup, ClassicState
from ottla.coordinators.classic.rebalance import Rebalancer, memory_outcome
from ottla.coordinators.classic.records import group_record
from ottla.coordinators.contract import Answer, Outcome, RequestContext
from ottla.coordinators.write_errors import as_coordinator_error
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.classic_groups import SyncGroupRequest, SyncGroupResponse

PROTOCOL_VERSION_MIN = 5


def check_sync(request: SyncGroupRequest, version: int) -> None:
    """What can be refused whoever coordinates the group."""
    if version >= PROTOCOL_VERSION_MIN and (request.protocol_type is None or request.protocol_name is None):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if not request.group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)


class Syncing:
    def __init__(self, rebalancer: Rebalancer) -> None:
        self._rebalancer = rebalancer

    def sync(
        self, group: ClassicGroup, request: SyncGroupRequest, context: RequestContext, token: Any, now_ms: int
    ) -> Outcome[SyncGroupResponse]:
        """Raises what the member did wrong."""
        group.check_member(request.member_id, request.group_instance_id)
        group.check_generation(request.generation_id)
        if _differs(request.protocol_type, group.group_protocol_type) or _differs(
            request.protocol_name, group.protocol
        ):
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if group.state is ClassicState.PREPARING:
            raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
        out: Outcome[SyncGroupResponse] = memory_outcome()
        member = group.members[request.member_id]
        self._rebalancer.has_synced(group, member.member_id)
        if group.state is ClassicState.STABLE:
            out.response = synced(group, member.assignment)
            return out
        before = group.sync_tokens.pop(member.member_id, None)
        if before is not None:
            out.answers.append(Answer(before, sync_refused(ErrorCode.REBALANCE_IN_PROGRESS)))
        group.sync_tokens[member.member_id] = token
        if group.leader == member.member_id:
            self._write(group, request, out)
        return out

    def _write(self, group: ClassicGroup, request: SyncGroupRequest, out: Outcome[Any]) -> None:
        given = {one.member_id: one.assignment for one in request.assignments}
        assignments = {member_id: given.get(member_id, b"") for member_id in group.members}
        generation = group.generation
        out.records.append(group_record(group, assignments))

        def then(error: KafkaError | None, now_ms: int) -> Outcome[None]:
            out = memory_outcome()
            is_current = group.state is ClassicState.COMPLETING and group.generation == generation
            if not self._rebalancer.is_here(group) or not is_current:
                return out
            if error is None:
                self._rebalancer.assign(group, assignments, now_ms, out)
            else:
                self._rebalancer.refuse_assignment(group, as_coordinator_error(error).code, now_ms, out)
                self._rebalancer.prepare(group, now_ms, out)
            return out

        out.then = then


def _differs(said: str | None, is_so: str | None) -> bool:
    return said is not None and is_so is not None and said != is_so
