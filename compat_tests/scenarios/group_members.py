"""Members of classic groups, for scenarios: each on a connection of its own, with ids that have a name."""

from __future__ import annotations

from typing import Any

from compat_tests.raw_requests import RawConnection
from compat_tests.scenarios.building import built
from compat_tests.scenarios.stage import Stage
from ottla.wire.messages.classic_groups import (
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from ottla.wire.messages.group_admin import DescribeGroupsRequest

# Far longer than a scenario: nothing depends on time.
TIMEOUT_MS = 600_000
JOIN_VERSION = 9
SYNC_VERSION = 5
MEMBER_ID_REQUIRED = 79
# Of version 1, to one topic, owning nothing.
SUBSCRIPTION = b"\0\1" + b"\0\0\0\1" + b"\0\5topic" + b"\xff\xff\xff\xff" + b"\0\0\0\0"


class Member:
    def __init__(
        self, stage: Stage, name: str, *, instance_id: str | None = None, protocols: tuple[str, ...] = ("range",)
    ):
        self.stage = stage
        self.name = name
        self.instance_id = instance_id
        self.protocols = protocols
        self.connection: RawConnection = stage.connection()
        self.id = ""
        self.generation = -1

    def join_fields(self, **more: Any) -> dict[str, Any]:
        return {
            "group_id": self.stage.name,
            "session_timeout_ms": TIMEOUT_MS // 10,
            "rebalance_timeout_ms": TIMEOUT_MS,
            "member_id": self.id,
            "group_instance_id": self.instance_id,
            "protocol_type": "consumer",
            "protocols": [{"name": name, "metadata": SUBSCRIPTION} for name in self.protocols],
            **more,
        }

    def meet(self, response: Any) -> None:
        if response.member_id:
            self.stage.names.text(response.member_id, f"member {self.name}")

    def begin_join(self, version: int = JOIN_VERSION, **more: Any) -> None:
        self.connection.begin(built(JoinGroupRequest, version, self.join_fields(**more)), version)

    def finish_join(self, version: int = JOIN_VERSION) -> Any:
        response = self.connection.finish(JoinGroupResponse, version)
        self.meet(response)
        self.stage.saw(JoinGroupRequest, version, response)
        if not response.error_code:
            self.id, self.generation = response.member_id, response.generation_id
        return response

    def join(self, version: int = JOIN_VERSION, **more: Any) -> Any:
        """Join, and again with the id that was asked for to be used."""
        self.begin_join(version, **more)
        response = self.finish_join(version)
        if response.error_code == MEMBER_ID_REQUIRED:
            self.id = response.member_id
            self.begin_join(version, **more)
            response = self.finish_join(version)
        return response

    def sync_fields(self, assignments: dict[str, bytes] | None = None, **more: Any) -> dict[str, Any]:
        return {
            "group_id": self.stage.name,
            "generation_id": self.generation,
            "member_id": self.id,
            "group_instance_id": self.instance_id,
            "protocol_type": "consumer",
            "protocol_name": self.protocols[0],
            "assignments": [{"member_id": key, "assignment": value} for key, value in (assignments or {}).items()],
            **more,
        }

    def sync(self, assignments: dict[str, bytes] | None = None, version: int = SYNC_VERSION, **more: Any) -> Any:
        return self.stage.ask(SyncGroupRequest, version, self.sync_fields(assignments, **more), on=self.connection)

    def begin_sync(self, assignments: dict[str, bytes] | None = None, version: int = SYNC_VERSION) -> None:
        self.connection.begin(built(SyncGroupRequest, version, self.sync_fields(assignments)), version)

    def finish_sync(self, version: int = SYNC_VERSION) -> None:
        self.stage.saw(SyncGroupRequest, version, self.connection.finish(SyncGroupResponse, version))


def group_of_one(stage: Stage, **more: Any) -> Member:
    """A stable group with one member, which is quick to make and says nothing yet of its making."""
    member = Member(stage, "a", **more)
    member.join()
    member.sync({member.id: b"all of it"})
    return member


def wait_for(stage: Stage, state: str, size: int) -> None:
    """Requests on several connections come in any order: wait for what the one before must lead to."""

    def is_so() -> bool:
        (group,) = stage.quietly(DescribeGroupsRequest, 0, {"groups": [stage.name]}).groups
        return bool(group.group_state == state and len(group.members) == size)

    stage.until(f"{state} with {size} members", is_so)


def describe(stage: Stage, version: int = 6) -> None:
    """Write down the group with its members in the order of their names."""
    found = stage.quietly(DescribeGroupsRequest, version, {"groups": [stage.name]})
    for group in found.groups:
        group.members.sort(key=lambda member: stage.names.in_text(member.member_id))
        for member in group.members:
            member.client_host = "<host>"
    stage.saw(DescribeGroupsRequest, version, found)
