"""A shard with a driver that waits for nobody: a log in memory, a clock that is turned by hand, answers by token.

Does what contract.py says a driver does. With `holds_commits` the high watermark stays where it is until `commit` is
called; `crash` loses what is in memory and loads a new shard from the log, as a new leader does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from itertools import count
from typing import Any, NamedTuple

from ottla.coordinators.contract import Answer, Outcome, Record, RequestContext
from ottla.coordinators.settings import GroupSettings
from ottla.coordinators.shard import GroupShard
from ottla.coordinators.stored_form import decode, encode
from ottla.coordinators.topics_view import FixedTopics, TopicInfo
from ottla.wire.errors import KafkaError
from ottla.wire.messages.classic_groups import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from ottla.wire.messages.group_offsets import OffsetCommitRequest, OffsetFetchRequest

TOPICS = FixedTopics([TopicInfo("orders", b"o" * 16, 4), TopicInfo("bills", b"b" * 16, 2)])
START_MS = 1_700_000_000_000
RANGE = {"range": b"\0\0\0\0\0\1\0\6orders\xff\xff\xff\xff"}


class Token(NamedTuple):
    """What comes with a request that may be parked."""

    number: int


class _Waiting(NamedTuple):
    end_offset: int
    outcome: Outcome[Any]
    tell: Callable[[Any], None]


class ShardWorld:
    def __init__(self, **settings: Any) -> None:
        self.settings = GroupSettings(**settings)
        self.now_ms = START_MS
        self.log: list[Record] = []
        self.high_watermark = 0
        self.holds_commits = False
        self.write_error: KafkaError | None = None
        self.answers: dict[Token, Any] = {}
        self._waiting: deque[_Waiting] = deque()
        self._numbers = count(1)
        self._uuids = count(1)
        self.shard = self._new_shard()

    def _new_shard(self) -> GroupShard:
        shard = GroupShard(self.settings, TOPICS, lambda: f"uuid{next(self._uuids)}")
        for offset, record in enumerate(self.log):
            shard.replay(record, offset)
        return shard

    # The driver

    def run(
        self, outcome: Outcome[Any], tell: Callable[[Any], None] = lambda response: None, own: Token | None = None
    ) -> None:
        if outcome.records and self.write_error is not None:
            error, self.write_error = self.write_error, None
            self._fail(outcome, error, tell, own)
            return
        for record in outcome.records:
            stored = decode(*encode(record))
            assert stored is not None
            self.log.append(stored)
            if outcome.is_replayed:
                self.shard.replay(stored, len(self.log) - 1)
        self._waiting.append(_Waiting(len(self.log), outcome, tell))
        if not self.holds_commits:
            self.commit()

    def _fail(self, outcome: Outcome[Any], error: KafkaError, tell: Callable[[Any], None], own: Token | None) -> None:
        for answer in outcome.answers:
            if answer.token != own:
                self._answered(answer)
        if outcome.response is not None or any(answer.token == own for answer in outcome.answers):
            tell(error)
        if outcome.then is not None:
            self.run(outcome.then(error, self.now_ms))

    def commit(self, end_offset: int | None = None) -> None:
        """Everything up to here is committed: whoever waited for that is told."""
        self.high_watermark = len(self.log) if end_offset is None else end_offset
        while self._waiting and self._waiting[0].end_offset <= self.high_watermark:
            _, outcome, tell = self._waiting.popleft()
            for answer in outcome.answers:
                self._answered(answer)
            tell(outcome.response)
            if outcome.then is not None:
                self.run(outcome.then(None, self.now_ms))

    def _answered(self, answer: Answer) -> None:
        assert answer.token not in self.answers, "one request, one answer"
        self.answers[answer.token] = answer.response

    def ask(self, call: Callable[[], Outcome[Any]]) -> Any:
        """The response, or the error; None as long as there is none."""
        told: list[Any] = []
        try:
            outcome = call()
        except KafkaError as error:
            return error
        self.run(outcome, told.append)
        return told[0] if told else None

    def park(self, call: Callable[[Token], Outcome[Any]]) -> Token:
        """Ask what may be answered later; `answers` has the response, or the error."""
        token = Token(next(self._numbers))

        def tell(response: Any) -> None:
            if response is not None:
                self.answers.setdefault(token, response)

        try:
            self.run(call(token), tell, token)
        except KafkaError as error:
            self.answers[token] = error
        return token

    def advance(self, by_ms: int) -> None:
        """Let time pass, stopping at every deadline on the way."""
        end_ms = self.now_ms + by_ms
        while True:
            deadline_ms = self.shard.next_deadline()
            if deadline_ms is None or deadline_ms > end_ms:
                break
            self.now_ms = max(self.now_ms, deadline_ms)
            for outcome in self.shard.advance(self.now_ms):
                self.run(outcome)
        self.now_ms = end_ms

    def crash(self) -> None:
        """The leader is gone, with all that was not committed; another one loads the log."""
        del self.log[self.high_watermark :]
        self._waiting.clear()
        self.shard = self._new_shard()
        for outcome in self.shard.loaded(self.now_ms):
            self.run(outcome)

    # Requests

    def join(
        self,
        member_id: str = "",
        *,
        group_id: str = "g",
        instance_id: str | None = None,
        protocols: dict[str, bytes] | None = None,
        protocol_type: str = "consumer",
        session_timeout_ms: int = 10_000,
        rebalance_timeout_ms: int = 60_000,
        version: int = 9,
    ) -> Token:
        request = JoinGroupRequest(
            group_id=group_id,
            session_timeout_ms=session_timeout_ms,
            rebalance_timeout_ms=rebalance_timeout_ms,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type=protocol_type,
            protocols=[
                JoinGroupRequest.JoinGroupRequestProtocol(name=name, metadata=metadata)
                for name, metadata in (RANGE if protocols is None else protocols).items()
            ],
        )
        context = RequestContext("client", "/127.0.0.1", version)
        return self.park(lambda token: self.shard.join(request, context, token, self.now_ms))

    def joined(self, token: Token) -> JoinGroupResponse:
        response = self.answers[token]
        assert isinstance(response, JoinGroupResponse), response
        return response

    def new_member(self, **options: Any) -> tuple[str, Token]:
        """A dynamic member that asked for its id and joins with it."""
        member_id = self.joined(self.join(**options)).member_id
        return member_id, self.join(member_id, **options)

    def sync(
        self,
        member_id: str,
        generation: int,
        assignments: dict[str, bytes] | None = None,
        *,
        instance_id: str | None = None,
        protocol_type: str = "consumer",
        protocol_name: str = "range",
        group_id: str = "g",
    ) -> Token:
        request = SyncGroupRequest(
            group_id=group_id,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type=protocol_type,
            protocol_name=protocol_name,
            assignments=[
                SyncGroupRequest.SyncGroupRequestAssignment(member_id=member_id, assignment=assignment)
                for member_id, assignment in (assignments or {}).items()
            ],
        )
        context = RequestContext("client", "/127.0.0.1", 5)
        return self.park(lambda token: self.shard.sync(request, context, token, self.now_ms))

    def synced(self, token: Token) -> SyncGroupResponse:
        response = self.answers[token]
        assert isinstance(response, SyncGroupResponse), response
        return response

    def heartbeat(self, member_id: str, generation: int, *, instance_id: str | None = None) -> int:
        request = HeartbeatRequest(
            group_id="g", generation_id=generation, member_id=member_id, group_instance_id=instance_id
        )
        context = RequestContext("client", "/127.0.0.1", 4)
        return code(self.ask(lambda: self.shard.heartbeat(request, context, self.now_ms)))

    def leave(self, *members: tuple[str, str | None]) -> LeaveGroupResponse | KafkaError:
        request = LeaveGroupRequest(
            group_id="g",
            members=[
                LeaveGroupRequest.MemberIdentity(member_id=member_id, group_instance_id=instance_id)
                for member_id, instance_id in members
            ],
        )
        context = RequestContext("client", "/127.0.0.1", 5)
        response: LeaveGroupResponse | KafkaError = self.ask(lambda: self.shard.leave(request, context, self.now_ms))
        return response

    def commit_offset(
        self,
        offset: int,
        *,
        group_id: str = "g",
        member_id: str = "",
        generation: int = -1,
        instance_id: str | None = None,
        partition: int = 0,
        topic: str = "orders",
        metadata: str | None = "",
        retention_ms: int = -1,
        version: int = 9,
        tell: Callable[[Any], None] | None = None,
    ) -> int:
        """The error code; with `tell`, that is called when it is known."""
        one = OffsetCommitRequest.OffsetCommitRequestPartition(
            partition_index=partition, committed_offset=offset, committed_metadata=metadata
        )
        info = TOPICS.by_name(topic)
        topic_id = info.id if info is not None else bytes(16)
        request = OffsetCommitRequest(
            group_id=group_id,
            generation_id_or_member_epoch=generation,
            member_id=member_id,
            group_instance_id=instance_id,
            retention_time_ms=retention_ms,
            topics=[OffsetCommitRequest.OffsetCommitRequestTopic(name=topic, topic_id=topic_id, partitions=[one])],
        )
        context = RequestContext("client", "/127.0.0.1", version)
        if tell is None:
            return code(self.ask(lambda: self.shard.commit_offsets(request, context, self.now_ms)))
        try:
            self.run(self.shard.commit_offsets(request, context, self.now_ms), tell)
        except KafkaError as error:
            tell(error)
        return 0

    def fetch_offset(
        self, *, group_id: str = "g", topic: str = "orders", partition: int = 0, require_stable: bool = False
    ) -> Any:
        """The partition's answer, or the error of the whole group."""
        info = TOPICS.by_name(topic)
        assert info is not None
        asked = OffsetFetchRequest.OffsetFetchRequestTopics(name=topic, topic_id=info.id, partition_indexes=[partition])
        group = OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group_id, topics=[asked])
        response = self.ask(lambda: self.shard.fetch_offsets(group, require_stable=require_stable))
        return response if isinstance(response, KafkaError) else response.topics[0].partitions[0]

    # A group made quickly

    def stable_group(self, count: int = 1, **options: Any) -> tuple[list[str], int]:
        """A group of so many members, stable; their ids, the leader first, and the generation."""
        joins = dict(self.new_member(**options) for _ in range(count))
        self.advance(2 * self.settings.classic_initial_rebalance_delay_ms)
        return self.finish_generation(joins)

    def finish_generation(self, joins: dict[str, Token]) -> tuple[list[str], int]:
        """All have joined: the leader assigns everybody their own name."""
        responses = [self.joined(token) for token in joins.values()]
        assert [response.error_code for response in responses] == [0] * len(joins)
        generation = responses[0].generation_id
        leader = responses[0].leader
        others = [member_id for member_id in joins if member_id != leader]
        names = {
            "protocol_type": responses[0].protocol_type or "",
            "protocol_name": responses[0].protocol_name or "",
        }
        tokens = [self.sync(member_id, generation, **names) for member_id in others]
        assignments = {member_id: member_id.encode() for member_id in joins}
        tokens.append(self.sync(leader, generation, assignments, **names))
        assert [self.synced(token).error_code for token in tokens] == [0] * len(joins)
        return [leader, *others], generation

    def described(self, group_id: str = "g") -> Any:
        return self.ask(lambda: self.shard.describe_groups([group_id], 6))[0]

    def state_of_memory(self, group_id: str = "g") -> str:
        """What the group is now, whoever may know."""
        return self.shard.state.groups[group_id].state_text

    def state(self, group_id: str = "g") -> str:
        text: str = self.described(group_id).group_state
        return text


def code(response: Any) -> int:
    """The first error code in a response, wherever it is; 0 while there is none."""
    if response is None:
        return 0
    if isinstance(response, KafkaError):
        return response.code
    if hasattr(response, "error_code"):
        found: int = response.error_code
        return found
    return code(next(iter(parts(response))))


def parts(response: Any) -> Iterable[Any]:
    return getattr(response, "topics", None) or getattr(response, "partitions", None) or response.members
