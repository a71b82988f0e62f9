"""Classic groups: who coordinates, and members that join, sync, live, leave, come back and get it wrong."""

from __future__ import annotations

from typing import Any

from compat_tests.scenarios.group_members import TIMEOUT_MS, Member, describe, group_of_one, wait_for
from compat_tests.scenarios.scenario import Area
from compat_tests.scenarios.stage import Stage
from ottla.wire.messages.classic_groups import (
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    SyncGroupRequest,
)

AREA = Area("classic groups")
GROUP, NO_KIND = 0, 9


@AREA.at(
    FindCoordinatorRequest,
    {"a group": ("g", GROUP), "an empty name": ("", GROUP), "a kind that is none": ("g", NO_KIND)},
)
def the_coordinator_of(stage: Stage, version: int, case: tuple[str, int]) -> None:
    key, kind = case
    fields: dict[str, Any] = {"key_type": kind}
    fields |= {"coordinator_keys": [key, "other"]} if version >= 4 else {"key": key}
    stage.ask(FindCoordinatorRequest, version, fields)


@AREA.at(FindCoordinatorRequest, versions=(4, 6))
def the_coordinator_of_nobody(stage: Stage, version: int) -> None:
    stage.ask(FindCoordinatorRequest, version, {"coordinator_keys": []})


@AREA.at(JoinGroupRequest, versions=(0, 1, 4, 5, 7, 9))
def one_member_comes_and_stays(stage: Stage, version: int) -> None:
    member = Member(stage, "a")
    timeout = {"session_timeout_ms": 60_000} if version == 0 else {}
    member.join(version, **timeout)
    describe(stage)
    member.sync({member.id: b"everything"})
    describe(stage)
    heartbeat(stage, member)


@AREA.at(SyncGroupRequest)
def assigned_and_asked_again(stage: Stage, version: int) -> None:
    member = Member(stage, "a")
    member.join()
    member.sync({member.id: b"x" * 100}, version)
    member.sync({}, version)
    describe(stage, 0)


@AREA.one
def two_members_one_after_the_other(stage: Stage) -> None:
    first, second = group_of_one(stage), Member(stage, "b")
    second.begin_join()
    second.id = second.finish_join().member_id
    second.begin_join()
    wait_for(stage, "PreparingRebalance", 2)
    describe(stage)
    heartbeat(stage, first)
    first.begin_join()
    first.finish_join()
    second.finish_join()
    second.begin_sync()
    first.begin_sync({first.id: b"one", second.id: b"two"})
    first.finish_sync()
    second.finish_sync()
    describe(stage)
    leave(stage, 5, {"member_id": second.id})
    heartbeat(stage, first)


@AREA.cases({"cooperative": ("cooperative-sticky", "range"), "eager": ("range", "roundrobin"), "none": ()})
def protocols(stage: Stage, names: tuple[str, ...]) -> None:
    member = Member(stage, "a", protocols=names)
    member.join()
    if names:  # a group that nobody was let into is nowhere written down, and Kafka forgets it when it likes
        describe(stage)


@AREA.one
def protocols_that_nobody_shares(stage: Stage) -> None:
    group_of_one(stage)
    Member(stage, "b", protocols=("sticky",)).join()
    Member(stage, "c").join(protocol_type="connect")
    describe(stage)


WRONG_JOINS: dict[str, dict[str, Any]] = {
    "a session that is too short": {"session_timeout_ms": 5},
    "a session that is too long": {"session_timeout_ms": 2**31 - 1},
    "no group": {"group_id": ""},
    "an id that nobody handed out": {"member_id": "nobody"},
    "no protocols": {"protocols": []},
    "no kind of protocol": {"protocol_type": ""},
}


@AREA.at(JoinGroupRequest, WRONG_JOINS)
def not_let_in(stage: Stage, version: int, wrong: dict[str, Any]) -> None:
    member = Member(stage, "a")
    member.begin_join(version, **{"session_timeout_ms": 60_000, **wrong})
    member.finish_join(version)


@AREA.at(JoinGroupRequest, {"an id that nobody handed out": "nobody"})
def not_let_into_a_group_that_is_there(stage: Stage, version: int, member_id: str) -> None:
    group_of_one(stage)
    stranger = Member(stage, "b")
    stranger.begin_join(version, member_id=member_id)
    stranger.finish_join(version)


# Heartbeats, syncs and leaving


def heartbeat(stage: Stage, member: Member, version: int = 4, **more: Any) -> None:
    fields = {
        "group_id": stage.name,
        "generation_id": member.generation,
        "member_id": member.id,
        "group_instance_id": member.instance_id,
        **more,
    }
    stage.ask(HeartbeatRequest, version, fields)


WRONG: dict[str, dict[str, Any]] = {
    "right": {},
    "an old generation": {"generation_id": 0},
    "a generation to come": {"generation_id": 9},
    "no generation": {"generation_id": -1},
    "another member": {"member_id": "nobody"},
    "no member": {"member_id": ""},
    "another group": {"group_id": "no-such-group"},
    "no group": {"group_id": ""},
}


@AREA.at(HeartbeatRequest, WRONG)
def heartbeats(stage: Stage, version: int, wrong: dict[str, Any]) -> None:
    heartbeat(stage, group_of_one(stage), version, **wrong)


@AREA.at(
    SyncGroupRequest, {**WRONG, "another protocol": {"protocol_name": "sticky"}, "another kind": {"protocol_type": "x"}}
)
def syncs(stage: Stage, version: int, wrong: dict[str, Any]) -> None:
    group_of_one(stage).sync({}, version, **wrong)


def leave(stage: Stage, version: int, *members: dict[str, Any], group: str | None = None) -> None:
    fields: dict[str, Any] = {"group_id": stage.name if group is None else group}
    fields |= {"members": members} if version >= 3 else {"member_id": members[0]["member_id"]}
    stage.ask(LeaveGroupRequest, version, fields)


@AREA.at(LeaveGroupRequest)
def the_last_member_leaves(stage: Stage, version: int) -> None:
    member = group_of_one(stage)
    leave(stage, version, {"member_id": member.id})
    wait_for(stage, "Empty", 0)
    describe(stage)
    leave(stage, version, {"member_id": member.id})
    heartbeat(stage, member)


@AREA.at(LeaveGroupRequest)
def nobody_leaves(stage: Stage, version: int) -> None:
    group_of_one(stage)
    leave(stage, version, {"member_id": "nobody"})
    leave(stage, version, {"member_id": "nobody"}, group="no-such-group")
    leave(stage, version, {"member_id": "nobody"}, group="")


@AREA.at(LeaveGroupRequest, versions=(3, 5))
def several_leave_at_once(stage: Stage, version: int) -> None:
    member = group_of_one(stage)
    leave(stage, version, {"member_id": "nobody"}, {"member_id": member.id}, {"member_id": member.id})


# Static members


@AREA.at(JoinGroupRequest, versions=(5, 7, 9))
def a_static_member_comes_back(stage: Stage, version: int) -> None:
    old = Member(stage, "old", instance_id="static")
    old.join(version)
    old.sync({old.id: b"mine"})
    new = Member(stage, "new", instance_id="static")
    new.join(version)
    new.sync({})
    for member in (old, new):
        heartbeat(stage, member)
    describe(stage)
    old.begin_join(version)
    old.finish_join(version)


@AREA.at(LeaveGroupRequest, {"by name": "", "by name and id": "own", "with another id": "nobody"}, versions=(3, 5))
def a_static_member_is_removed(stage: Stage, version: int, which: str) -> None:
    member = group_of_one(stage, instance_id="static")
    leave(stage, version, {"member_id": member.id if which == "own" else which, "group_instance_id": "static"})
    leave(stage, version, {"member_id": "", "group_instance_id": "no-such-instance"})


@AREA.at(HeartbeatRequest, {"another instance": "other", "no instance": None}, versions=(3, 4))
def a_static_member_under_another_name(stage: Stage, version: int, instance_id: str | None) -> None:
    member = group_of_one(stage, instance_id="static")
    heartbeat(stage, member, version, group_instance_id=instance_id)


@AREA.one
def generations_go_up_with_every_rebalance(stage: Stage) -> None:
    member = group_of_one(stage)
    for number in range(3):
        member.protocols = ("range", f"other-{number}")
        member.begin_join()
        member.finish_join()
        member.sync({member.id: b"%d" % number})
    stage.note("generation", member.generation)
    stage.note("timeout", TIMEOUT_MS)
