"""Groups as administrators see them: DescribeGroups, ListGroups, DeleteGroups.

DescribeGroups knows classic groups only; any other id is Dead, and from version 6 on an error besides (KIP-1043).
ListGroups filters by state from version 4 on (KIP-518) and by type from version 5 on (KIP-848).
"""

from __future__ import annotations

from collections.abc import Iterable

from ottla.coordinators.classic.group import ClassicGroup, ClassicState
from ottla.coordinators.classic.member import Member
from ottla.coordinators.contract import Outcome, Record
from ottla.coordinators.offset_commit import offset_tombstone
from ottla.coordinators.state import ShardState
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.group_admin import DeleteGroupsResponse, DescribeGroupsResponse, ListGroupsResponse

NOT_FOUND_VERSION_MIN = 6

DescribedGroup = DescribeGroupsResponse.DescribedGroup
DescribedMember = DescribeGroupsResponse.DescribedGroupMember
DeletedGroup = DeleteGroupsResponse.DeletableGroupResult
ListedGroup = ListGroupsResponse.ListedGroup


def describe_groups(state: ShardState, group_ids: Iterable[str], version: int) -> list[DescribedGroup]:
    return [_describe(state, group_id, version) for group_id in group_ids]


def _describe(state: ShardState, group_id: str, version: int) -> DescribedGroup:
    group = state.groups.get(group_id)
    if not isinstance(group, ClassicGroup):
        reason = f"there is no group {group_id:.100}" if group is None else f"{group_id:.100} is not a classic group"
        error = KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, reason)
        return not_described(group_id, error if version >= NOT_FOUND_VERSION_MIN else None)
    protocol = group.protocol if group.state is ClassicState.STABLE else None
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state_text,
        protocol_type=group.protocol_type,
        protocol_data=protocol or "",
        members=[_describe_member(member, protocol) for member in group.members.values()],
    )


def _describe_member(member: Member, protocol: str | None) -> DescribedMember:
    """While there is no generation that all know, there is no protocol; what a member has is told all the same."""
    return DescribedMember(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=b"" if protocol is None else member.metadata(protocol),
        member_assignment=member.assignment,
    )


def not_described(group_id: str, error: KafkaError | None) -> DescribedGroup:
    return DescribedGroup(
        error_code=ErrorCode.NONE if error is None else error.code,
        error_message=None if error is None else error.message,
        group_id=group_id,
        group_state=ClassicState.DEAD.value,
        protocol_type="",
        protocol_data="",
        members=[],
    )


def list_groups(state: ShardState, states: Iterable[str], types: Iterable[str]) -> list[ListedGroup]:
    """Filters are read in any case; one that names nothing that exists matches nothing."""
    wanted_states = {text.strip().lower() for text in states}
    wanted_types = {text.strip().lower() for text in types}
    return [
        ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type,
            group_state=group.state_text,
            group_type=group.type.value,
        )
        for group in state.groups.values()
        if (not wanted_states or group.state_text.lower() in wanted_states)
        and (not wanted_types or group.type.value in wanted_types)
    ]


def delete_groups(state: ShardState, group_ids: Iterable[str]) -> Outcome[list[DeletedGroup]]:
    records: list[Record] = []
    results = []
    for group_id in dict.fromkeys(group_ids):
        code = ErrorCode.NONE
        try:
            _delete(state, group_id, records)
        except KafkaError as error:
            code = error.code
        results.append(DeletedGroup(group_id=group_id, error_code=code))
    return Outcome(results, records)


def _delete(state: ShardState, group_id: str, records: list[Record]) -> None:
    group = state.groups.get(group_id)
    if group is None:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"there is no group {group_id}")
    group.check_delete()
    partitions = dict.fromkeys(key for key, _ in state.offsets.known(group_id))
    records.extend(offset_tombstone(group_id, topic, partition) for topic, partition in partitions)
    records.extend(group.tombstones())
