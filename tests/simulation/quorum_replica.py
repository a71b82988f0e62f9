"""A node's replica of the metadata log in the simulation: the real drivers of raft and of the controller, without trio.

`Quorum`, `Controller`, `MetadataStore`, `Snapshots` and `CatchingUp` are used as they are. What their tasks wait for
(the time, a sync, an answer) is brought by the world. Raft's effects are shown to the checks as they are performed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from types import SimpleNamespace
from typing import Any, Protocol

import trio

from ottla.cluster.bootstrap import (
    BOOTSTRAP_FILE_NAME,
    BOOTSTRAP_SNAPSHOT,
    METADATA_LOG_DIRECTORY,
    bootstrap_checkpoint,
    feature_records,
)
from ottla.cluster.controller import ControllerSettings
from ottla.cluster.image import MetadataImage
from ottla.cluster.image.snapshot_file import snapshot_batches
from ottla.cluster.raft_config import RaftConfig
from ottla.cluster.raft_effects import Effect, Send
from ottla.cluster.voters import Endpoint, ReplicaKey, Voter, VoterSet
from ottla.server.catching_up import CatchingUp
from ottla.server.controller_calls import Asked, answer
from ottla.server.controller_duties import ControllerDuties
from ottla.server.controlling import Controller, Done
from ottla.server.formatting import bootstrap_records
from ottla.server.metadata_store import MetadataStore
from ottla.server.quorum import Quorum
from ottla.server.snapshotting import Snapshots, latest_image
from ottla.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.wire.schema import Request, Response
from tests.cluster.controller.small_cluster import CLUSTER_ID, SUPPORTED, FewConfigs, directory
from tests.storage.fake_disk import FakeDisk

DATA = "/data"
LISTENER = "CONTROLLER"
FEATURES = SUPPORTED
SYNC_MS_MAX = 20
DUTIES_MS = 50
LATE_MS = 100


@dataclass
class QuorumSetup:
    """What a seed chooses for all replicas: who votes at first, by the log or by the configuration, and how often the
    log is let go of."""

    voter_ids: tuple[int, ...]
    is_dynamic: bool
    session_ms: int
    bytes_between_snapshots: int
    segment_bytes: int
    fetch_bytes_max: int


class Checks(Protocol):
    """Whoever looks over raft's shoulder; replicas are known by their node's id."""

    def started(self, replica: QuorumReplica) -> None: ...

    def committed(self, node_id: int, image: MetadataImage) -> None: ...

    def before(self, replica: QuorumReplica, effect: Effect) -> None: ...

    def after(self, replica: QuorumReplica, effect: Effect) -> None: ...

    def settled(self, replica: QuorumReplica) -> None: ...

    def answering(self, replica: QuorumReplica, request: Request, response: Response) -> None: ...


class Home(Protocol):
    """The node that a replica is part of, and what it brings."""

    id: int
    disk: FakeDisk

    def now_ms(self) -> int: ...

    def later(self, delay_ms: int, action: Callable[[], None]) -> None: ...

    def send(self, target: int, request: Request, done: Callable[[Response], None]) -> None: ...


def endpoints(id: int) -> dict[str, Endpoint]:
    return {LISTENER: Endpoint("node", id)}


def key_of(id: int) -> ReplicaKey:
    return ReplicaKey(id, directory(id))


def format_node(disk: FakeDisk, id: int, setup: QuorumSetup, now_ms: int) -> None:
    """As `format` does, with these as the first voters."""
    partition = os.path.join(DATA, METADATA_LOG_DIRECTORY)
    for path in (DATA, partition):
        disk.make_directory(path)
        disk.sync_directory(os.path.dirname(path))
    disk.replace(os.path.join(DATA, BOOTSTRAP_FILE_NAME), bootstrap_checkpoint(feature_records(FEATURES), timestamp=1))
    if setup.is_dynamic and id in setup.voter_ids:
        voters = VoterSet(Voter(key_of(one), endpoints(one)) for one in setup.voter_ids).to_record()
        batches = snapshot_batches((), timestamp=1, last_contained_log_timestamp=1, voters=voters)
        disk.replace(os.path.join(partition, BOOTSTRAP_SNAPSHOT.file_name), b"".join(batches))


def raft_config(id: int, setup: QuorumSetup, *, is_controller: bool) -> RaftConfig:
    addresses = {one: Endpoint("node", one) for one in setup.voter_ids}
    return RaftConfig(
        cluster_id=CLUSTER_ID,
        node_id=id,
        directory_id=directory(id),
        listener=LISTENER,
        endpoints=endpoints(id),
        static_voters=VoterSet() if setup.is_dynamic else VoterSet.static(addresses, LISTENER),
        bootstrap_servers=tuple(addresses.values()) if setup.is_dynamic else (),
        can_become_voter=is_controller,
        is_observer_flushing=is_controller,
        # A fifth of the defaults: more elections in the same time.
        election_timeout_ms=200,
        fetch_timeout_ms=400,
        election_backoff_ms_max=200,
        request_timeout_ms=400,
        fetch_wait_ms_max=100,
        append_linger_ms=0,
        fetch_bytes_max=setup.fetch_bytes_max,
        fetch_snapshot_bytes_max=700,
    )


class CheckedQuorum(Quorum):
    """Shows what it does."""

    watched: Callable[[Effect, bool], None]

    def _perform_one(self, effect: Effect) -> None:
        self.watched(effect, False)
        super()._perform_one(effect)
        self.watched(effect, True)


class QuorumReplica:
    """For one life of a node. `store` can be looked at when that is over."""

    def __init__(self, home: Home, setup: QuorumSetup, checks: Checks, dice: Random, *, is_controller: bool) -> None:
        self.id = home.id
        self._home = home
        self._checks = checks
        self._dice = dice
        self._is_syncing = False
        self._is_writing_snapshot = False
        self._armed_ms = -1
        self.store = MetadataStore(home.disk, DATA, home.now_ms(), segment_bytes=setup.segment_bytes)
        config = raft_config(home.id, setup, is_controller=is_controller)
        self._request_timeout_ms = config.request_timeout_ms
        self.quorum = CheckedQuorum(self.store, config, dice, home.now_ms, latest_image(self.store))
        self.quorum.watched = self._watched
        self.quorum._to_send = self  # type: ignore[assignment]  # the one thing that it asks of a channel is below
        settings = ControllerSettings(
            cluster_id=CLUSTER_ID,
            node_id=home.id,
            config_rules=FewConfigs(),
            random=dice,
            supported_features=FEATURES,
            broker_session_timeout_ms=setup.session_ms,
        )
        self.controller = Controller(self.quorum, settings, bootstrap_records(home.disk, DATA), home.now_ms)
        self.caught_up = CatchingUp(self.quorum)
        own_config: Any = SimpleNamespace(
            node_id=home.id,
            metadata_log_max_record_bytes_between_snapshots=setup.bytes_between_snapshots,
            metadata_max_retention_bytes=setup.bytes_between_snapshots,
            metadata_max_retention_ms=-1,
        )
        self.snapshots = Snapshots(self.quorum, self.store, own_config, home.now_ms)
        self.duties = ControllerDuties(lambda: own_config, None)  # type: ignore[arg-type]

    def start(self) -> None:
        self.quorum.start()
        self._do_duties(self._home.now_ms())

    @property
    def is_active(self) -> bool:
        return self.controller.state is not None

    @property
    def raft(self) -> Any:
        return self.quorum.raft

    def _watched(self, effect: Effect, is_done: bool) -> None:
        (self._checks.after if is_done else self._checks.before)(self, effect)

    # What its tasks would do

    def settle(self) -> None:
        """After every event: begin the sync that is wanted, and set the alarm."""
        self._checks.settled(self)
        if self.quorum._flushes and not self._is_syncing:
            self._is_syncing = True
            flush_id = self.quorum._flushes[-1]
            self.quorum._flushes.clear()
            job = self.store.begin_flush()
            self._home.later(self._dice.randint(1, SYNC_MS_MAX), lambda: self._synced(job, flush_id))
        if self.raft.wake_at_ms != self._armed_ms:
            self._armed_ms = self.raft.wake_at_ms
            self._home.later(max(1, self._armed_ms - self._home.now_ms()), self._tick)
        if self.caught_up.event.is_set() and self.snapshots._is_due.is_set() and not self._is_writing_snapshot:
            self._begin_snapshot()
        self.caught_up._look()

    def _synced(self, job: Any, flush_id: int) -> None:
        job.run()
        self.store.log.flushed(job)
        self._is_syncing = False
        self.quorum._perform(self.raft.log_flushed(flush_id, self._home.now_ms()))

    def _tick(self) -> None:
        now_ms = self._home.now_ms()
        self._armed_ms = -1
        if self.raft.wake_at_ms <= now_ms:
            self.quorum._perform(self.raft.tick(now_ms))

    def _begin_snapshot(self) -> None:
        self.snapshots._is_due = trio.Event()
        plan = self.snapshots.plan()
        if plan is None:
            return
        self._is_writing_snapshot = True

        def write() -> None:
            self.snapshots.write(plan)
            self.snapshots.written(plan)
            self._is_writing_snapshot = False

        self._home.later(self._dice.randint(1, SYNC_MS_MAX), write)

    def _do_duties(self, due_ms: int) -> None:
        """Look whose heartbeats have stopped, unless this node did not listen itself."""
        if self._home.now_ms() <= due_ms + LATE_MS:
            self._fence_next(None, None)
        due_ms = self._home.now_ms() + DUTIES_MS
        self._home.later(DUTIES_MS, lambda: self._do_duties(due_ms))

    def _fence_next(self, fenced_id: int | None, error: object) -> None:
        def again(broker_id: int | None, error: object) -> None:
            if broker_id is not None and error is None:
                self._fence_next(broker_id, None)

        if self.is_active:
            self.controller.change(self.duties.fence_one, again)

    # Messages

    def send_nowait(self, sending: Send) -> None:
        """What raft wants to be sent; without an answer it hears of that."""
        correlation_id = sending.correlation_id
        self._home.send(
            sending.endpoint.port, sending.request, lambda response: self._answered(correlation_id, response)
        )
        self._home.later(400, lambda: self._answered(correlation_id, None))

    def _answered(self, correlation_id: int, response: Response | None) -> None:
        self.quorum._perform(self.raft.response(correlation_id, response, self._home.now_ms()))

    def receive(self, request: Request, done: Callable[[Any], None]) -> None:
        """One of the quorum's own requests."""
        if isinstance(request, ApiVersionsRequest):
            feature = ApiVersionsResponse.SupportedFeatureKey(name="kraft.version", min_version=0, max_version=1)
            done(ApiVersionsResponse(api_keys=[], supported_features=[feature]))
            return

        def answered(response: Any) -> None:
            self._checks.answering(self, request, response)
            done(response)

        self.quorum.request(request, type(request).versions.high, LISTENER, answered)

    def control(self, request: Request, done: Done) -> None:
        """A request for the active controller."""
        version = type(request).versions.high
        self.controller.change(
            lambda state, now_ms: answer(state, Asked(request, version, self.controller.next_offset, now_ms)), done
        )
