"""A shard of ours beside Kafka's own, given the same requests, the same time and the same topics.

Kafka's is a GroupCoordinatorShard in a JVM (java/ShardHarness.java) with a clock that is turned by hand. `Pair` asks
Kafka first, so that ids which Kafka draws are ours too, then us, and compares what was answered, what was written and
what was answered to those who waited. Lists that are sets are compared in order.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen
from typing import Any

from ottla.coordinators.consumer_group.group import ConsumerGroup
from ottla.coordinators.consumer_group.surroundings import TimesOf
from ottla.coordinators.contract import Outcome, RequestContext
from ottla.coordinators.settings import GroupSettings
from ottla.coordinators.shard import GroupShard
from ottla.coordinators.stored_form import decode, encode
from ottla.coordinators.topics_view import FixedTopics, TopicInfo
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.classic_groups import JoinGroupRequest, JoinGroupResponse, SyncGroupResponse
from ottla.wire.messages.consumer_groups import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
from ottla.wire.messages.group_admin import DescribeGroupsRequest, DescribeGroupsResponse
from ottla.wire.primitives import uuid_text
from ottla.wire.schema import Message, Request
from ottla.wire.stored.consumer_group_records import ConsumerGroupCurrentMemberAssignmentValue
from tests import jvm
from tests.config.kafka import STATIC
from tests.coordinators.kafka_groups import Kafka

SOURCE = Path(__file__).parent / "java" / "ShardHarness.java"
START_MS = 1_700_000_000_000
HOST = "localhost/127.0.0.1"
STALE_TIMER = "IllegalStateException: Group g should be in one of"
PARKED = {"JoinGroup": JoinGroupResponse, "SyncGroup": SyncGroupResponse}


@contextmanager
def running() -> Iterator[Kafka]:
    classpath = jvm.kafka_classpath()
    classes = jvm.compile_java(SOURCE, classpath)
    with jvm.java(f"{classes}:{classpath}", "ShardHarness") as process:
        yield Kafka(process)
        _close(process)


def _close(process: Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    process.wait(timeout=60)


class KafkaFailed(Exception):
    """Kafka stumbles over a timer of the classic group that this one was before it went up and down: no comparing."""


class Pair:
    """Both shards. `story` tells what happened, for whoever reads a failure."""

    def __init__(
        self,
        kafka: Kafka,
        topics: list[TopicInfo],
        config: Mapping[str, str],
        settings: GroupSettings,
        times_of: TimesOf | None = None,
        group_configs: Mapping[str, Mapping[str, str]] | None = None,
        seed: int = 0,
    ) -> None:
        self.kafka = kafka
        self.version = 1
        self.now_ms = START_MS
        self.story: list[str] = []
        self.uuids: list[str] = []
        self.answers: dict[str, Any] = {}
        self.apis: dict[str, tuple[str, int]] = {}
        self.topics = topics
        self.shard = GroupShard(settings, FixedTopics(topics, self.version), lambda: self.uuids.pop(0), times_of)
        self.log: list[Any] = []
        self.written: list[Any] = []
        for _ in self.shard.loaded(self.now_ms):
            raise AssertionError("an empty log loads to nothing")
        asked: dict[str, Any] = {
            "config": {**STATIC, **config},
            "group_configs": group_configs or {},
            "now_ms": self.now_ms,
        }
        asked["seed"] = seed
        self._kafka("new", topics=_topics(topics), version=self.version, **asked)

    def _kafka(self, question: str, **details: Any) -> Any:
        answer = self.kafka.ask(question, **details)
        if STALE_TIMER in answer.get("failure", ""):
            raise KafkaFailed
        assert "failure" not in answer, f"{answer}\n{self.told()}"
        return answer

    def told(self) -> str:
        return "\n".join(self.story)

    # What can happen

    def request(self, request: Request, version: int, call: Callable[[RequestContext, str], Outcome[Any]]) -> Any:
        """The response of both, or the error; None if it is parked."""
        api = type(request).__name__.removesuffix("Request")
        token = f"token{len(self.story)}"
        self.story.append(f"{token} at {self.now_ms - START_MS}: {request} v{version}")
        self.apis[token] = (api, version)
        theirs = self._kafka("request", api=api, version=version, body=_body(request, version), token=token)
        self.uuids = _drawn(theirs, token, request, version)
        context = RequestContext("client", HOST, version)
        response: Any = None
        self.written, before = [], set(self.answers)
        try:
            response = self._do(call(context, token))
        except KafkaError as error:
            response = error
        self._settle()
        if api in PARKED:
            response = self._refused_or_parked(theirs, response, token)
        self._compare(theirs, before)
        return self._compare_response(theirs, response, request, version)

    def _refused_or_parked(self, theirs: Any, response: Any, token: str) -> Any:
        """A refusal may be raised or answered: that it is the same is what counts. It is an error here."""
        api, version = self.apis[token]
        answer = theirs["answers"].get(token)
        code = 0 if answer is None else PARKED[api].decode(base64.b64decode(answer), version).error_code
        if code and code != ErrorCode.MEMBER_ID_REQUIRED:
            theirs["error"] = code
            del theirs["answers"][token]
        if response is not None and not isinstance(response, KafkaError):
            self.answers[token], response = response, None
        ours = self.answers.get(token)
        if ours is not None and ours.error_code not in (0, ErrorCode.MEMBER_ID_REQUIRED):
            del self.answers[token]
            return KafkaError(ErrorCode.of(ours.error_code))
        return response

    def advance(self, ms: int) -> None:
        self.story.append(f"{ms} ms pass")
        theirs = self._kafka("advance", ms=ms)
        self.written, before = [], set(self.answers)
        end_ms = self.now_ms + ms
        while (deadline_ms := self.shard.next_deadline()) is not None and deadline_ms <= end_ms:
            self.now_ms = max(self.now_ms, deadline_ms)
            self._settle()
        self.now_ms = end_ms
        self._compare(theirs, before)

    def change_topics(self, topics: list[TopicInfo]) -> None:
        self.version += 1
        self.story.append(f"topics are {[(topic.name, topic.partition_count) for topic in topics]}")
        theirs = self._kafka("topics", topics=_topics(topics), version=self.version)
        self.topics = topics
        self.written, before = [], set(self.answers)
        self._do(self.shard.topics_changed(FixedTopics(topics, self.version)))
        self._compare(theirs, before)

    def compare_descriptions(self) -> None:
        modern = ConsumerGroupDescribeRequest(group_ids=["g"], include_authorized_operations=False)
        classic = DescribeGroupsRequest(groups=["g"])
        theirs = self._kafka("request", api="ConsumerGroupDescribe", version=1, body=_body(modern, 1), token="")
        groups = self.shard.describe_consumer_groups(["g"]).response
        assert groups is not None
        ours = ConsumerGroupDescribeResponse(groups=groups)
        self._same("description", _plain(ours, 1), _decoded(ConsumerGroupDescribeResponse, theirs["response"], 1))
        theirs = self._kafka("request", api="DescribeGroups", version=6, body=_body(classic, 6), token="")
        described = self.shard.describe_groups(["g"], 6).response
        assert described is not None
        classic_ours = DescribeGroupsResponse(groups=described)
        self._same(
            "classic description", _plain(classic_ours, 6), _decoded(DescribeGroupsResponse, theirs["response"], 6)
        )

    def compare_reloaded(self) -> None:
        """Whoever loads the log knows what we know."""
        loaded = GroupShard(self.shard.state.settings, self.shard.state.topics, lambda: "")
        for offset, record in enumerate(self.log):
            loaded.replay(record, offset)
        for group_id, group in self.shard.state.groups.items():
            if isinstance(group, ConsumerGroup):
                known, told = vars(group).copy(), vars(loaded.state.groups[group_id]).copy()
                for volatile in ("refresh", "_wanted_names"):
                    del known[volatile], told[volatile]
                self._same("what the log tells and what we know", told, known)
        modern = {id_ for id_, group in self.shard.state.groups.items() if isinstance(group, ConsumerGroup)}
        told_modern = {id_ for id_, group in loaded.state.groups.items() if isinstance(group, ConsumerGroup)}
        self._same("groups", modern, told_modern)

    # Our driver

    def _do(self, outcome: Outcome[Any]) -> Any:
        for record in outcome.records:
            stored = decode(*encode(record))
            assert stored is not None
            self.written.append(stored)
            self.log.append(stored)
            if outcome.is_replayed:
                self.shard.replay(stored, len(self.log) - 1)
        for answer in outcome.answers:
            assert answer.token not in self.answers, f"answered twice\n{self.told()}"
            self.answers[answer.token] = answer.response
        if outcome.then is not None:
            self._do(outcome.then(None, self.now_ms))
        return outcome.response

    def _settle(self) -> None:
        for outcome in self.shard.advance(self.now_ms):
            self._do(outcome)

    # Comparing

    def _compare(self, theirs: Any, before: set[str]) -> None:
        written = [decode(*map(_bytes, one)) for one in theirs["records"]]
        written = [record for record in written if not self._is_accident(record)]
        self._same("records", sorted(map(_record, self.written)), sorted(map(_record, written)))
        answered = {}
        for token, response in theirs["answers"].items():
            api, version = self.apis[token]
            answered[token] = _decoded(PARKED[api], response, version)
        ours = {
            token: _plain(response, self.apis[token][1])
            for token, response in self.answers.items()
            if token not in before
        }
        self._same("answers", ours, answered)

    def _is_accident(self, record: Any) -> bool:
        """Whether Kafka wrote this because one empty map is not the same object as another.

        A member that wants nothing and has nothing is written anew when its subscription changes, with its epoch as its
        previous one (CurrentAssignmentBuilder compares maps by identity). We do not; here it is taken over, since the
        previous epoch decides about the member's next heartbeat.
        """
        is_current = isinstance(record.value, ConsumerGroupCurrentMemberAssignmentValue)
        is_ours_too = is_current and _record(record) in map(_record, self.written)  # whatever the order of its lists
        if not is_current or is_ours_too or record.value.assigned_partitions:
            return False
        group = self.shard.state.groups.get(record.key.group_id)
        member = group.members.get(record.key.member_id) if isinstance(group, ConsumerGroup) else None
        epoch = record.value.member_epoch
        if member is None or member.assigned or (member.epoch, record.value.previous_member_epoch) != (epoch, epoch):
            return False
        self.log.append(record)
        self.shard.replay(record, len(self.log) - 1)
        return True

    def _compare_response(self, theirs: Any, response: Any, request: Request, version: int) -> Any:
        ours_error = int(response.code) if isinstance(response, KafkaError) else None
        self._same("error", ours_error, theirs.get("error"), theirs.get("message"))
        if ours_error is None:
            encoded = theirs.get("response")
            kind = type(response)
            self._same(
                "response",
                None if response is None else _plain(response, version),
                None if encoded is None else _decoded(kind, encoded, version),
            )
        return response

    def _same(self, what: str, ours: Any, theirs: Any, more: Any = "") -> None:
        assert ours == theirs, f"{what} differ:\nours   {ours}\nKafka's {theirs} {more}\n{self.told()}"


def _bytes(encoded: str | None) -> bytes | None:
    return None if encoded is None else base64.b64decode(encoded)


def _topics(topics: list[TopicInfo]) -> dict[str, Any]:
    return {topic.name: {"id": uuid_text(topic.id), "partitions": topic.partition_count} for topic in topics}


def _body(message: Message, version: int) -> str:
    return base64.b64encode(message.encode(version)).decode()


def _plain(response: Any, version: int) -> str:
    """Through its bytes, so that both went the same way; without texts for people."""
    return _decoded(type(response), _body(response, version), version)


def _decoded(kind: Any, body: str, version: int) -> str:
    message = kind.decode(base64.b64decode(body), version)
    if kind is JoinGroupResponse and message.protocol_name == "":
        message.protocol_name = None  # as Kafka's JoinGroupResponse makes it of the shard's answer, from version 7 on
    return _ordered(message)


def _ordered(value: Any) -> str:
    """As text; lists in order, and texts for people left out."""
    if isinstance(value, list):
        return "[" + ", ".join(sorted(map(_ordered, value))) + "]"
    if isinstance(value, str | int | bytes | bool | memoryview | None):
        return repr(bytes(value) if isinstance(value, memoryview) else value)
    fields = {field.name: getattr(value, field.name) for field in type(value).fields if field.name != "error_message"}
    if fields.get("assignment_epochs"):
        epochs = sorted(zip(fields["partitions"], fields.pop("assignment_epochs"), strict=True))
        fields["partitions"] = [f"{partition} in {epoch}" for partition, epoch in epochs]
    return f"{type(value).__name__}({', '.join(f'{name}={_ordered(field)}' for name, field in fields.items())})"


def _record(record: Any) -> str:
    return f"{_ordered(record.key)} -> {None if record.value is None else _ordered(record.value)}"


def _drawn(theirs: Any, token: str, request: Any, version: int) -> list[str]:
    """The id that Kafka drew for a JoinGroup without one; the part after the name is what ours has to draw."""
    encoded = theirs["answers"].get(token)
    if not isinstance(request, JoinGroupRequest) or encoded is None:
        return ["unused"]
    member_id = JoinGroupResponse.decode(base64.b64decode(encoded), version).member_id
    return [member_id.removeprefix("client-" if request.group_instance_id is None else f"{request.group_instance_id}-")]
