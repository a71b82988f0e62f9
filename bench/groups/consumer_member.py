"""Members of the consumer protocol (KIP-848): one kind of request, and the broker deals partitions out.

They do what the Java client does: say all when they join, what they own after every change, and nothing but their
epoch otherwise.
"""

from __future__ import annotations

import uuid

from bench.groups.connections import Connection, frame
from bench.groups.membership import BODY, Group, Member, expect
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.consumer_groups import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse

VERSION = 1
REBALANCE_TIMEOUT_MS = 60_000
JOINING_EPOCH, LEAVING_EPOCH = 0, -1


class ConsumerGroup(Group):
    members: list[ConsumerMember]  # type: ignore[assignment]

    def new_member(self, connection: Connection) -> ConsumerMember:
        return ConsumerMember(self, connection)

    @property
    def is_stable(self) -> bool:
        """All in one epoch, nobody with much more than others, nothing left over."""
        counts = [len(member.partitions) for member in self.members]
        share = self.scene.partition_count // len(counts)
        return (
            sum(counts) == self.scene.partition_count
            and share <= min(counts)
            and max(counts) <= share + 1
            and len({member.identity[1] for member in self.members}) == 1
            and all(member.has_acknowledged for member in self.members)
        )

    def begin_leaving(self) -> None:
        for member in self.members:
            member.leave()


class ConsumerMember(Member):
    def __init__(self, group: Group, connection: Connection) -> None:
        super().__init__(group, connection)
        self._member_id = str(uuid.uuid4())
        self._epoch = JOINING_EPOCH
        self._owned: list[int] = []
        self.has_acknowledged = False
        self._heartbeat = bytearray()

    @property
    def identity(self) -> tuple[str, int]:
        return self._member_id, self._epoch

    @property
    def partitions(self) -> list[int]:
        return self._owned

    def join(self) -> None:
        request = self._request(JOINING_EPOCH)
        request.rebalance_timeout_ms = REBALANCE_TIMEOUT_MS
        request.subscribed_topic_names = [self.scene.topic]
        request.topic_partitions = []
        self.connection.ask(frame(request, VERSION), self._taken_in)

    def _taken_in(self, answer: bytes) -> None:
        self._told(answer)
        self.hurry()

    def heartbeat(self) -> None:
        self._timed()
        self.connection.ask(self._heartbeat, self._beaten)

    def _beaten(self, answer: bytes) -> None:
        self._answered()
        self._told(answer)

    def _told(self, answer: bytes) -> None:
        response = ConsumerGroupHeartbeatResponse.decode(answer, VERSION, BODY)
        expect(response.error_code, ErrorCode.NONE)
        if response.member_epoch != self._epoch or not self._heartbeat:
            self._epoch = response.member_epoch
            self._heartbeat = frame(self._request(self._epoch), VERSION)
        if response.assignment is not None:
            self._owned = [index for topic in response.assignment.topic_partitions for index in topic.partitions]
            self._acknowledge()
        self.group.look()

    def _acknowledge(self) -> None:
        request = self._request(self._epoch)
        topic = ConsumerGroupHeartbeatRequest.TopicPartitions(topic_id=self.scene.topic_id, partitions=self._owned)
        request.topic_partitions = [topic] if self._owned else []
        self.has_acknowledged = False
        self.connection.ask(frame(request, VERSION), self._acknowledged)

    def _acknowledged(self, answer: bytes) -> None:
        self.has_acknowledged = True
        self._told(answer)

    def leave(self) -> None:
        self.connection.ask(frame(self._request(LEAVING_EPOCH), VERSION), self._left)

    def _left(self, answer: bytes) -> None:
        expect(ConsumerGroupHeartbeatResponse.decode(answer, VERSION, BODY).error_code, ErrorCode.NONE)

    def _request(self, epoch: int) -> ConsumerGroupHeartbeatRequest:
        return ConsumerGroupHeartbeatRequest(
            group_id=self.group.group_id, member_id=self._member_id, member_epoch=epoch
        )
