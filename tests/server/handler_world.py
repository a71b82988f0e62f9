"""A small world for the tests of handlers: a broker with real logs and a real controller, and nothing that waits.

Topics are made directly in the image, by records. A change of metadata is replayed at once, as if the quorum had
committed it. Handlers are called as plain functions; what they leave pending is completed when the pass ends.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, cast

import trio

from ottla.cluster.controller import ControllerSettings, ControllerState
from ottla.cluster.features import METADATA_VERSION_MAX, VersionRange
from ottla.cluster.image import ConfigType
from ottla.config.loading import load
from ottla.config.topic import log_config
from ottla.server.broker import Broker
from ottla.server.config_rules import Rules
from ottla.server.connection import Connection
from ottla.server.context import Context
from ottla.server.controller_calls import Asked, answer
from ottla.server.controller_channel import ControllerChannel, OnBehalf
from ottla.server.coordinating import GroupCoordinator
from ottla.server.directory_assignments import DirectoryAssignments
from ottla.server.directory_moves import DirectoryMoves
from ottla.server.handlers.every_route import ROUTES
from ottla.server.parking import Pending
from ottla.server.partition import Partition
from ottla.server.routes import Serving
from ottla.storage.directory_identity import Identity
from ottla.storage.files import OsDisk
from ottla.storage.log_directories import LogDirectories
from ottla.wire.errors import KafkaError
from ottla.wire.messages import response_type
from ottla.wire.messages.quorum import DescribeQuorumRequest, DescribeQuorumResponse
from ottla.wire.records import BatchBuilder
from ottla.wire.schema import Request, StoredRecord
from ottla.wire.stored.metadata_records import (
    ConfigRecord,
    FeatureLevelRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)

NOW_MS = 1_700_000_000_000
CLUSTER_ID = "cluster"
NODE_ID = 1
PLAIN, INTERNAL, CONTROLLER = "PLAINTEXT", "INTERNAL", "CONTROLLER"
LEADER_EPOCH = 5
FEATURES = {
    "metadata.version": VersionRange(7, METADATA_VERSION_MAX),
    "kraft.version": VersionRange(0, 1),
    "group.version": VersionRange(0, 1),
    "transaction.version": VersionRange(0, 2),
}

Endpoint = RegisterBrokerRecord.BrokerEndpoint


class StandInConnection:
    """What a handler may know of a connection."""

    def __init__(self, listener_name: str) -> None:
        self.listener_name = listener_name
        self.client_host = "127.0.0.1"
        self.principal = "User:ANONYMOUS"
        self.cut_off_for: str | None = None

    def cut_off(self, why: str) -> None:
        self.cut_off_for = why


class Caught:
    """A place in line: keeps the answer that fills it."""

    def __init__(self) -> None:
        self.reply: Any = None
        self.is_filled = False

    def fill(self, reply: Any) -> None:
        self.reply = reply
        self.is_filled = True


class WorldBroker(Broker):
    """A broker whose controller is at hand and commits at once."""

    state: ControllerState
    kraft_version = 1
    quorum_leader_id: int | None = NODE_ID
    grant: Callable[[], int | Pending]

    def ask_controller(
        self,
        request: Request,
        version: int,
        client: OnBehalf,
        build: Callable[[Any], Any],
        *,
        timeout_ms: int | None = None,
    ) -> Pending:
        if isinstance(request, DescribeQuorumRequest):
            told = Pending(stops_line=True)
            self.after_pass(lambda: told.complete(build(self.ask_quorum(request, version, ""))))
            return told
        result = answer(self.state, Asked(request, version, self.image.offset + 1, NOW_MS))
        self.replay(result.records)
        pending = Pending(stops_line=True)
        self.after_pass(lambda: pending.complete(build(result.response)))
        return pending

    def replay(self, records: Sequence[StoredRecord]) -> None:
        """Records are committed: the image shows them, and what is led here has a log."""
        self.state.replay(records, base_offset=self.image.offset + 1, epoch=1, now_ms=NOW_MS)
        self.image = self.state.image
        for topic, index, partition in self.image.topics.all_partitions():
            if partition.leader == NODE_ID and self.directories.directory_of((topic.name, index)) is None:
                config = log_config(self.image.config_overrides(ConfigType.TOPIC, topic.name), self.config)
                log = self.directories.create((topic.name, index), topic.id, config, NOW_MS, is_new=True)
                self.lead(Partition(topic.name, topic.id, index, log, partition.leader_epoch))
        self.groups.start(self.image)

    def next_producer_id(self) -> int | Pending:
        return self.grant()

    def ask_quorum(self, request: Request, version: int, listener_name: str) -> DescribeQuorumResponse:
        assert isinstance(request, DescribeQuorumRequest)
        return DescribeQuorumResponse(error_message=f"version {version}", topics=[])


class ActiveController:
    """The way to a controller that is always here."""

    is_here = True


class World:
    def __init__(self, path: Path, settings: Mapping[str, str]) -> None:
        self.paths = [str(path / "a"), str(path / "b")]
        texts = {
            "listeners": "PLAINTEXT://127.0.0.1:9092,INTERNAL://127.0.0.1:9093,CONTROLLER://127.0.0.1:9094",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": ",".join(self.paths),
            **settings,
        }
        config = load(texts, {}).config
        ids = iter(range(1000, 2000))
        directories = LogDirectories.open(
            OsDisk(),
            self.paths,
            Identity(CLUSTER_ID, NODE_ID),
            new_directory_id=lambda: next(ids).to_bytes(16, "big"),
        )
        directories.load(lambda topic: log_config({}, config), NOW_MS)
        # Nothing here starts a task.
        self.broker = WorldBroker(config, CLUSTER_ID, directories, ROUTES, cast("trio.Nursery", None))
        controller = ControllerSettings(
            cluster_id=CLUSTER_ID,
            node_id=NODE_ID,
            config_rules=Rules(lambda: self.broker.config),
            random=random.Random(1),
            supported_features=FEATURES,
        )
        self.broker.state = ControllerState(controller, self.broker.image, now_ms=NOW_MS)
        uuids = count(1)
        self.broker.groups = GroupCoordinator(self.broker, lambda: NOW_MS, lambda: f"uuid{next(uuids)}")
        self.broker.channel = cast("ControllerChannel", ActiveController())
        self.assignments = DirectoryAssignments(cast("ControllerChannel", None), NODE_ID, lambda: 0)
        self.broker.moves = DirectoryMoves(self.broker, self.assignments)
        producer_ids = iter(range(4000, 5000))
        self.broker.grant = lambda: next(producer_ids)
        self.serving: dict[int, Serving] = self.broker.serving
        self.connection = StandInConnection(PLAIN)
        self.replay(FeatureLevelRecord(name="metadata.version", feature_level=METADATA_VERSION_MAX))
        self.replay(FeatureLevelRecord(name="group.version", feature_level=1))
        self.register(NODE_ID)

    # Metadata

    def replay(self, *records: StoredRecord) -> None:
        self.broker.replay(records)

    def register(
        self,
        broker_id: int,
        *,
        rack: str | None = None,
        fenced: bool = False,
        listeners: Sequence[str] = (PLAIN, INTERNAL),
        log_dirs: Sequence[bytes] = (),
    ) -> None:
        self.replay(
            RegisterBrokerRecord(
                broker_id=broker_id,
                incarnation_id=bytes(15) + bytes([broker_id]),
                broker_epoch=self.broker.image.offset + 1,
                end_points=[
                    Endpoint(name=name, host=f"host-{broker_id}", port=9092 + number, security_protocol=0)
                    for number, name in enumerate(listeners)
                ],
                features=[
                    RegisterBrokerRecord.BrokerFeature(
                        name=name, min_supported_version=levels.low, max_supported_version=levels.high
                    )
                    for name, levels in FEATURES.items()
                ],
                rack=rack,
                fenced=fenced,
                log_dirs=list(log_dirs),
            )
        )

    def topic(
        self,
        name: str,
        partition_count: int = 1,
        *,
        replicas: Sequence[int] = (NODE_ID,),
        isr: Sequence[int] | None = None,
        leader: int = NODE_ID,
        configs: Mapping[str, str] | None = None,
        directories: Sequence[bytes] = (),
        elr: Sequence[int] = (),
    ) -> bytes:
        """A topic whose partitions are all alike; its id."""
        topic_id = random.Random(name).randbytes(16)
        records: list[StoredRecord] = [TopicRecord(name=name, topic_id=topic_id)]
        records += [
            ConfigRecord(resource_type=ConfigType.TOPIC, resource_name=name, name=key, value=value)
            for key, value in (configs or {}).items()
        ]
        records += [
            PartitionRecord(
                partition_id=index,
                topic_id=topic_id,
                replicas=list(replicas),
                isr=list(replicas if isr is None else isr),
                removing_replicas=[],
                adding_replicas=[],
                leader=leader,
                leader_epoch=LEADER_EPOCH,
                partition_epoch=0,
                directories=list(directories),
                eligible_leader_replicas=list(elr) or None,
            )
            for index in range(partition_count)
        ]
        self.replay(*records)
        return topic_id

    def set_config(self, kind: ConfigType, name: str, key: str, value: str) -> None:
        self.replay(ConfigRecord(resource_type=kind, resource_name=name, name=key, value=value))

    # Records

    def partition(self, topic: str, index: int = 0) -> Partition:
        return self.broker.partition(topic, index)

    def append(self, topic: str, *timestamps: int, index: int = 0, **more: Any) -> None:
        """One batch with a record of each timestamp, which readers can see."""
        partition = self.partition(topic, index)
        builder = BatchBuilder(**more)
        for timestamp in timestamps or (NOW_MS,):
            builder.append(None, b"value", timestamp=timestamp)
        partition.log.append(bytes(builder.build()), leader_epoch=partition.leader_epoch, now_ms=NOW_MS)
        partition.log.advance_high_watermark(partition.log.end_offset)

    # Requests

    def context(self, version: int, listener: str = PLAIN) -> Context:
        self.connection = StandInConnection(listener)
        return Context(self.broker, cast("Connection", self.connection), version, "client", NOW_MS)

    def ask(self, request: Any, version: int | None = None, *, listener: str = PLAIN) -> Any:
        """The answer as the client gets it: through the wire, both ways."""
        serving = self.serving[request.api_key]
        version = serving.high if version is None else version
        sent = type(request).decode(request.encode(version), version)
        return self.read(self.answer(sent, version, listener), version, serving)

    def read(self, reply: Any, version: int, serving: Serving) -> Any:
        return response_type(serving.route.key).decode(encoded(reply, version), version)

    def answer(self, request: Any, version: int, listener: str = PLAIN) -> Any:
        serving = self.serving[request.api_key]
        try:
            reply = serving.handler(self.context(version, listener), request)
        except KafkaError as error:
            reply = serving.on_error(request, error)
        if isinstance(reply, Pending) and reply.may_fail:
            reply.refuse = lambda error: serving.on_error(request, error)
        return self.answered(reply)

    def answered(self, reply: Any) -> Any:
        """What a handler's answer comes to."""
        if isinstance(reply, Pending):
            caught = Caught()
            reply.place = caught
            self.broker.end_pass()
            assert caught.is_filled, "nothing in this world takes time"
            reply = caught.reply
        return reply


def encoded(reply: Any, version: int) -> bytes:
    """The body of an answer, as dispatch sends it."""
    return b"".join(map(bytes, reply.pieces(version)))


@contextmanager
def a_world(path: Path, settings: Mapping[str, str]) -> Iterator[World]:
    world = World(path, settings)
    try:
        yield world
    finally:
        world.broker.directories.close(0)
