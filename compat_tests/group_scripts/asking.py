"""What scripts of group requests share: luck by seed, requests one at a time, and a transcript that knows no broker.

Ids that brokers make up are written as names; times and texts are left out; lists are put in order, since no broker
promises one. It knows nothing of groups.
"""

from __future__ import annotations

import random
from typing import Any

from compat_tests.raw_requests import RawConnection
from ottla.wire.api_keys import ApiKey
from ottla.wire.json_form import to_json
from ottla.wire.messages import response_type
from ottla.wire.messages.classic_groups import HeartbeatRequest, JoinGroupRequest, SyncGroupRequest
from ottla.wire.messages.group_admin import DeleteGroupsRequest
from ottla.wire.messages.group_offsets import OffsetCommitRequest
from ottla.wire.primitives import uuid_text
from ottla.wire.schema import Request

# Far longer than any script: nobody is ever too late.
TIMEOUT_MS = 600_000
TOPIC, OTHER_TOPIC = "scripted", "unscripted"
NO_SUCH_GROUP = "no such group"
PARTITIONS = 4
# The highest that Apache Kafka 4.3, the referee, knows.
VERSIONS_MAX: dict[type[Request], int] = {DeleteGroupsRequest: 2}
# Far more than a broker needs to see a request; these end a script that hangs, they pace nothing.
POLLS_MAX = 100_000
LEFT_OUT = {"errorMessage", "throttleTimeMs"}
STATIC_VERSION_MIN = {JoinGroupRequest: 5, SyncGroupRequest: 3, HeartbeatRequest: 3, OffsetCommitRequest: 7}


class Asker:
    """`transcript` is what was asked and answered, in words that do not depend on the broker."""

    def __init__(self, seed: int, group_id: str, control: RawConnection, topic_ids: dict[str, bytes]) -> None:
        self.luck = random.Random(seed)
        self.group_id = group_id
        self.topic_ids = topic_ids
        self.control = control
        self.transcript: list[str] = []
        self._names = {uuid_text(topic_id): f"<id of {name}>" for name, topic_id in topic_ids.items()}

    def version(self, kind: type[Request], *, is_static: bool = False) -> int:
        high = VERSIONS_MAX.get(kind, kind.versions.high)
        low = STATIC_VERSION_MIN.get(kind, 0) if is_static else kind.versions.low
        return self.luck.randint(max(low, kind.versions.low), high)

    def ask(self, connection: RawConnection, request: Request, version: int) -> Any:
        response = connection.send(request, response_of(type(request)), version)
        self.note(request, response, version)
        return response

    def note(self, request: Request, response: Any, version: int) -> None:
        asked, told = self.plain(to_json(request, version)), self.plain(to_json(response, version))
        self.transcript.append(f"{type(request).__name__} v{version} {asked} -> {told}")

    def plain(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self.plain(one) for key, one in value.items() if key not in LEFT_OUT}
        if isinstance(value, list):
            return sorted((self.plain(one) for one in value), key=repr)
        if isinstance(value, str):
            for broker_made, name in self._names.items():
                value = value.replace(broker_made, name)
        return value

    def name(self, made_up: str, owner: str) -> None:
        if made_up:
            self._names.setdefault(made_up, f"<{len(self._names)} of {owner}>")


def response_of(kind: type[Request]) -> Any:
    return response_type(ApiKey(kind.api_key))
