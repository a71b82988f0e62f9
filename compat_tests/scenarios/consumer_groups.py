"""Groups of the consumer protocol (KIP-848): members that say what they have and are told what to have."""

from __future__ import annotations

from typing import Any

from compat_tests.scenarios.group_members import Member
from compat_tests.scenarios.group_offsets import committed, fetched
from compat_tests.scenarios.scenario import Area
from compat_tests.scenarios.stage import Stage
from ottla.wire.messages.consumer_groups import ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest
from ottla.wire.messages.group_admin import DeleteGroupsRequest, DescribeGroupsRequest, ListGroupsRequest

AREA = Area("consumer groups")
JOINING, LEAVING, LEAVING_FOR_A_WHILE = 0, -1, -2


def known_topic(stage: Stage, partitions: int = 1) -> str:
    """One that the coordinator knows: it hears of topics a little after they are led."""
    topic = stage.topic(partitions=partitions)
    stage.settle()
    return topic


def beat(stage: Stage, version: int, member: str, epoch: int, **more: Any) -> Any:
    """Members choose their own ids; version 0 lets the broker choose where there is none."""

    def meet(response: Any) -> None:
        if response.member_id not in (None, member):
            stage.names.text(response.member_id, "member")

    fields = {"group_id": stage.name, "member_id": member, "member_epoch": epoch, **more}
    return stage.ask(ConsumerGroupHeartbeatRequest, version, fields, meet=meet)


def joined(stage: Stage, version: int, member: str, topics: list[str], **more: Any) -> Any:
    fields = {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": topics, "topic_partitions": [], **more}
    return beat(stage, version, member, JOINING, **fields)


def describe(stage: Stage, version: int = 1) -> None:
    fields = {"group_ids": [stage.name], "include_authorized_operations": False}
    found = stage.quietly(ConsumerGroupDescribeRequest, version, fields)
    for group in found.groups:
        group.members.sort(key=lambda member: stage.names.in_text(member.member_id))
        for member in group.members:
            member.client_host = "<host>"
    stage.saw(ConsumerGroupDescribeRequest, version, found)


def owned(stage: Stage, topic: str, partitions: list[int]) -> list[dict[str, Any]]:
    return [{"topic_id": stage.topic_id(topic), "partitions": partitions}]


@AREA.at(ConsumerGroupHeartbeatRequest)
def a_member_comes_stays_and_goes(stage: Stage, version: int) -> None:
    topic = known_topic(stage, 3)
    joined(stage, version, "a", [topic])
    beat(stage, version, "a", 1, topic_partitions=owned(stage, topic, [0, 1, 2]))
    beat(stage, version, "a", 1)
    describe(stage, version)
    beat(stage, version, "a", LEAVING)
    describe(stage)


@AREA.at(ConsumerGroupHeartbeatRequest, {"uniform": "uniform", "range": "range", "unknown": "nonsense", "unsaid": None})
def an_assignor(stage: Stage, version: int, name: str | None) -> None:
    topic = known_topic(stage, 4)
    joined(stage, version, "a", [topic], server_assignor=name)
    joined(stage, version, "b", [topic], server_assignor=name)
    describe(stage)


@AREA.at(ConsumerGroupHeartbeatRequest)
def a_second_member_takes_its_part(stage: Stage, version: int) -> None:
    topic = known_topic(stage, 4)
    joined(stage, version, "a", [topic], server_assignor="range")
    beat(stage, version, "a", 1, topic_partitions=owned(stage, topic, [0, 1, 2, 3]))
    joined(stage, version, "b", [topic])
    beat(stage, version, "a", 1)
    beat(stage, version, "a", 1, topic_partitions=owned(stage, topic, [0, 1]))
    beat(stage, version, "b", 2, topic_partitions=[])
    beat(stage, version, "b", 2, topic_partitions=owned(stage, topic, [2, 3]))
    describe(stage)


WRONG: dict[str, dict[str, Any]] = {
    "no group": {"group_id": ""},
    "no subscription": {"subscribed_topic_names": None},
    "no timeout": {"rebalance_timeout_ms": -1},
    "partitions from the start": {"topic_partitions": [{"topic_id": bytes(range(16)), "partitions": [0]}]},
    "no partitions named": {"topic_partitions": None},
    "an empty instance": {"instance_id": ""},
    "an empty rack": {"rack_id": ""},
    "an empty assignor": {"server_assignor": ""},
    "a negative epoch": {"member_epoch": -3},
    "an epoch to begin with": {"member_epoch": 7},
    "leaving before coming": {"member_epoch": LEAVING},
    "no member": {"member_id": ""},
    "an unknown topic": {"subscribed_topic_names": ["no-such-topic"]},
    "nothing to read": {"subscribed_topic_names": []},
}


@AREA.at(ConsumerGroupHeartbeatRequest, WRONG)
def a_first_heartbeat_with(stage: Stage, version: int, wrong: dict[str, Any]) -> None:
    fields = {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": [known_topic(stage)], "topic_partitions": []}
    beat(stage, version, **{"member": "a", "epoch": JOINING, **fields, **wrong})


@AREA.at(ConsumerGroupHeartbeatRequest, {"old": 0, "to come": 9, "the one before": 1, "right": 2})
def an_epoch_that_is(stage: Stage, version: int, epoch: int) -> None:
    topic = known_topic(stage, 2)
    joined(stage, version, "a", [topic])
    joined(stage, version, "a", [topic, f"{topic}.more"])
    beat(stage, version, "a", epoch, topic_partitions=owned(stage, topic, [0, 1]))


@AREA.cases({"one that fits": ".*one.that.fits.*", "one that fits nothing": "nothing", "wrong": "a(b", "empty": ""})
def an_expression(stage: Stage, pattern: str) -> None:
    known_topic(stage)
    joined(stage, 1, "a", [], subscribed_topic_names=None, subscribed_topic_regex=pattern)


@AREA.at(ConsumerGroupHeartbeatRequest)
def a_static_member_goes_for_a_while(stage: Stage, version: int) -> None:
    topic = known_topic(stage, 2)
    joined(stage, version, "a", [topic], instance_id="static")
    joined(stage, version, "b", [topic], instance_id="static")
    beat(stage, version, "a", LEAVING_FOR_A_WHILE, instance_id="static")
    joined(stage, version, "b", [topic], instance_id="static")
    describe(stage)
    beat(stage, version, "a", 1, instance_id="static")


@AREA.at(ConsumerGroupDescribeRequest)
def groups_that_are_not_there(stage: Stage, version: int) -> None:
    group = f"{stage.name}.classic"
    committed(stage, 8, known_topic(stage), {0: 1}, group_id=group)
    fields = {"group_ids": ["no-such-group", "", group], "include_authorized_operations": True}
    stage.ask(ConsumerGroupDescribeRequest, version, fields)


@AREA.one
def seen_by_those_who_know_classic_groups_only(stage: Stage) -> None:
    joined(stage, 1, "a", [known_topic(stage)])
    stage.ask(DescribeGroupsRequest, 5, {"groups": [stage.name]})
    stage.ask(DescribeGroupsRequest, 6, {"groups": [stage.name]})
    found = stage.quietly(ListGroupsRequest, 5, {})
    found.groups = [group for group in found.groups if group.group_id == stage.name]
    stage.saw(ListGroupsRequest, 5, found)
    stage.ask(DeleteGroupsRequest, 2, {"groups_names": [stage.name]})


@AREA.one
def a_classic_member_among_them(stage: Stage) -> None:
    joined(stage, 1, "a", [known_topic(stage)])
    Member(stage, "b").join()


@AREA.at(
    ConsumerGroupHeartbeatRequest,
    {"right": ("a", 1), "old": ("a", 0), "to come": ("a", 5), "nobody": ("b", 1), "unnamed": ("", -1)},
)
def offsets_committed_by(stage: Stage, version: int, case: tuple[str, int]) -> None:
    member, epoch = case
    topic = known_topic(stage)
    joined(stage, version, "a", [topic])
    committed(stage, 9, topic, {0: 3}, member_id=member, generation_id_or_member_epoch=epoch)
    fetched(stage, 9, topic, [0], member_id=member or None, member_epoch=epoch)
    fetched(stage, 9, topic, [0])
