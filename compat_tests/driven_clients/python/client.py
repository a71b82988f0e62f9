"""What every Python client is asked for. What is not about groups is done by its face in compat_tests/clients.

It knows no client. Requests mean what they mean to the drivers of other languages: see go/client.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from compat_tests.clients.records import AdminFace, Face, Producing, Sent
from compat_tests.driven_clients.driver import EARLIEST, LATEST, Record

Request = dict[str, Any]


class Member(Protocol):
    """It consumes what it is assigned, commits only when told, and prints events."""

    def commit(self, partition: int, offset: int) -> None: ...

    def seek(self, partition: int, offset: int) -> None: ...

    def leave(self) -> None: ...


class GroupAdminFace(AdminFace, Protocol):
    """A client's admin that knows groups. Errors are `Refused`; what a client cannot do, it has no method for."""

    def committed(self, group: str, topic: str, partitions: Sequence[int]) -> dict[int, int]:
        """How far each partition is committed; where it is not, it is left out or negative."""

    def describe_group(self, group: str) -> dict[str, object]: ...

    def list_groups(self) -> dict[str, dict[str, str]]:
        """Each group with what the client tells of it: state, type."""


class Client:
    """One client: answers are what JSON can hold."""

    def __init__(self, face: Face, admin: Any, joins: Any) -> None:
        self.face = face
        self.admin = admin
        self._joins = joins
        self._member: Member | None = None

    def handle(self, request: Request) -> object:
        return getattr(self, request["do"])(request)

    def produce(self, request: Request) -> list[int]:
        records = [Record.from_line(line) for line in request["records"]]
        sent = [Sent(one.value, one.key, one.headers, one.partition, one.timestamp) for one in records]
        return self.face.produce(request["topic"], sent, Producing(request["codec"]))

    def create_topic(self, request: Request) -> None:
        self.admin.create_topic(request["topic"], request["partitions"], request.get("configs"))

    def describe_topic(self, request: Request) -> dict[str, object]:
        topic = request["topic"]
        return {"partitions": len(self.admin.replicas(topic)), "configs": self.admin.configs(topic)}

    def offset_at(self, request: Request) -> int:
        ask = {EARLIEST: self.face.earliest, LATEST: self.face.latest}[request["timestamp"]]
        return ask(request["topic"], request["partition"])

    def progress(self, request: Request) -> list[dict[str, int]]:
        topic = request["topic"]
        partitions = sorted(self.admin.replicas(topic))
        committed = self.admin.committed(request["group"], topic, partitions)
        return [
            {
                "partition": partition,
                "committed": max(committed.get(partition, -1), -1),
                "end": self.face.latest(topic, partition),
            }
            for partition in partitions
        ]

    def describe_group(self, request: Request) -> object:
        return self.admin.describe_group(request["group"])

    def list_groups(self, request: Request) -> object:
        return self.admin.list_groups()

    def delete_group(self, request: Request) -> None:
        self.admin.delete_group(request["group"])

    def set_committed(self, request: Request) -> None:
        self.admin.set_committed(request["group"], request["topic"], request["partition"], request["offset"])

    def delete_committed(self, request: Request) -> None:
        self.admin.delete_committed(request["group"], request["topic"], request["partition"])

    def join(self, request: Request) -> None:
        self._member = self._joins(request)

    @property
    def member(self) -> Member:
        assert self._member is not None, "it was never told to join"
        return self._member

    def commit(self, request: Request) -> None:
        self.member.commit(request["partition"], request["offset"])

    def seek(self, request: Request) -> None:
        self.member.seek(request["partition"], request["offset"])

    def leave(self, request: Request) -> None:
        self.member.leave()
