"""KIP-848 through its handlers: a member comes, is assigned, is described, and goes."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.server.handlers.authorized_operations import GROUP_OPERATIONS
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.consumer_groups import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from ottla.wire.messages.group_admin import ListGroupsRequest
from ottla.wire.stored.metadata_records import FeatureLevelRecord
from tests.server.handler_world import World
from tests.server.handlers.group_world import GroupWorld

MEMBER_ID = "c29tZSBtZW1iZXIgaWQuLg"


def heartbeat(groups: GroupWorld, epoch: int, *, version: int = 1, group_id: str = "g", **more: Any) -> Any:
    request = ConsumerGroupHeartbeatRequest(group_id=group_id, member_id=MEMBER_ID, member_epoch=epoch, **more)
    return groups.world.ask(request, version)


def join(groups: GroupWorld, version: int = 1, **more: Any) -> Any:
    options = {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": ["orders"], "topic_partitions": []} | more
    return heartbeat(groups, 0, version=version, **options)


def test_a_member_is_assigned_what_it_asked_for(groups: GroupWorld) -> None:
    told = join(groups)
    assert (told.error_code, told.member_id) == (ErrorCode.NONE, MEMBER_ID)
    assert told.heartbeat_interval_ms == 5000
    (topic,) = told.assignment.topic_partitions
    assert (topic.topic_id, sorted(topic.partitions)) == (groups.orders_id, [0, 1])
    assert heartbeat(groups, told.member_epoch).error_code == ErrorCode.NONE
    assert heartbeat(groups, 9).error_code == ErrorCode.FENCED_MEMBER_EPOCH


def joining(member_id: str) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id=member_id,
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=["orders"],
        topic_partitions=[],
    )


def partitions(told: ConsumerGroupHeartbeatResponse) -> list[int]:
    assert told.assignment is not None
    return [number for topic in told.assignment.topic_partitions for number in topic.partitions]


def test_those_who_join_together_get_their_parts_at_once(groups: GroupWorld) -> None:
    told = [groups.read(one, ConsumerGroupHeartbeatRequest) for one in groups.together(joining("a"), joining("b"))]
    assert sorted(number for one in told for number in partitions(one)) == [0, 1]
    assert len({one.member_epoch for one in told}) == 1


def test_who_asks_something_else_of_a_group_comes_after_those_who_join(groups: GroupWorld) -> None:
    leaving = ConsumerGroupHeartbeatRequest(group_id="g", member_id="a", member_epoch=-1)
    described = ConsumerGroupDescribeRequest(group_ids=["g"], include_authorized_operations=False)
    joined, left, found = groups.together(joining("a"), leaving, described)
    assert partitions(groups.read(joined, ConsumerGroupHeartbeatRequest)) == [0, 1]
    assert groups.read(left, ConsumerGroupHeartbeatRequest).member_epoch == -1
    assert groups.read(found, ConsumerGroupDescribeRequest).groups[0].group_state == "Empty"


def test_who_lists_groups_sees_those_who_have_come_to_join(groups: GroupWorld) -> None:
    _, listed = groups.together(joining("a"), ListGroupsRequest())
    assert [one.group_id for one in groups.read(listed, ListGroupsRequest).groups] == ["g"]


def test_a_group_is_described(groups: GroupWorld) -> None:
    heartbeat(groups, join(groups).member_epoch, topic_partitions=[])
    request = ConsumerGroupDescribeRequest(group_ids=["g", "nobody"], include_authorized_operations=True)
    found, missing = groups.world.ask(request).groups
    assert (found.group_id, found.error_code, found.authorized_operations) == ("g", 0, GROUP_OPERATIONS)
    assert [(one.member_id, one.client_id, one.client_host) for one in found.members] == [
        (MEMBER_ID, "client", "/127.0.0.1")
    ]
    assert (missing.group_id, missing.error_code) == ("nobody", ErrorCode.GROUP_ID_NOT_FOUND)


def test_a_group_without_a_name_is_none(groups: GroupWorld) -> None:
    request = ConsumerGroupDescribeRequest(group_ids=["", "nobody"], include_authorized_operations=True)
    told = {one.group_id: one.error_code for one in groups.world.ask(request).groups}
    assert told == {"": ErrorCode.INVALID_GROUP_ID, "nobody": ErrorCode.GROUP_ID_NOT_FOUND}


def test_what_cannot_be_is_refused(groups: GroupWorld) -> None:
    told = join(groups, group_id="")
    assert told.error_code == ErrorCode.INVALID_REQUEST
    assert told.error_message


@pytest.mark.parametrize("version", [0, 1])
def test_without_its_topic_there_is_no_coordinator(world: World, version: int) -> None:
    request = ConsumerGroupHeartbeatRequest(group_id="g", member_id=MEMBER_ID, member_epoch=1)
    assert world.ask(request, version).error_code == ErrorCode.NOT_COORDINATOR
    described = ConsumerGroupDescribeRequest(group_ids=["g"], include_authorized_operations=False)
    assert world.ask(described, version).groups[0].error_code == ErrorCode.NOT_COORDINATOR


def refusals(world: World) -> tuple[int, int]:
    request = ConsumerGroupHeartbeatRequest(group_id="g", member_id=MEMBER_ID, member_epoch=1)
    described = ConsumerGroupDescribeRequest(group_ids=["g"], include_authorized_operations=False)
    return world.ask(request).error_code, world.ask(described).groups[0].error_code


def test_a_cluster_at_group_version_0_has_no_such_groups(groups: GroupWorld) -> None:
    epoch = join(groups).member_epoch
    groups.world.replay(FeatureLevelRecord(name="group.version", feature_level=0))
    assert refusals(groups.world) == (ErrorCode.UNSUPPORTED_VERSION, ErrorCode.UNSUPPORTED_VERSION)
    groups.world.replay(FeatureLevelRecord(name="group.version", feature_level=1))
    assert heartbeat(groups, epoch).error_code == ErrorCode.NONE


@pytest.mark.parametrize("world", [{"group.coordinator.rebalance.protocols": "classic"}], indirect=True)
def test_a_broker_that_is_told_not_to_has_no_such_groups(world: World) -> None:
    assert refusals(world) == (ErrorCode.UNSUPPORTED_VERSION, ErrorCode.UNSUPPORTED_VERSION)
