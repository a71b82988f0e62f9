"""From records to groups: old records, tombstones, and a log that was loaded anew."""

from __future__ import annotations

from ottla.coordinators.classic.group import ClassicGroup
from ottla.coordinators.consumer_group import records, tombstones
from ottla.coordinators.consumer_group.group import ConsumerGroup
from ottla.coordinators.consumer_group.member import Member, MemberState
from ottla.coordinators.consumer_group.replay import REPLAYS, replay
from ottla.coordinators.group import Group
from ottla.wire.stored import consumer_group_records as stored
from tests.coordinators.consumer_group.world import ConsumerWorld

A = b"a" * 16
Current = stored.ConsumerGroupCurrentMemberAssignmentValue


def test_every_kind_of_record_is_replayed() -> None:
    keys = {kind for name, kind in vars(stored).items() if name.endswith("Key")}
    assert set(REPLAYS) == keys


def test_tombstones_of_what_is_not_there_are_nothing() -> None:
    groups: dict[str, Group] = {}
    for record in tombstones.of_group("g", ["m"], ["x"]):
        replay(groups, record.key, record.value)
    assert groups == {}
    groups["g"] = ConsumerGroup("g")
    for record in [*tombstones.of_member("g", "m"), tombstones.of_regex("g", "x")]:
        replay(groups, record.key, record.value)
    assert isinstance(groups["g"], ConsumerGroup)


def test_a_classic_group_that_was_made_up_for_offsets_gives_way() -> None:
    groups: dict[str, Group] = {"g": ClassicGroup("g")}
    for record in tombstones.of_member("g", "m"):
        replay(groups, record.key, record.value)
    assert isinstance(groups["g"], ClassicGroup)
    record = records.group_epoch("g", 3, 0)
    replay(groups, record.key, record.value)
    assert isinstance(groups["g"], ConsumerGroup)


def test_old_records_have_no_epochs_for_each_partition() -> None:
    groups: dict[str, Group] = {}
    key = stored.ConsumerGroupCurrentMemberAssignmentKey(group_id="g", member_id="m")
    for epoch, expected in ((4, 4), (-2, 0)):
        value = Current(
            member_epoch=epoch,
            previous_member_epoch=3,
            state=9,
            assigned_partitions=[Current.TopicPartitions(topic_id=A, partitions=[0, 1])],
            partitions_pending_revocation=[],
        )
        replay(groups, key, value)
        group = groups["g"]
        assert isinstance(group, ConsumerGroup)
        assert group.members["m"].assigned == {A: {0: expected, 1: expected}}
        assert group.members["m"].state is MemberState.UNKNOWN


def test_old_records_of_members_are_no_classic_members() -> None:
    groups: dict[str, Group] = {}
    key = stored.ConsumerGroupMemberMetadataKey(group_id="g", member_id="m")
    value = stored.ConsumerGroupMemberMetadataValue(
        instance_id=None,
        rack_id=None,
        client_id="",
        client_host="",
        subscribed_topic_names=[],
        subscribed_topic_regex=None,
        server_assignor=None,
    )
    replay(groups, key, value)
    group = groups["g"]
    assert isinstance(group, ConsumerGroup)
    assert (group.members["m"].classic, group.members["m"].subscription.regex) == (None, "")


def test_the_topics_that_kafka_kept_before_4_1_are_deleted_with_the_next_change() -> None:
    world = ConsumerWorld()
    world.enter("a")
    key = stored.ConsumerGroupPartitionMetadataKey(group_id="g")
    world.shard.replay(
        tombstones.of_old_topics("g")._replace(value=stored.ConsumerGroupPartitionMetadataValue(topics=[])), 99
    )
    assert world.group.has_old_topics_record
    world.enter("b")
    assert [record.value for record in world.log if record.key == key] == [None]
    assert not world.group.has_old_topics_record


def test_a_deleted_group_is_gone_with_all_its_records() -> None:
    world = ConsumerWorld()
    world.enter("a", regex="o.*")
    world.advance(2_000)
    world.good(world.beat("a", -1))
    (deleted,) = world.ask(lambda: world.shard.delete_groups(["g"]))
    assert deleted.error_code == 0
    assert world.shard.state.groups == {}
    last = {}
    for record in world.log:
        last[repr(record.key)] = record.value
    assert set(last.values()) == {None}


def test_a_new_leader_knows_what_the_old_one_knew() -> None:
    world = ConsumerWorld()
    world.enter("a")
    world.enter("b", regex="b.*", instance_id="x")
    world.settle("a", "b")
    before = world.group
    world.crash()
    assert world.group is not before
    assert (world.group.members, world.group.target, world.group.resolved) == (
        before.members,
        before.target,
        before.resolved,
    )
    assert (world.group.epoch, world.group.target_epoch) == (before.epoch, before.target_epoch)
    world.good(world.beat("a", world.group.members["a"].epoch))


def test_a_member_is_removed_by_its_tombstones() -> None:
    groups: dict[str, Group] = {}
    member = Member("m", epoch=3, assigned={A: {0: 3}})
    for record in (records.member_metadata("g", member), records.current_assignment("g", member)):
        replay(groups, record.key, record.value)
    current, _, metadata = tombstones.of_member("g", "m")
    replay(groups, current.key, None)
    group = groups["g"]
    assert isinstance(group, ConsumerGroup)
    assert (group.members["m"].epoch, group.members["m"].assigned) == (-1, {})
    replay(groups, metadata.key, None)
    assert group.members == {}
