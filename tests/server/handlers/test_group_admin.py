"""Groups as administrators see them, over all partitions that keep them."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.server.handlers.authorized_operations import GROUP_OPERATIONS, NOT_ASKED
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.group_admin import DeleteGroupsRequest, DescribeGroupsRequest, ListGroupsRequest
from tests.server.handler_world import World
from tests.server.handlers.group_world import GroupWorld


def describe(groups: GroupWorld, *group_ids: str, version: int = 6, operations: bool = False) -> Any:
    request = DescribeGroupsRequest(groups=list(group_ids), include_authorized_operations=operations)
    return groups.world.ask(request, version).groups


@pytest.mark.parametrize("version", range(7))
def test_groups_are_described_in_the_order_of_the_request(groups: GroupWorld, version: int) -> None:
    member_id = groups.stable_member()
    groups.commit(1, group_id="keeper")
    found = describe(groups, "keeper", "g", "nobody", "g", version=version)
    assert [(one.group_id, one.group_state) for one in found] == [
        ("keeper", "Empty"),
        ("g", "Stable"),
        ("nobody", "Dead"),
        ("g", "Stable"),
    ]
    assert [one.member_id for one in found[1].members] == [member_id]
    assert found[2].error_code == (ErrorCode.GROUP_ID_NOT_FOUND if version >= 6 else ErrorCode.NONE)


def test_operations_are_told_to_those_who_ask(groups: GroupWorld) -> None:
    groups.commit(1)
    assert [one.authorized_operations for one in describe(groups, "g", "nobody", operations=True)] == [
        GROUP_OPERATIONS,
        NOT_ASKED,
    ]
    assert describe(groups, "g")[0].authorized_operations == NOT_ASKED


@pytest.mark.parametrize("version", [0, 6])
def test_without_its_topic_a_group_cannot_be_described(world: World, version: int) -> None:
    (one,) = world.ask(DescribeGroupsRequest(groups=["g"]), version).groups
    assert (one.error_code, one.group_state, one.error_message) == (ErrorCode.NOT_COORDINATOR, "", None)


def test_groups_of_all_partitions_are_listed(groups: GroupWorld) -> None:
    names = {f"group-{number}" for number in range(20)}
    for name in names:
        groups.commit(1, group_id=name)
    assert len({groups.world.broker.groups.place_of(name) for name in names}) == 3
    groups.stable_member()
    listed = groups.world.ask(ListGroupsRequest())
    assert {one.group_id for one in listed.groups} == names | {"g"}
    stable = groups.world.ask(ListGroupsRequest(states_filter=["Stable"])).groups
    assert [(one.group_id, one.protocol_type, one.group_state, one.group_type) for one in stable] == [
        ("g", "consumer", "Stable", "classic")
    ]
    assert groups.world.ask(ListGroupsRequest(), 0).error_code == ErrorCode.NONE


def test_a_list_is_whole_or_none(groups: GroupWorld) -> None:
    groups.world.broker.groups._shard_of("g").is_loaded = False
    assert groups.world.ask(ListGroupsRequest()).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def test_where_there_are_no_shards_there_are_no_groups(world: World) -> None:
    assert world.ask(ListGroupsRequest()).groups == []


@pytest.mark.parametrize("version", range(4))
def test_groups_are_deleted_each_for_itself(groups: GroupWorld, version: int) -> None:
    groups.stable_member()
    groups.commit(1, group_id="keeper")
    request = DeleteGroupsRequest(groups_names=["g", "keeper", "nobody", "keeper"])
    results = {one.group_id: one.error_code for one in groups.world.ask(request, version).results}
    assert results == {
        "g": ErrorCode.NON_EMPTY_GROUP,
        "keeper": ErrorCode.NONE,
        "nobody": ErrorCode.GROUP_ID_NOT_FOUND,
    }
    assert {one.group_id for one in groups.world.ask(ListGroupsRequest()).groups} == {"g"}


def test_without_its_topic_a_group_cannot_be_deleted(world: World) -> None:
    (one,) = world.ask(DeleteGroupsRequest(groups_names=["g"])).results
    assert one.error_code == ErrorCode.NOT_COORDINATOR
