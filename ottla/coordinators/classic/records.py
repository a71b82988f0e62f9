"""A classic group as a record, and back: GroupMetadata, written when a generation has its assignment or ends empty."""

from __future__ import annotations

from collections.abc import Mapping

from ottla.coordinators.classic.group import ClassicGroup, ClassicState
from ottla.coordinators.classic.member import Member
from ottla.coordinators.contract import Record
from ottla.wire.stored.classic_group_records import GroupMetadataKey, GroupMetadataValue

# What Kafka 4.3 writes.
VALUE_VERSION = 3
NO_TIMESTAMP = -1
NO_TIMEOUT = -1


def group_record(group: ClassicGroup, assignments: Mapping[str, bytes]) -> Record:
    """The group with what each of its members is given."""
    members = [
        GroupMetadataValue.MemberMetadata(
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout=member.rebalance_timeout_ms,
            session_timeout=member.session_timeout_ms,
            subscription=member.metadata(group.protocol or ""),
            assignment=assignments[member.member_id],
        )
        for member in group.members.values()
    ]
    return _record(group, group.protocol_type, group.generation, group.protocol, group.leader, members)


def empty_group_record(group: ClassicGroup) -> Record:
    """The group as one that has no members yet, whoever may be joining."""
    return _record(group, "", 0, None, None, [])


def _record(
    group: ClassicGroup,
    protocol_type: str,
    generation: int,
    protocol: str | None,
    leader: str | None,
    members: list[GroupMetadataValue.MemberMetadata],
) -> Record:
    timestamp = NO_TIMESTAMP if group.state_timestamp_ms is None else group.state_timestamp_ms
    value = GroupMetadataValue(
        protocol_type=protocol_type,
        generation=generation,
        protocol=protocol,
        leader=leader,
        current_state_timestamp=timestamp,
        members=members,
    )
    return Record(GroupMetadataKey(group=group.group_id), value, VALUE_VERSION)


def loaded_group(key: GroupMetadataKey, value: GroupMetadataValue) -> ClassicGroup:
    """The group that a record describes."""
    timestamp = value.current_state_timestamp
    group = ClassicGroup(
        key.group,
        state=ClassicState.STABLE if value.members else ClassicState.EMPTY,
        state_timestamp_ms=None if timestamp == NO_TIMESTAMP else timestamp,
        generation=value.generation,
        protocol_type=value.protocol_type or None,
        protocol=value.protocol,
        leader=value.leader,
    )
    for member in value.members:
        timeout = member.session_timeout if member.rebalance_timeout == NO_TIMEOUT else member.rebalance_timeout
        group.add(
            Member(
                member.member_id,
                instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout_ms=timeout,
                session_timeout_ms=member.session_timeout,
                protocol_type=value.protocol_type,
                protocols={value.protocol or "": member.subscription},
                assignment=member.assignment,
            )
        )
    group.find_subscribed_topics()
    return group
