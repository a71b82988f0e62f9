"""A node of the simulated cluster: a replica of the metadata log, and on most a broker, in one process with one disk.

The broker is that of broker.py, but it knows of the cluster by its own replica of the metadata log, its logs follow by
the package's own `Replicas`, and what it asks of the controller goes to whoever leads the quorum as far as it knows.
It starts and leaves as `ottla/server/running_node.py` does.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from types import SimpleNamespace
from typing import Any, Protocol

from ottla.cluster.controller.heartbeats import fence_broker
from ottla.cluster.image import MetadataImage
from ottla.server.partition import Partition
from ottla.server.replica_fetching import FollowingReplica
from ottla.server.replicas import Replicas
from ottla.storage.log import Log
from ottla.wire.schema import Request, Response
from tests.simulation.broker import KEY, Around, Done, SimulatedBroker
from tests.simulation.controller import TOPIC
from tests.simulation.quorum_replica import Checks, QuorumReplica, QuorumSetup, format_node

LEAVE_MS_MAX = 600
RESIGN_MS_MAX = 200


class AroundNode(Around, Protocol):
    """The world as a node sees it."""

    setup: QuorumSetup
    checks: Checks
    dice: Random

    def send(self, node: ClusterNode, target: int, request: Request, done: Callable[[Response], None]) -> None: ...

    def send_to_controller(self, node: ClusterNode, target: int, request: Request, done: Done) -> None: ...

    def stopped(self, node: ClusterNode) -> None: ...


class FollowedReplicas(Replicas):
    """What the configurations say is for others to test."""

    def reconfigure(self, image: MetadataImage) -> None: ...


class ClusterNode(SimulatedBroker):
    replica: QuorumReplica

    def __init__(self, id: int, around: AroundNode, dice: Random, *, is_broker: bool, is_controller: bool) -> None:
        super().__init__(id, around, dice)
        self.is_broker = is_broker
        self.is_controller = is_controller
        self._world = around
        self._has_loaded = False
        self._end_before = 0
        format_node(self.disk, id, around.setup, self.now_ms())

    def __repr__(self) -> str:
        if not self.is_up:
            return f"{self.id}: down"
        raft = self.replica.raft
        state = f"{raft.role_name} in {raft.epoch}, {raft.high_watermark}/{raft.end}, image {self.image.offset}"
        log = self.log
        data = "no log" if log is None else f"log {log.high_watermark}/{log.end_offset} {log.epochs.entries}"
        return f"{self.id}: {state}; epoch {self.epoch}, serving {self.is_serving}, leads {self.partition}, {data}"

    # A life

    def start(self) -> None:
        self._has_loaded = False
        self._begin()
        self.replica = QuorumReplica(
            self, self._world.setup, self._world.checks, self._world.dice, is_controller=self.is_controller
        )
        nobody: Any = SimpleNamespace(
            **{name: lambda *arguments: None for name in ("pause", "resume", "forget", "chosen", "soon")}
        )
        self._replicas = FollowedReplicas(
            self,  # type: ignore[arg-type]
            self.id,
            self.directories,
            lambda image, topic: self._log_config,
            nobody,
            nobody,
            self,  # type: ignore[arg-type]
        )
        replica = self.replica
        self._world.checks.started(replica)
        for follower in (self, self._replicas, replica.controller, replica.caught_up, replica.snapshots):
            replica.quorum.follow(follower)
        replica.start()
        self.settle()

    def settle(self) -> None:
        """Whatever happened at this node, this is done then."""
        self.replica.settle()
        if not self._has_loaded and self.replica.caught_up.event.is_set():
            self._has_loaded = True
            self.image = self.replica.quorum.image
            if self.is_broker:
                self._start_broker(self.image)

    def _start_broker(self, image: MetadataImage) -> None:
        self.directories.load(
            lambda topic: self._log_config,
            self.now_ms(),
            stray_id=lambda key, topic_id: self._replicas.stray_id(image, key, topic_id),
        )
        self._replicas.start(image)
        self._register()
        self._look_for_laggards()

    def leave(self) -> None:
        """Stop cleanly: be let go by the controller, give up leading the quorum, close the logs."""
        self.is_leaving = True
        self.later(LEAVE_MS_MAX, self._resign)

    def _beaten(self, response: Any) -> None:
        super()._beaten(response)
        if self.is_leaving and response.should_shut_down:
            self._resign()

    def _resign(self) -> None:
        if self.is_serving or self.epoch >= 0:
            self.is_serving = False
            self.replica.quorum._perform(self.replica.raft.shut_down(self.now_ms()))
            self.later(RESIGN_MS_MAX, self._close)

    def _close(self) -> None:
        if not self.is_up:
            return
        self._end_life()
        self._leave_leadership()
        self.replica.store.close()
        assert self.directories.close(self.epoch), "nothing is wrong with the disk"
        self.disk.kill()
        self.is_up = False
        self._world.stopped(self)

    def kill(self, *, is_power_cut: bool) -> None:
        self._end_life()
        super().kill(is_power_cut=is_power_cut)

    def _end_life(self) -> None:
        self._end_before = self.end_offset
        self._has_loaded = False

    # What its replica of the metadata asks

    def later(self, delay_ms: int, action: Callable[[], None]) -> None:
        self._world.later(self, delay_ms, action)

    def send(self, target: int, request: Request, done: Callable[[Response], None]) -> None:
        self._world.send(self, target, request, done)

    def committed(self, change: Any) -> None:
        self._world.checks.committed(self.id, change.image)

    def activated(self, epoch: int) -> None: ...

    def deactivated(self) -> None: ...

    def reached(self, offset: int) -> None: ...

    # What its replicas ask

    @property
    def log(self) -> Log | None:  # type: ignore[override]
        return self.directories.logs.get(KEY)

    @property
    def end_offset(self) -> int:
        """While the logs are not loaded: what there was when it stopped."""
        return super().end_offset if self._has_loaded else self._end_before

    @property
    def in_sync(self) -> Any:
        return self.keeping

    def led(self, topic_id: bytes, index: int) -> Partition | None:
        partition = self.partition
        return partition if partition is not None and partition.topic_id == topic_id else None

    def lead(self, partition: Partition) -> None:
        if partition.topic == TOPIC:
            self.partition = partition

    def resign(self, topic: str, topic_id: bytes, index: int) -> None:
        if topic == TOPIC:
            self._leave_leadership()

    def follow(self, replica: FollowingReplica) -> None:
        if replica.topic == TOPIC and (self.following is None or not self.following.follows_as(replica)):
            self.following = replica
            self._fetch_soon(0)

    def replica_of(self, key: tuple[str, int]) -> FollowingReplica | None:
        return self.following if key == KEY else None

    def stop(self, key: tuple[str, int]) -> None:
        if key == KEY:
            self.following = None

    # The controller

    def _ask(self, request: Request, done: Done) -> None:
        if self.replica.is_active:
            self.replica.control(request, lambda response, error: None if error else done(response))
            return
        found = self.replica.raft.leader_endpoint
        if found is not None:
            self._world.send_to_controller(self, found.port, request, done)

    def _register(self) -> None:
        if self.epoch < 0 and self.replica.is_active:
            self.replica.controller.change(lambda state, now_ms: fence_broker(state, self.id), lambda *outcome: None)
        super()._register()
