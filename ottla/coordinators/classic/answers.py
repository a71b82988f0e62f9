"""The answers of the classic protocol, field for field as Kafka fills them."""

from __future__ import annotations

from ottla.coordinators.classic.group import ClassicGroup
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.classic_groups import JoinGroupResponse, SyncGroupResponse

NO_MEMBER = ""
NO_LEADER = ""


def join_refused(code: ErrorCode, member_id: str = NO_MEMBER) -> JoinGroupResponse:
    """From version 7 on there is no protocol then; before, its name is empty, which the handler sees to."""
    return JoinGroupResponse(error_code=code, protocol_name=None, leader=NO_LEADER, member_id=member_id, members=[])


def joined(
    group: ClassicGroup,
    member_id: str,
    *,
    leader: str | None = None,
    is_leader: bool | None = None,
    skips_assignment: bool = False,
) -> JoinGroupResponse:
    """The current generation. The leader learns who is in it; who leads can be said otherwise than it is."""
    shows_members = group.leader == member_id if is_leader is None else is_leader
    return JoinGroupResponse(
        error_code=ErrorCode.NONE,
        generation_id=group.generation,
        protocol_type=group.group_protocol_type,
        protocol_name=group.protocol,
        leader=leader if leader is not None else group.leader or NO_LEADER,
        skip_assignment=skips_assignment,
        member_id=member_id,
        members=_members(group) if shows_members else [],
    )


def _members(group: ClassicGroup) -> list[JoinGroupResponse.JoinGroupResponseMember]:
    return [
        JoinGroupResponse.JoinGroupResponseMember(
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            metadata=member.metadata(group.protocol or ""),
        )
        for member in group.members.values()
    ]


def sync_refused(code: ErrorCode) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=code, assignment=b"")


def synced(group: ClassicGroup, assignment: bytes) -> SyncGroupResponse:
    return SyncGroupResponse(
        error_code=ErrorCode.NONE,
        protocol_type=group.group_protocol_type,
        protocol_name=group.protocol,
        assignment=assignment,
    )
