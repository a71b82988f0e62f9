"""A quorum of one on a disk in memory, for tests of what drives it: store, raft, controller, and a clock of the test's.

    async with a_quorum(FakeDisk()) as world:
        ...                    it leads, and its first records are committed

What was started has ended when the block has; the disk stays, and another block on it is the next start of the node.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio

from ottla.cluster.bootstrap import METADATA_LOG_DIRECTORY, Endpoint
from ottla.cluster.controller import ControllerSettings, Result
from ottla.cluster.features import METADATA_VERSION_MAX, VersionRange
from ottla.cluster.image import Change
from ottla.cluster.raft_config import RaftConfig
from ottla.config.loading import load
from ottla.server.config_rules import Rules
from ottla.server.controller_channel import ControllerChannel
from ottla.server.controlling import Controller
from ottla.server.formatting import bootstrap_records, format_metadata
from ottla.server.metadata_store import MetadataStore
from ottla.server.quorum import Quorum
from ottla.server.snapshotting import latest_image
from ottla.storage.log_directory import make_durably
from ottla.wire.errors import KafkaError
from ottla.wire.schema import StoredRecord
from ottla.wire.stored.metadata_records import ConfigRecord
from tests.server.world import until
from tests.storage.fake_disk import FakeDisk

NOW_MS = 1_700_000_000_000
NODE_ID = 1
CLUSTER_ID = "cluster"
DIRECTORY_ID = b"the directory id"
HOME = "/data"
PARTITION = f"{HOME}/{METADATA_LOG_DIRECTORY}"
ENDPOINTS = [Endpoint("CONTROLLER", "localhost", 9093)]
FEATURES = {"metadata.version": VersionRange(7, METADATA_VERSION_MAX), "kraft.version": VersionRange(0, 1)}


def format_home(disk: FakeDisk) -> None:
    make_durably(disk, HOME)  # as whoever claims the directory does
    format_metadata(
        disk, [HOME], HOME, FEATURES, node_id=NODE_ID, directory_id=DIRECTORY_ID, endpoints=ENDPOINTS, now_ms=NOW_MS
    )


def setting(value: str, name: str = "retention.ms") -> StoredRecord:
    """Some record that changes the image."""
    return ConfigRecord(resource_type=2, resource_name="topic", name=name, value=value)


class Told:
    """A follower that remembers what it was told."""

    def __init__(self) -> None:
        self.news: list[str] = []
        self.changes: list[Change] = []

    def committed(self, change: Change) -> None:
        self.news.append(f"committed {change.image.offset}")
        self.changes.append(change)

    def activated(self, epoch: int) -> None:
        self.news.append(f"activated in {epoch}")

    def deactivated(self) -> None:
        self.news.append("deactivated")

    def reached(self, offset: int) -> None:
        self.news.append(f"reached {offset}")


class MetadataWorld:
    def __init__(self, disk: FakeDisk, **store: Any) -> None:
        self.disk = disk
        self.now_ms = NOW_MS
        self.config = load({"log.dirs": HOME}, {}).config
        self.store = MetadataStore(disk, HOME, NOW_MS, **store)
        raft_config = RaftConfig(
            cluster_id=CLUSTER_ID, node_id=NODE_ID, directory_id=DIRECTORY_ID, append_linger_ms=0, endpoints={}
        )
        self.quorum = Quorum(self.store, raft_config, random.Random(1), lambda: self.now_ms, latest_image(self.store))
        settings = ControllerSettings(
            cluster_id=CLUSTER_ID,
            node_id=NODE_ID,
            config_rules=Rules(lambda: self.config),
            random=random.Random(1),
            supported_features=FEATURES,
        )
        self.controller = Controller(self.quorum, settings, bootstrap_records(disk, HOME), lambda: self.now_ms)
        self.channel = ControllerChannel(NODE_ID, self.quorum, self.controller)
        self.told = Told()
        self.quorum.follow(self.told)
        self.quorum.follow(self.controller)
        self.answers: list[Any] = []

    def change(self, *records: StoredRecord, answer: Any = "done", atomic: bool = True) -> None:
        """Have the controller write these; `answers` gets the answer, or the error."""
        self.controller.change(lambda state, now_ms: Result(answer, list(records), atomic), self.answered)

    def answered(self, response: Any, error: KafkaError | None) -> None:
        self.answers.append(response if error is None else error)

    @property
    def is_settled(self) -> bool:
        return self.quorum.applied_offset == self.quorum.end().offset and self.controller.state is not None

    async def settle(self) -> None:
        """Let all that was proposed be committed."""
        await until(lambda: self.is_settled)


@asynccontextmanager
async def a_quorum(disk: FakeDisk, **store: Any) -> AsyncIterator[MetadataWorld]:
    """A node that leads, until the end of the block. It stops there as a killed process does."""
    if not disk.exists(HOME):
        format_home(disk)
    async with trio.open_nursery() as nursery:
        world = MetadataWorld(disk, **store)
        nursery.start_soon(world.quorum.run)
        nursery.start_soon(world.channel.run)
        world.quorum.start()
        await world.settle()
        yield world
        nursery.cancel_scope.cancel()
    world.store.abandon()
