"""Where a scenario is played: one target, asked request by request, and all that it says written down.

`Place` is a target as all scenarios see it: its address, who it is, topics that many look at and nobody changes.
`Stage` is one scenario's own: topics and groups with its name, connections that end with it, the observation. What is
only preparation is asked `quietly`. Nobody sleeps: a broker that hears late of what its controller did is asked again
until it knows, a bounded number of times; what takes time is asked for until a deadline.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from compat_tests.raw_requests import ConnectionClosed, RawConnection
from compat_tests.scenarios.building import built
from compat_tests.scenarios.plain import Names
from ottla.wire.api_keys import ApiKey
from ottla.wire.errors import ErrorCode
from ottla.wire.messages import response_type
from ottla.wire.messages.classic_groups import FindCoordinatorRequest
from ottla.wire.messages.fetch import FetchRequest
from ottla.wire.messages.group_admin import DescribeGroupsRequest, ListGroupsRequest
from ottla.wire.messages.metadata import MetadataRequest
from ottla.wire.messages.offsets_lookup import ListOffsetsRequest
from ottla.wire.messages.produce import ProduceRequest
from ottla.wire.messages.topics import CreateTopicsRequest
from ottla.wire.primitives import uuid_text
from ottla.wire.schema import Request

METADATA_VERSION = 12
CREATE_VERSION = 7
LATEST_TIMESTAMP = -1
TIMEOUT_MS = 60_000
# Far more often than a busy machine needs; it ends a scenario that hangs and paces nothing.
POLLS_MAX = 20_000
# What takes a broker its time is asked for this long, at a pace that leaves the machine to others.
SECONDS_MAX = 180
PAUSE_MS = 50
TOPIC_NAME_MAX = 200

Asked = tuple[int, int, bool]


class Place:
    """A target. `asked` gathers (API key, version, was something wrong) of all that was asked in observed requests."""

    def __init__(self, bootstrap: str, run: str = "") -> None:
        """`run` sets the names of one run apart on a target that outlives it."""
        host, _, port = bootstrap.rpartition(":")
        self.bootstrap = bootstrap
        self.address = host, int(port)
        self.run = run
        self.asked: set[Asked] = set()
        self.numbers = itertools.count()
        self._shared: dict[str, Any] = {}
        with RawConnection(*self.address) as connection:
            found = answer(connection, built(MetadataRequest, METADATA_VERSION, {"topics": []}), METADATA_VERSION)
            self.cluster_id: str = found.cluster_id
            self.node_id: int = found.controller_id
            _wait_for_coordinator(connection)

    def names(self) -> Names:
        texts = {self.cluster_id: "<cluster>", self.address[0]: "<host>"}
        return Names(texts | ({self.run: ""} if self.run else {}), self.node_id)

    def shared(self, key: str, make: Callable[[Stage], Any]) -> Any:
        """What many scenarios look at, made by the first of them."""
        if key not in self._shared:
            with Stage(self, f"shared {key}") as stage:
                self._shared[key] = make(stage)
        return self._shared[key]


class Stage:
    def __init__(self, place: Place, name: str) -> None:
        self.place = place
        self.name = place.run + re.sub(r"[^a-zA-Z0-9]+", "-", name)[:TOPIC_NAME_MAX].strip("-")
        self.names = place.names()
        self.observed: list[tuple[str, Any]] = []
        self._open = contextlib.ExitStack()
        self._main: RawConnection | None = None

    def __enter__(self) -> Stage:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    # Asking

    @property
    def main(self) -> RawConnection:
        """The connection that is used where none is named; a new one if the broker has closed the last."""
        if self._main is None:
            self._main = self.connection()
        return self._main

    def connection(self) -> RawConnection:
        return self._open.enter_context(RawConnection(*self.place.address))

    def ask(
        self,
        kind: type[Request],
        version: int,
        fields: Mapping[str, Any],
        *,
        on: RawConnection | None = None,
        meet: Callable[[Any], None] = lambda response: None,
    ) -> Any:
        """Ask, and write down the answer; None if the broker closed the connection instead.

        `meet` sees the answer first, to give names to what is new in it.
        """
        request = built(kind, version, fields)
        try:
            response = answer(on or self.main, request, version)
        except ConnectionClosed:
            self.note(f"{kind.__name__} v{version}", "the connection is closed")
            self._main = None if on is None else self._main
            return None
        meet(response)
        self.saw(kind, version, response)
        return response

    def saw(self, kind: type[Request], version: int, response: Any) -> None:
        """Write down an answer that was received by other means."""
        shown = self.names.plain(response, version)
        self.place.asked.add((kind.api_key, version, has_error(shown)))
        self.note(f"{kind.__name__} v{version}", shown)

    def quietly(self, kind: type[Request], version: int, fields: Mapping[str, Any]) -> Any:
        return answer(self.main, built(kind, version, fields), version)

    def note(self, what: str, value: Any) -> None:
        self.observed.append((what, self.names.in_value(value)))

    def until(self, what: str, is_so: Callable[[], bool]) -> None:
        for _ in range(POLLS_MAX):
            if is_so():
                return
        raise AssertionError(f"{self.name}: not so after {POLLS_MAX} tries: {what}")

    def in_time(self, what: str, is_so: Callable[[], bool]) -> None:
        """Wait for what only time brings about."""
        deadline = time.monotonic() + SECONDS_MAX
        while not is_so():
            assert time.monotonic() < deadline, f"{self.name}: not so after {SECONDS_MAX} s: {what}"
            self.pause()

    def pause(self) -> None:
        """Have the broker wait for what never comes, for a moment."""
        topic = self.place.shared("nothing ever comes here", lambda stage: stage.topic())
        asked = [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1}]
        fields = {"max_wait_ms": PAUSE_MS, "min_bytes": 1, "topics": [{"topic": topic, "partitions": asked}]}
        self.quietly(FetchRequest, 12, fields)

    # Preparing

    def topic(self, suffix: str = "", partitions: int = 1, configs: Mapping[str, str] | None = None) -> str:
        """A new topic of this scenario, which the broker leads; its id has a name from now on."""
        name = f"{self.name}{suffix}"
        self._create(name, partitions, configs)
        return name

    def settle(self) -> None:
        """Wait until all that a broker does after a change of metadata is done.

        Brokers take in one change after the other: when they lead a topic, they are done with what was before it.
        """
        self._create(f"{self.place.run}settled-{next(self.place.numbers)}")

    def _create(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        topic = {"name": name, "num_partitions": partitions, "replication_factor": 1}
        topic["configs"] = [{"name": key, "value": value} for key, value in (configs or {}).items()]
        fields = {"topics": [topic], "timeout_ms": TIMEOUT_MS}
        (made,) = self.quietly(CreateTopicsRequest, CREATE_VERSION, fields).topics
        assert made.error_code == ErrorCode.NONE, made
        self.wait_for_topic(name, partitions)

    def wait_for_topic(self, name: str, partitions: int = 1) -> None:
        """A broker knows a topic a little before it leads it."""
        asked = [{"partition_index": index, "timestamp": LATEST_TIMESTAMP} for index in range(partitions)]
        fields = {"replica_id": -1, "topics": [{"name": name, "partitions": asked}]}

        def is_led() -> bool:
            (found,) = self.quietly(ListOffsetsRequest, 1, fields).topics
            return all(one.error_code == ErrorCode.NONE for one in found.partitions)

        self.until(f"{name} is led", is_led)
        self.topic_id(name)

    def topic_id(self, name: str) -> bytes:
        (found,) = self.quietly(MetadataRequest, METADATA_VERSION, {"topics": [{"name": name}]}).topics
        self.names.text(uuid_text(found.topic_id), f"id of {name.removeprefix(self.name)}")
        topic_id: bytes = found.topic_id
        return topic_id

    def produce(self, topic: str, *batches: bytes, partition: int = 0) -> None:
        """Batches, each by a request of its own; all must be taken."""
        for batch in batches:
            data = [{"index": partition, "records": memoryview(batch)}]
            fields = {"acks": -1, "timeout_ms": TIMEOUT_MS, "topic_data": [{"name": topic, "partition_data": data}]}
            ((found,),) = (one.partition_responses for one in self.quietly(ProduceRequest, 12, fields).responses)
            assert found.error_code == ErrorCode.NONE, found


def answer(connection: RawConnection, request: Request, version: int) -> Any:
    return connection.send(request, response_type(ApiKey(request.api_key)), version)


def has_error(shown: Any) -> bool:
    """Is there an error code anywhere in an answer?"""
    if isinstance(shown, dict):
        return any(has_error(value) or (key == "errorCode" and bool(value)) for key, value in shown.items())
    return isinstance(shown, list) and any(map(has_error, shown))


def _wait_for_coordinator(connection: RawConnection) -> None:
    """The first question for a coordinator makes its topic; it is one when it has read that."""
    for _ in range(POLLS_MAX):
        found = answer(connection, built(FindCoordinatorRequest, 3, {"key": "g"}), 3)
        listed = answer(connection, ListGroupsRequest(), 0)
        (described,) = answer(connection, built(DescribeGroupsRequest, 0, {"groups": ["g"]}), 0).groups
        if found.error_code == listed.error_code == described.error_code == ErrorCode.NONE:
            return
    raise AssertionError("there is no coordinator")
