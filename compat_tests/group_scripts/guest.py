"""A consumer of the classic protocol in a script of the new one: groups go up and down with it.

There is one at most, so that no JoinGroup and no SyncGroup ever waits for another. It asks for an id, joins, syncs and
beats as a consumer does, and rejoins when it is told to; now and then it does something else than it should.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from compat_tests.group_scripts.asking import OTHER_TOPIC, PARTITIONS, TIMEOUT_MS, TOPIC, response_of
from ottla.coordinators import embedded
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.classic_groups import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    SyncGroupRequest,
)
from ottla.wire.stored.consumer_protocol import ConsumerProtocolSubscription

if TYPE_CHECKING:
    from compat_tests.group_scripts.consumer import ConsumerScript

# From here on a member without an id is given one before it joins.
GIVEN_ID_VERSION_MIN = 4
GONE = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.FENCED_INSTANCE_ID)


class Guest:
    def __init__(self, script: ConsumerScript) -> None:
        self._script = script
        self.forget()

    def forget(self) -> None:
        self.member_id = ""
        self.generation = -1
        self._topics = [TOPIC]
        self._owned: dict[str, list[int]] = {}
        self._subscription_version = 1
        self._protocol = "range"
        self._next = "join"

    @property
    def is_in(self) -> bool:
        return bool(self.member_id)

    def act(self) -> None:
        luck = self._script.luck
        if not self.is_in:
            self._come()
        elif luck.random() < 0.15:
            self._leave()
        elif luck.random() < 0.15:
            self._ask(self._sync_request(self.generation + luck.choice([-1, 0, 1])))
        elif luck.random() < 0.2:
            self._beat(self.generation + luck.choice([-1, 1]))
        else:
            {"join": self._join, "sync": self._sync, "beat": self._beat}[self._next]()

    def _come(self) -> None:
        luck = self._script.luck
        self._topics = luck.choice([[TOPIC], [TOPIC, OTHER_TOPIC]])
        self._subscription_version = luck.randrange(4)
        version = self._version(JoinGroupRequest, GIVEN_ID_VERSION_MIN)
        request = self._join_request(luck.choice(["consumer", "consumer", "consumer", "connect"]))
        response = self._script.control.send(request, response_of(JoinGroupRequest), version)
        self._script.name(response.member_id, "guest")
        self._script.note(request, response, version)
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = response.member_id
            self._join()

    def _join_request(self, protocol_type: str = "consumer") -> JoinGroupRequest:
        subscription = ConsumerProtocolSubscription(
            topics=self._topics,
            owned_partitions=[
                ConsumerProtocolSubscription.TopicPartition(topic=topic, partitions=self._owned[topic])
                for topic in sorted(self._owned)
            ],
            generation_id=self.generation,
        )
        metadata = struct.pack(">h", self._subscription_version) + subscription.encode(self._subscription_version)
        names = self._script.luck.choice([["range"], ["range", "cooperative-sticky"]])
        return JoinGroupRequest(
            group_id=self._script.group_id,
            session_timeout_ms=TIMEOUT_MS,
            rebalance_timeout_ms=TIMEOUT_MS,
            member_id=self.member_id,
            protocol_type=protocol_type,
            protocols=[JoinGroupRequest.JoinGroupRequestProtocol(name=name, metadata=metadata) for name in names],
        )

    def _join(self) -> None:
        response = self._ask(self._join_request(), GIVEN_ID_VERSION_MIN)
        if response.error_code == ErrorCode.NONE:
            self.generation = response.generation_id
            self._protocol = response.protocol_name or ""
            self._next = "sync"
        elif response.error_code not in (ErrorCode.REBALANCE_IN_PROGRESS,):
            self.forget()

    def _sync_request(self, generation: int) -> SyncGroupRequest:
        everything = {topic: range(PARTITIONS) for topic in self._topics}
        assignment = SyncGroupRequest.SyncGroupRequestAssignment(
            member_id=self.member_id, assignment=embedded.assignment_bytes(everything, self._subscription_version)
        )
        return SyncGroupRequest(
            group_id=self._script.group_id,
            generation_id=generation,
            member_id=self.member_id,
            protocol_type="consumer",
            protocol_name=self._protocol,
            assignments=[assignment],
        )

    def _sync(self) -> None:
        response = self._ask(self._sync_request(self.generation), 5)
        self._next = "beat" if response.error_code == ErrorCode.NONE else "join"
        if response.error_code == ErrorCode.NONE:
            found = embedded.assignment_of(bytes(response.assignment))
            self._owned = {one.topic: sorted(one.partitions) for one in found.assigned_partitions}

    def _beat(self, generation: int | None = None) -> None:
        request = HeartbeatRequest(
            group_id=self._script.group_id,
            generation_id=self.generation if generation is None else generation,
            member_id=self.member_id,
        )
        response = self._ask(request)
        if response.error_code == ErrorCode.REBALANCE_IN_PROGRESS:
            self._next = "join"

    def _leave(self) -> None:
        request = LeaveGroupRequest(
            group_id=self._script.group_id, members=[LeaveGroupRequest.MemberIdentity(member_id=self.member_id)]
        )
        self._ask(request, 3)
        self.forget()

    def _ask(self, request: Any, version_min: int = 0) -> Any:
        response = self._script.ask(self._script.control, request, self._version(type(request), version_min))
        if response.error_code in GONE:
            self.forget()
        return response

    def _version(self, kind: Any, version_min: int) -> int:
        return max(self._script.version(kind), version_min)
