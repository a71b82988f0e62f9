"""What only time brings about: members that fall silent, in both protocols, and offsets that nobody wants any more.

The targets of this area are impatient. A scenario waits for what must come, as long as that takes; sessions are so long
that none ends in between, and each group keeps an offset, since one without is forgotten when it is empty.
"""

from __future__ import annotations

from typing import Any

from compat_tests.scenarios import consumer_groups
from compat_tests.scenarios.classic_groups import heartbeat, leave
from compat_tests.scenarios.consumer_groups import LEAVING_FOR_A_WHILE, beat, joined, known_topic, owned
from compat_tests.scenarios.group_members import Member, describe, group_of_one
from compat_tests.scenarios.group_offsets import committed, fetched
from compat_tests.scenarios.scenario import Area
from compat_tests.scenarios.stage import Stage
from ottla.wire.messages.classic_groups import HeartbeatRequest, JoinGroupRequest
from ottla.wire.messages.consumer_groups import ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest
from ottla.wire.messages.group_admin import DescribeGroupsRequest
from ottla.wire.messages.group_offsets import OffsetCommitRequest, OffsetFetchRequest

SESSION_MS = 3_000
AREA = Area(
    "passing time",
    {
        "group.min.session.timeout.ms": "1000",
        "group.consumer.min.session.timeout.ms": "1000",
        "group.consumer.session.timeout.ms": str(SESSION_MS),
        "group.consumer.min.heartbeat.interval.ms": "100",
        "group.consumer.heartbeat.interval.ms": "300",
        "offsets.retention.check.interval.ms": "100",
        "offsets.retention.minutes": "1",
    },
)
SHORT = {"session_timeout_ms": SESSION_MS, "rebalance_timeout_ms": SESSION_MS}
NONE, NOTHING, ALL = 0, -1, 4


# Members of classic groups


def keep(stage: Stage, **more: Any) -> str:
    """An offset that outlives the scenario; its topic."""
    topic = stage.topic(".kept")
    committed(stage, 8, topic, {0: 5}, **more)
    return topic


def wait_for(stage: Stage, state: str) -> None:
    def is_so() -> bool:
        (group,) = stage.quietly(DescribeGroupsRequest, 0, {"groups": [stage.name]}).groups
        return bool(group.group_state == state)

    stage.in_time(state, is_so)


def until_told(stage: Stage, member: Member) -> None:
    """Heartbeats until one is answered with an error, which is written down."""
    fields = {"group_id": stage.name, "generation_id": member.generation, "member_id": member.id}
    stage.in_time("an error", lambda: stage.quietly(HeartbeatRequest, 3, fields).error_code != NONE)
    heartbeat(stage, member)


@AREA.at(JoinGroupRequest, {"by itself": None, "with a name": "static"}, versions=(0, 5, 9))
def a_member_falls_silent(stage: Stage, version: int, instance_id: str | None) -> None:
    topic = keep(stage)
    member = Member(stage, "a", instance_id=instance_id)
    member.join(version, **SHORT)
    member.sync({member.id: b"all of it"})
    wait_for(stage, "Empty")
    describe(stage)
    heartbeat(stage, member)
    identity = {"generation_id_or_member_epoch": member.generation, "member_id": member.id}
    committed(stage, 8, topic, {0: 8}, **identity, group_instance_id=instance_id)
    fetched(stage, 9, topic, [0])


@AREA.one
def one_of_two_members_falls_silent(stage: Stage) -> None:
    keep(stage)
    first, second = group_of_one(stage), Member(stage, "b")
    second.begin_join(**SHORT)
    second.id = second.finish_join().member_id
    second.begin_join(**SHORT)
    until_told(stage, first)
    first.begin_join()
    first.finish_join()
    second.finish_join()
    first.begin_sync({first.id: b"one", second.id: b"two"})
    first.finish_sync()
    until_told(stage, first)
    first.begin_join()
    first.finish_join()
    first.sync({first.id: b"all of it"})
    describe(stage)
    heartbeat(stage, second)


@AREA.one
def a_member_does_not_join_again(stage: Stage) -> None:
    """Its session is long; it is the rebalance that does not wait for it."""
    keep(stage)
    first, second = Member(stage, "a"), Member(stage, "b")
    first.join(rebalance_timeout_ms=SESSION_MS)
    first.sync({first.id: b"all of it"})
    second.join(rebalance_timeout_ms=SESSION_MS)
    second.sync({second.id: b"all of it"})
    describe(stage)
    heartbeat(stage, first)


@AREA.one
def a_leader_assigns_nothing(stage: Stage) -> None:
    keep(stage)
    leader = Member(stage, "a")
    leader.join(rebalance_timeout_ms=SESSION_MS)
    wait_for(stage, "Empty")
    describe(stage)
    heartbeat(stage, leader)


# Members of the consumer protocol


def wait_until_nobody_is_there(stage: Stage) -> None:
    def is_so() -> bool:
        (group,) = stage.quietly(ConsumerGroupDescribeRequest, 1, {"group_ids": [stage.name]}).groups
        return not group.members

    stage.in_time("no members", is_so)


def beats_until(stage: Stage, member: str, epoch: int, is_so: Any, **more: Any) -> Any:
    """Heartbeats, which are not written down, until one is answered so; that answer."""
    answers: list[Any] = []

    def beat_again() -> bool:
        known = answers[-1].member_epoch if answers else epoch
        fields = {"group_id": stage.name, "member_id": member, "member_epoch": known, **more}
        answers.append(stage.quietly(ConsumerGroupHeartbeatRequest, 1, fields))
        return bool(is_so(answers[-1]))

    stage.in_time(f"{member} is told", beat_again)
    return answers[-1]


def partition_count(answer: Any) -> int:
    return sum(len(topic.partitions) for topic in answer.assignment.topic_partitions) if answer.assignment else 0


@AREA.at(ConsumerGroupHeartbeatRequest, {"by itself": None, "with a name": "static"})
def a_consumer_falls_silent(stage: Stage, version: int, instance_id: str | None) -> None:
    topic = known_topic(stage, 2)
    epoch = joined(stage, version, "a", [topic], instance_id=instance_id).member_epoch
    identity = {"member_id": "a", "generation_id_or_member_epoch": epoch, "group_instance_id": instance_id}
    committed(stage, 9, topic, {0: 3}, **identity)
    wait_until_nobody_is_there(stage)
    consumer_groups.describe(stage)
    beat(stage, version, "a", epoch)
    committed(stage, 9, topic, {0: 9}, **identity)
    fetched(stage, 9, topic, [0])


@AREA.one
def a_static_consumer_does_not_come_back(stage: Stage) -> None:
    topic = known_topic(stage, 2)
    epoch = joined(stage, 1, "a", [topic], instance_id="static").member_epoch
    identity = {"member_id": "a", "generation_id_or_member_epoch": epoch, "group_instance_id": "static"}
    committed(stage, 9, topic, {0: 3}, **identity)
    beat(stage, 1, "a", LEAVING_FOR_A_WHILE, instance_id="static")
    consumer_groups.describe(stage)
    wait_until_nobody_is_there(stage)
    consumer_groups.describe(stage)
    joined(stage, 1, "b", [topic], instance_id="static")


@AREA.one
def one_of_two_consumers_falls_silent(stage: Stage) -> None:
    topic = known_topic(stage, ALL)
    epoch = joined(stage, 1, "a", [topic]).member_epoch
    beat(stage, 1, "a", epoch, topic_partitions=owned(stage, topic, [0, 1, 2, 3]))
    joined(stage, 1, "b", [topic])
    told = beats_until(stage, "a", epoch, lambda answer: partition_count(answer) == ALL // 2)
    kept = [{"topic_id": one.topic_id, "partitions": list(one.partitions)} for one in told.assignment.topic_partitions]
    stage.note("kept", sorted(kept[0]["partitions"]))
    beats_until(stage, "a", told.member_epoch, lambda answer: partition_count(answer) == ALL, topic_partitions=kept)
    consumer_groups.describe(stage)
    beat(stage, 1, "b", epoch + 1)


@AREA.one
def a_consumer_keeps_what_it_must_give_up(stage: Stage) -> None:
    """The other one lives, and gets all of it in the end."""
    topic = known_topic(stage, ALL)
    everything = owned(stage, topic, [0, 1, 2, 3])
    epoch = joined(stage, 1, "a", [topic], rebalance_timeout_ms=SESSION_MS).member_epoch
    beat(stage, 1, "a", epoch, topic_partitions=everything)
    told = [joined(stage, 1, "b", [topic])]

    def the_other_beats() -> None:
        fields = {"group_id": stage.name, "member_id": "b", "member_epoch": told[-1].member_epoch}
        told.append(stage.quietly(ConsumerGroupHeartbeatRequest, 1, fields))

    def is_refused(answer: Any) -> bool:
        the_other_beats()
        return bool(answer.error_code != NONE)

    def has_everything() -> bool:
        the_other_beats()
        return any(partition_count(answer) == ALL for answer in told)

    refused = beats_until(stage, "a", epoch, is_refused, topic_partitions=everything)
    stage.note("refused", int(refused.error_code))
    stage.in_time("the other has everything", has_everything)
    consumer_groups.describe(stage)


# Offsets


def is_forgotten(stage: Stage, topic: str, index: int) -> bool:
    asked = [{"name": topic, "partition_indexes": [index]}]
    found = stage.quietly(OffsetFetchRequest, 6, {"group_id": stage.name, "topics": asked})
    return bool(found.topics[0].partitions[0].committed_offset == NOTHING)


@AREA.at(OffsetCommitRequest, versions=(2, 3, 4))
def an_offset_with_a_time_to_live(stage: Stage, version: int) -> None:
    """The other, which has none of its own, keeps the group."""
    topic = stage.topic(partitions=2)
    committed(stage, 8, topic, {1: 7})
    committed(stage, version, topic, {0: 5}, retention_time_ms=1)
    stage.in_time("the offset is forgotten", lambda: is_forgotten(stage, topic, 0))
    fetched(stage, 9, topic, [0, 1])
    fetched(stage, 9, None, [])
    describe(stage)


@AREA.at(OffsetCommitRequest, {"at once": 0, "before all time": -5}, versions=(2, 4))
def an_offset_with_no_time_to_live(stage: Stage, version: int, retention_ms: int) -> None:
    topic = stage.topic()
    committed(stage, version, topic, {0: 5}, retention_time_ms=retention_ms)
    stage.in_time("the offset is forgotten", lambda: is_forgotten(stage, topic, 0))
    describe(stage)


@AREA.one
def the_last_offset_takes_the_group_with_it(stage: Stage) -> None:
    topic = stage.topic()
    committed(stage, 4, topic, {0: 5}, retention_time_ms=1)
    wait_for(stage, "Dead")
    describe(stage)
    fetched(stage, 9, None, [])


@AREA.one
def offsets_of_a_group_that_is_there(stage: Stage) -> None:
    """What its members read stays, whatever its time to live; the rest goes."""
    keep(stage)
    read, other = stage.topic(), stage.topic(".other")
    name = read.encode()
    subscription = b"\0\1" + b"\0\0\0\1" + len(name).to_bytes(2, "big") + name + b"\xff\xff\xff\xff" + b"\0\0\0\0"
    member = Member(stage, "a")
    member.join(protocols=[{"name": "range", "metadata": subscription}])
    member.sync({member.id: b"all of it"})
    identity = {"generation_id_or_member_epoch": member.generation, "member_id": member.id}
    for topic in (read, other):
        committed(stage, 4, topic, {0: 5}, **identity, retention_time_ms=1)
    stage.in_time("the offset is forgotten", lambda: is_forgotten(stage, other, 0))
    fetched(stage, 9, None, [])
    leave(stage, 5, {"member_id": member.id})
    stage.in_time("the other offset is forgotten", lambda: is_forgotten(stage, read, 0))
    fetched(stage, 9, None, [])


@AREA.one
def offsets_after_the_time_of_all(stage: Stage) -> None:
    """A minute after the commit, or after the group has lost its last member."""
    topic = stage.topic(partitions=2)
    other = {"group_id": f"{stage.name}.other"}
    committed(stage, 8, topic, {0: 5})
    committed(stage, 4, topic, {1: 5}, retention_time_ms=600_000)
    committed(stage, 8, topic, {1: 5}, **other)
    member = Member(stage, "a")
    member.join(**other)
    member.sync({member.id: b"all of it"}, **other)
    identity = {"generation_id_or_member_epoch": member.generation, "member_id": member.id}
    committed(stage, 9, topic, {0: 8}, **identity, **other)
    leave(stage, 5, {"member_id": member.id}, group=other["group_id"])
    fetched(stage, 9, topic, [0, 1])
    fetched(stage, 9, topic, [0], other["group_id"])
    stage.in_time("the offset is forgotten", lambda: is_forgotten(stage, topic, 0))
    fetched(stage, 9, topic, [0, 1])

    def is_gone() -> bool:
        (group,) = stage.quietly(DescribeGroupsRequest, 0, {"groups": [other["group_id"]]}).groups
        return bool(group.group_state == "Dead")

    stage.in_time("the group is forgotten", is_gone)
    fetched(stage, 9, topic, [0], other["group_id"])
