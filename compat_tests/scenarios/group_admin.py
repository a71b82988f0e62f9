"""Groups described, listed and deleted, in every state."""

from __future__ import annotations

from compat_tests.scenarios.classic_groups import leave
from compat_tests.scenarios.group_members import describe, group_of_one, wait_for
from compat_tests.scenarios.group_offsets import committed, fetched
from compat_tests.scenarios.scenario import Area
from compat_tests.scenarios.stage import Stage
from ottla.wire.messages.group_admin import DeleteGroupsRequest, DescribeGroupsRequest, ListGroupsRequest

AREA = Area("group administration")


@AREA.at(DescribeGroupsRequest, versions=(0, 3, 4, 5, 6))
def a_group_with_a_member(stage: Stage, version: int) -> None:
    group_of_one(stage, instance_id="static" if version >= 4 else None)
    describe(stage, version)


@AREA.at(DescribeGroupsRequest)
def a_group_with_offsets_alone(stage: Stage, version: int) -> None:
    committed(stage, 8, stage.topic(), {0: 5})
    describe(stage, version)


@AREA.at(DescribeGroupsRequest)
def groups_that_are_not_there(stage: Stage, version: int) -> None:
    fields = {"groups": ["no-such-group", "", "no-such-group"], "include_authorized_operations": True}
    stage.ask(DescribeGroupsRequest, version, fields)


@AREA.at(DescribeGroupsRequest, versions=(3, 6))
def what_one_may_do(stage: Stage, version: int) -> None:
    committed(stage, 8, stage.topic(), {0: 5})
    fields = {"groups": [stage.name], "include_authorized_operations": True}
    stage.ask(DescribeGroupsRequest, version, fields)


@AREA.at(
    ListGroupsRequest,
    {
        "all": ([], []),
        "stable ones": (["Stable"], []),
        "empty ones": (["empty"], []),
        "several states": (["Stable", "Dead"], []),
        "a state that is none": (["Happy"], []),
        "classic ones": ([], ["classic"]),
        "consumer ones": ([], ["Consumer"]),
        "a type that is none": ([], ["nonsense"]),
    },
)
def listed(stage: Stage, version: int, case: tuple[list[str], list[str]]) -> None:
    """Others play on the same broker, so only one's own is looked at."""
    states, types = case
    group_of_one(stage)
    found = stage.quietly(ListGroupsRequest, version, {"states_filter": states, "types_filter": types})
    found.groups = [group for group in found.groups if group.group_id == stage.name]
    stage.saw(ListGroupsRequest, version, found)


@AREA.at(DeleteGroupsRequest)
def a_group_without_members_is_deleted(stage: Stage, version: int) -> None:
    topic = stage.topic()
    committed(stage, 8, topic, {0: 5})
    stage.ask(DeleteGroupsRequest, version, {"groups_names": [stage.name]})
    fetched(stage, 9, topic, [0])
    describe(stage)
    stage.ask(DeleteGroupsRequest, version, {"groups_names": [stage.name]})


@AREA.at(DeleteGroupsRequest)
def a_group_with_members_stays(stage: Stage, version: int) -> None:
    member = group_of_one(stage)
    stage.ask(DeleteGroupsRequest, version, {"groups_names": [stage.name]})
    leave(stage, 5, {"member_id": member.id})
    wait_for(stage, "Empty", 0)
    stage.ask(DeleteGroupsRequest, version, {"groups_names": [stage.name]})


@AREA.at(DeleteGroupsRequest, {"unknown": ["no-such-group"], "no name": [""], "none": [], "twice": ["no", "no"]})
def nothing_is_deleted(stage: Stage, version: int, names: list[str]) -> None:
    stage.ask(DeleteGroupsRequest, version, {"groups_names": names})
