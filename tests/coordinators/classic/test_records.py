"""A group is written as Kafka writes it, and read back as it was."""

from __future__ import annotations

from ottla.coordinators.classic.group import ClassicGroup, ClassicState
from ottla.coordinators.classic.records import VALUE_VERSION, empty_group_record, group_record, loaded_group
from ottla.wire.stored.classic_group_records import GroupMetadataKey, GroupMetadataValue
from tests.coordinators.shard_world import ShardWorld


def value_of(world: ShardWorld) -> GroupMetadataValue:
    value = world.log[-1].value
    assert isinstance(value, GroupMetadataValue)
    return value


def test_a_group_comes_back_as_it_was_written() -> None:
    world = ShardWorld()
    members, generation = world.stable_group(2)
    key = world.log[-1].key
    assert isinstance(key, GroupMetadataKey)
    assert world.log[-1].version == VALUE_VERSION
    known = world.shard.state.groups["g"]
    loaded = loaded_group(key, value_of(world))
    assert isinstance(known, ClassicGroup)
    assert (loaded.state, loaded.generation, loaded.leader) == (ClassicState.STABLE, generation, members[0])
    assert (loaded.protocol_type, loaded.protocol) == ("consumer", "range")
    assert loaded.subscribed_topics == {"orders"}
    for member_id, member in known.members.items():
        same = loaded.members[member_id]
        for name in ("client_id", "client_host", "rebalance_timeout_ms", "session_timeout_ms", "assignment"):
            assert getattr(same, name) == getattr(member, name), name
        assert same.protocols == member.protocols
    assignments = {member.member_id: member.assignment for member in loaded.members.values()}
    again = group_record(loaded, assignments).value
    assert again == value_of(world)


def test_a_group_without_members_is_empty() -> None:
    group = ClassicGroup("g", state_timestamp_ms=5)
    record = empty_group_record(group)
    assert record.value == GroupMetadataValue(
        protocol_type="", generation=0, protocol=None, leader=None, current_state_timestamp=5, members=[]
    )
    loaded = loaded_group(GroupMetadataKey(group="g"), record.value)
    assert (loaded.state, loaded.state_timestamp_ms, loaded.group_protocol_type) == (ClassicState.EMPTY, 5, None)


def test_records_of_old_brokers_are_read() -> None:
    member = GroupMetadataValue.MemberMetadata(
        member_id="m", client_id="c", client_host="h", session_timeout=30, subscription=b"", assignment=b"a"
    )
    value = GroupMetadataValue(protocol_type="consumer", generation=3, protocol="range", leader="m", members=[member])
    loaded = loaded_group(GroupMetadataKey(group="g"), value)
    assert loaded.members["m"].rebalance_timeout_ms == 30
    assert loaded.state_timestamp_ms is None
    assert group_record(loaded, {"m": b"a"}).value is not None
