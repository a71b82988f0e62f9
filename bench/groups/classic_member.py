"""Members of the classic protocol: JoinGroup, SyncGroup, Heartbeat, LeaveGroup; the leader deals partitions out.

They do what the Java client does: take the id that they are given, join again when the group rebalances. An answer that
such a client would not survive fails the measurement.
"""

from __future__ import annotations

import struct
from functools import cached_property

from bench.groups.connections import BadAnswer, Connection, frame
from bench.groups.membership import BODY, Group, Member, Scene, expect
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.classic_groups import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from ottla.wire.stored.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription

JOIN_VERSION, SYNC_VERSION, HEARTBEAT_VERSION, LEAVE_VERSION = 9, 5, 4, 5
SESSION_TIMEOUT_MS = 45_000
REBALANCE_TIMEOUT_MS = 60_000
PROTOCOL_TYPE, PROTOCOL = "consumer", "range"
EMBEDDED_VERSION = 1
# Of a heartbeat's answer: tags, throttle time, then the error.
_ERROR = struct.Struct(">xih")


class ClassicGroup(Group):
    def __init__(self, scene: Scene, group_id: str) -> None:
        super().__init__(scene, group_id)
        self.sizes: dict[int, int] = {}

    def new_member(self, connection: Connection) -> Member:
        return ClassicMember(self, connection)

    @property
    def is_stable(self) -> bool:
        generations = {member.identity[1] for member in self.members}
        return len(generations) == 1 and self.sizes.get(generations.pop()) == len(self.members)

    @cached_property
    def subscription(self) -> bytes:
        said = ConsumerProtocolSubscription(topics=[self.scene.topic])
        return EMBEDDED_VERSION.to_bytes(2, "big") + said.encode(EMBEDDED_VERSION)

    def assignment(self, place: int, places: int) -> bytes:
        mine = list(range(place, self.scene.partition_count, places))
        topic = ConsumerProtocolAssignment.TopicPartition(topic=self.scene.topic, partitions=mine)
        given = ConsumerProtocolAssignment(assigned_partitions=[topic])
        return EMBEDDED_VERSION.to_bytes(2, "big") + given.encode(EMBEDDED_VERSION)

    def begin_leaving(self) -> None:
        """All in one request, so that the group does not rebalance for each."""
        ids = [LeaveGroupRequest.MemberIdentity(member_id=member.identity[0]) for member in self.members]
        self.members[0].connection.ask(
            frame(LeaveGroupRequest(group_id=self.group_id, members=ids), LEAVE_VERSION), check_left
        )


def check_left(answer: bytes) -> None:
    expect(LeaveGroupResponse.decode(answer, LEAVE_VERSION, BODY).error_code, ErrorCode.NONE)


class ClassicMember(Member):
    group: ClassicGroup

    def __init__(self, group: ClassicGroup, connection: Connection) -> None:
        super().__init__(group, connection)
        self._member_id = ""
        self._joined_generation = -1
        # The generation whose assignment it has.
        self._generation = -1
        self._assignment = b""
        self._heartbeat = bytearray()

    @property
    def identity(self) -> tuple[str, int]:
        return self._member_id, self._generation

    @property
    def partitions(self) -> list[int]:
        given = ConsumerProtocolAssignment.decode(self._assignment, EMBEDDED_VERSION, 2)
        return [index for topic in given.assigned_partitions for index in topic.partitions]

    def join(self) -> None:
        protocol = JoinGroupRequest.JoinGroupRequestProtocol(name=PROTOCOL, metadata=self.group.subscription)
        request = JoinGroupRequest(
            group_id=self.group.group_id,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
            member_id=self._member_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=[protocol],
        )
        self.connection.ask(frame(request, JOIN_VERSION), self._joined)

    def _joined(self, answer: bytes) -> None:
        response = JoinGroupResponse.decode(answer, JOIN_VERSION, BODY)
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self._member_id = response.member_id
            self.join()
            return
        expect(response.error_code, ErrorCode.NONE)
        self._joined_generation = response.generation_id
        ids = [member.member_id for member in response.members]
        if response.leader == self._member_id:
            self.group.sizes[response.generation_id] = len(ids)
        self._sync(ids)

    def _sync(self, ids: list[str]) -> None:
        assignments = [
            SyncGroupRequest.SyncGroupRequestAssignment(
                member_id=member_id, assignment=self.group.assignment(place, len(ids))
            )
            for place, member_id in enumerate(ids)
        ]
        request = SyncGroupRequest(
            group_id=self.group.group_id,
            generation_id=self._joined_generation,
            member_id=self._member_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=PROTOCOL,
            assignments=assignments,
        )
        self.connection.ask(frame(request, SYNC_VERSION), self._synced)

    def _synced(self, answer: bytes) -> None:
        response = SyncGroupResponse.decode(answer, SYNC_VERSION, BODY)
        if response.error_code == ErrorCode.REBALANCE_IN_PROGRESS:
            self.join()
            return
        expect(response.error_code, ErrorCode.NONE)
        self._generation, self._assignment = self._joined_generation, response.assignment
        beat = HeartbeatRequest(group_id=self.group.group_id, generation_id=self._generation, member_id=self._member_id)
        self._heartbeat = frame(beat, HEARTBEAT_VERSION)
        self.group.look()
        self.hurry()

    def heartbeat(self) -> None:
        self._timed()
        self.connection.ask(self._heartbeat, self._beaten)

    def _beaten(self, answer: bytes) -> None:
        self._answered()
        code = _ERROR.unpack_from(answer)[1]
        if code == ErrorCode.REBALANCE_IN_PROGRESS:
            self.join()
        elif code:
            raise BadAnswer(f"a heartbeat of {self.group.group_id}: {ErrorCode(code).name}")

    def leave(self) -> None:
        identity = LeaveGroupRequest.MemberIdentity(member_id=self._member_id)
        request = LeaveGroupRequest(group_id=self.group.group_id, members=[identity])
        self.connection.ask(frame(request, LEAVE_VERSION), check_left)
