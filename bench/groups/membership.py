"""A group as its members see it, and what members of both protocols have in common.

A member that waits for its group asks again after a short while; a real client would wait for its next heartbeat,
seconds later, and hide what the broker takes. Both brokers meet the same impatience.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from bench.groups.connections import BadAnswer, Connection, Loop, frame
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.group_offsets import OffsetCommitRequest, OffsetCommitResponse

COMMIT_VERSION = 9
# Flexible answers begin with the tags of their header, of which there are none.
BODY = 1


@dataclass
class Scene:
    """What all groups of a measurement share: the broker's side, and what is counted."""

    loop: Loop
    topic: str
    topic_id: bytes
    partition_count: int
    impatience_seconds: float = 0.5
    unstable: set[Group] = field(default_factory=set)
    # Seconds that heartbeats took, and how many offsets were committed, since somebody last looked.
    latencies: list[float] = field(default_factory=list)
    commit_count: int = 0
    is_committing: bool = False


def expect(code: int, wanted: ErrorCode) -> None:
    if code != wanted:
        raise BadAnswer(f"{ErrorCode(code).name} instead of {wanted.name}")


class Group(ABC):
    """The members that are to be in a group; they tell it when something happened to them."""

    def __init__(self, scene: Scene, group_id: str) -> None:
        self.scene = scene
        self.group_id = group_id
        self.members: list[Member] = []
        self.commit_offset = 0

    @property
    @abstractmethod
    def is_stable(self) -> bool:
        """Whether every member has its part, and all know of the same state."""

    @abstractmethod
    def new_member(self, connection: Connection) -> Member:
        """One more, that has not joined yet."""

    @abstractmethod
    def begin_leaving(self) -> None:
        """Have everybody leave."""

    @property
    def has_left(self) -> bool:
        return not any(member.connection.is_busy for member in self.members)

    def look(self) -> None:
        if self in self.scene.unstable and self.is_stable:
            self.scene.unstable.discard(self)

    def unsettle(self) -> None:
        """Somebody joins or leaves: the others ask until they know."""
        self.scene.unstable.add(self)
        for member in self.members:
            member.hurry()


class Member(ABC):
    def __init__(self, group: Group, connection: Connection) -> None:
        self.group = group
        self.scene = group.scene
        self.connection = connection
        self._is_hurrying = False
        self._asked_at = 0.0

    @abstractmethod
    def join(self) -> None: ...

    @abstractmethod
    def heartbeat(self) -> None: ...

    @abstractmethod
    def leave(self) -> None: ...

    @property
    @abstractmethod
    def identity(self) -> tuple[str, int]:
        """Id, and generation or epoch, as an offset is committed with them."""

    @property
    @abstractmethod
    def partitions(self) -> list[int]: ...

    def hurry(self) -> None:
        """Send heartbeats in short order until the group is stable."""
        if not self._is_hurrying:
            self._is_hurrying = True
            self._ask_again()

    def _ask_again(self) -> None:
        if self.group not in self.scene.unstable or self not in self.group.members:
            self._is_hurrying = False
            return
        if not self.connection.is_busy:
            self.heartbeat()
        self.scene.loop.later(self.scene.impatience_seconds, self._ask_again)

    def _timed(self) -> None:
        self._asked_at = time.perf_counter()

    def _answered(self) -> None:
        self.scene.latencies.append(time.perf_counter() - self._asked_at)

    def commit_again_and_again(self) -> None:
        """Commit one offset after the other, for as long as somebody serves the loop."""
        self.group.commit_offset += 1
        partitions = [
            OffsetCommitRequest.OffsetCommitRequestPartition(
                partition_index=index, committed_offset=self.group.commit_offset, committed_metadata=""
            )
            for index in self.partitions
        ]
        topic = OffsetCommitRequest.OffsetCommitRequestTopic(name=self.scene.topic, partitions=partitions)
        member_id, epoch = self.identity
        request = OffsetCommitRequest(
            group_id=self.group.group_id, generation_id_or_member_epoch=epoch, member_id=member_id, topics=[topic]
        )
        self.connection.ask(frame(request, COMMIT_VERSION), self._committed)

    def _committed(self, answer: bytes) -> None:
        response = OffsetCommitResponse.decode(answer, COMMIT_VERSION, BODY)
        expect(response.topics[0].partitions[0].error_code, ErrorCode.NONE)
        self.scene.commit_count += 1
        if self.scene.is_committing:
            self.commit_again_and_again()
