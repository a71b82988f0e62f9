"""Groups in a world of handlers: the offsets topic is there, requests may stay open, and time is asked for by hand.

Rebalances are not delayed, so that `advance` is all that a new group waits for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ottla.server.coordinating import CONSUMER_OFFSETS
from ottla.server.parking import Pending
from ottla.wire.errors import KafkaError
from ottla.wire.messages.classic_groups import (
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from ottla.wire.messages.group_offsets import OffsetCommitRequest, OffsetCommitResponse
from tests.server.handler_world import Caught, World, a_world

SETTINGS = {"group.initial.rebalance.delay.ms": "0"}
SUBSCRIPTION = b"\0\0\0\0\0\1\0\6orders\xff\xff\xff\xff"


class GroupWorld:
    def __init__(self, world: World, *, partition_count: int = 3) -> None:
        self.world = world
        world.topic(CONSUMER_OFFSETS, partition_count, configs={"cleanup.policy": "compact"})
        self.orders_id = world.topic("orders", 2)

    def park(self, request: Any, version: int | None = None) -> Caught:
        """Ask what may be answered later; the answer goes through the wire when it is there."""
        caught = self._ask(request, version)
        self.world.broker.end_pass()
        return caught

    def together(self, *requests: Any) -> list[Caught]:
        """The same for several who ask in one pass."""
        asked = [self._ask(request, None) for request in requests]
        self.world.broker.end_pass()
        return asked

    def _ask(self, request: Any, version: int | None) -> Caught:
        serving = self.world.serving[request.api_key]
        version = serving.high if version is None else version
        sent = type(request).decode(request.encode(version), version)
        caught = Caught()
        try:
            reply = serving.handler(self.world.context(version), sent)
        except KafkaError as error:
            reply = serving.on_error(sent, error)
        if isinstance(reply, Pending):
            reply.place = caught
            reply.refuse = lambda error: serving.on_error(sent, error)
        else:
            caught.fill(reply)
        return caught

    def read(self, caught: Caught, request: type, version: int | None = None) -> Any:
        serving = self.world.serving[request.api_key]  # type: ignore[attr-defined]
        assert caught.is_filled
        return self.world.read(caught.reply, serving.high if version is None else version, serving)

    def advance(self) -> None:
        self.world.broker.groups.advance()
        self.world.broker.end_pass()

    # Requests

    def join(self, member_id: str = "", *, group_id: str = "g", version: int = 9, **options: Any) -> Caught:
        protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=SUBSCRIPTION)
        values: dict[str, Any] = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 60_000} | options
        request = JoinGroupRequest(
            group_id=group_id, member_id=member_id, protocol_type="consumer", protocols=[protocol], **values
        )
        return self.park(request, version)

    def joined(self, caught: Caught, version: int = 9) -> JoinGroupResponse:
        response: JoinGroupResponse = self.read(caught, JoinGroupRequest, version)
        return response

    def sync(self, member_id: str, generation: int, assignment: bytes = b"all", version: int = 5) -> SyncGroupResponse:
        request = SyncGroupRequest(
            group_id="g",
            generation_id=generation,
            member_id=member_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[SyncGroupRequest.SyncGroupRequestAssignment(member_id=member_id, assignment=assignment)],
        )
        response: SyncGroupResponse = self.read(self.park(request, version), SyncGroupRequest, version)
        return response

    def stable_member(self) -> str:
        """The only member of a stable group of generation 1."""
        member_id = self.joined(self.join()).member_id
        token = self.join(member_id)
        self.advance()
        assert self.joined(token).generation_id == 1
        assert self.sync(member_id, 1).assignment == b"all"
        return member_id

    def commit(
        self, offset: int, *, group_id: str = "g", topic: str = "orders", version: int = 9, **member: Any
    ) -> OffsetCommitResponse:
        partition = OffsetCommitRequest.OffsetCommitRequestPartition(
            partition_index=0, committed_offset=offset, committed_metadata="note"
        )
        topic_id = self.orders_id if topic == "orders" else bytes(16)
        request = OffsetCommitRequest(
            group_id=group_id,
            topics=[
                OffsetCommitRequest.OffsetCommitRequestTopic(name=topic, topic_id=topic_id, partitions=[partition])
            ],
            **({"member_id": ""} | member),
        )
        response: OffsetCommitResponse = self.world.ask(request, version)
        return response


@contextmanager
def a_group_world(path: Path, **settings: str) -> Iterator[GroupWorld]:
    with a_world(path, SETTINGS | settings) as world:
        yield GroupWorld(world)
