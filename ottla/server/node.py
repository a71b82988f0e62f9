"""A node from its first to its last moment: what is started in which order, and stopped in which.

    directories claimed, listeners bound    nobody is served yet, but ports are known
    metadata log read, quorum led           the image is as it was committed
    logs opened                             with the configurations of the image
    broker registered                       the cluster counts on it
    listeners serve                         until cancelled

Stopping goes the other way: nobody is accepted any more, what has come is answered and sent, the controller lets the
broker go, logs are flushed and closed, the marker of a clean stop comes last. Only a node that was told to stop stops
cleanly; one that failed lets go of its files as they are, and recovers at its next start.
"""

from __future__ import annotations

import logging
import os
import random
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import trio

from ottla.cluster.bootstrap import Endpoint
from ottla.cluster.controller import ControllerSettings
from ottla.cluster.features import (
    GROUP_VERSION,
    KRAFT_VERSION,
    METADATA_VERSION,
    METADATA_VERSION_MAX,
    VersionRange,
    found_ranges,
)
from ottla.cluster.image import ConfigType, MetadataImage
from ottla.config.broker import BrokerConfig
from ottla.config.listeners import Listener as ListenerConfig
from ottla.config.listeners import SecurityProtocol
from ottla.config.topic import log_config
from ottla.server.broker import Broker
from ottla.server.catching_up import CatchingUp
from ottla.server.cleaning import Cleaner
from ottla.server.config_rules import Rules
from ottla.server.controller_channel import ControllerChannel
from ottla.server.controller_duties import ControllerDuties
from ottla.server.controlling import Controller
from ottla.server.descriptors import open_segments_max, raise_limit
from ottla.server.directory_assignments import DirectoryAssignments
from ottla.server.directory_moves import DirectoryMoves
from ottla.server.formatting import bootstrap_records, found_cluster_id
from ottla.server.handlers import metadata
from ottla.server.in_sync_keeping import InSyncKeeping
from ottla.server.later import load_slowly
from ottla.server.listener import Listener, listen
from ottla.server.load_report import LoadReport
from ottla.server.lost_brokers import LostBrokers
from ottla.server.producer_ids import ProducerIds
from ottla.server.quorum_opening import open_quorum, open_store
from ottla.server.random_ids import random_id
from ottla.server.registration import Registration
from ottla.server.replica_fetching import ReplicaFetching
from ottla.server.replicas import Replicas
from ottla.server.snapshotting import Snapshots
from ottla.server.steady_clock import steady_clock
from ottla.server.upkeep import Upkeep
from ottla.storage.directory_identity import Identity, LogDirectoryError
from ottla.storage.files import Disk, OsDisk
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directories import LogDirectories
from ottla.storage.log_directory import LogDirectory
from ottla.wire.errors import KafkaError
from ottla.wire.primitives import uuid_text

if TYPE_CHECKING:
    from ottla.server.coordinating import GroupCoordinator

log = logging.getLogger(__name__)

# What this node can serve. A feature that is not here stays at level 0.
FEATURES = {
    METADATA_VERSION: VersionRange(7, METADATA_VERSION_MAX),
    KRAFT_VERSION: VersionRange(0, 1),
    GROUP_VERSION: VersionRange(0, 1),
}
# How long a node that stops waits for clients to take their answers.
DRAIN_SECONDS_MAX = 5.0
# How long it waits for the controller to let it go; without that it goes as well, and is missed until its session ends.
LEAVE_SECONDS_MAX = 5.0


class StartError(Exception):
    """Why a node cannot start, in a sentence for its owner."""


class Bound(NamedTuple):
    """A listener that has its port."""

    config: ListenerConfig
    socket: socket.socket

    @property
    def port(self) -> int:
        port: int = self.socket.getsockname()[1]
        return port


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def own_host_name() -> str:
    """What others call this machine, as far as it knows: Kafka advertises that where a listener has no host."""
    name = socket.getfqdn()
    try:
        socket.getaddrinfo(name, None)
    except OSError:
        return "localhost"  # a name that not even this machine can find would keep every client away
    return name


class Node:
    """`ready` is set when clients are served, `loaded` when it has the rest as well: see `later`."""

    def __init__(self, config: BrokerConfig, disk: Disk | None = None) -> None:
        self.config = config
        self.disk: Disk = OsDisk() if disk is None else disk
        self.ready = trio.Event()
        self.loaded = trio.Event()
        self.stopping = trio.Event()
        self.bound: list[Bound] = []
        self.cluster_id = ""
        self.status_address: tuple[str, int] | None = None
        # There from when the metadata log has been opened; for those who run a node inside of something else.
        self.broker: Broker | None = None

    async def run(self) -> None:
        """Serve until cancelled, then stop cleanly."""
        config = self.config
        if not (config.is_broker and config.is_controller):
            raise StartError(f"process.roles is {','.join(config.process_roles)}; only broker,controller is served yet")
        if config.authorizer_class_name:
            # Without it everybody could do everything, where somebody has said who may do what.
            reason = f"authorizer.class.name is {config.authorizer_class_name}; no authorizer is served yet"
            raise StartError(f"{reason}: leave it empty if everybody may do everything")
        paths = dict.fromkeys((*config.log_directories, config.metadata_directory))
        self.cluster_id = config.cluster_id or found_cluster_id(self.disk, list(paths)) or uuid_text(random_id())
        identity = Identity(self.cluster_id, config.node_id)
        raise_limit()
        with ExitStack() as stack:
            directories = LogDirectories.open(
                self.disk,
                config.log_directories,
                identity,
                new_directory_id=random_id,
                open_segments_max=open_segments_max(),
            )
            stack.callback(directories.abandon)
            home, is_apart = self._metadata_home(directories, identity)
            if is_apart:
                stack.callback(home.abandon)
            stack.callback(self._unbind)
            self._bind()
            await self._run(directories, home)

    async def _run(self, directories: LogDirectories, home: LogDirectory) -> None:
        """With directories and ports, which the caller gives back."""
        running: _Running | None = None
        try:
            async with trio.open_nursery() as outside:
                outside.start_soon(_tell_when_cancelled, self.stopping)
                with trio.CancelScope() as life:
                    async with trio.open_nursery() as nursery:
                        running = _Running(self, directories, home, nursery)
                        self.broker = running.broker
                        await running.start()
                        self.ready.set()
                        # A cancellation tells us to stop from now on, and does not do it.
                        life.shield = True
                        await self.stopping.wait()
                        await running.drain()
                        nursery.cancel_scope.cancel()
        except BaseException as error:
            if running is not None:
                running.stop(is_clean=self.ready.is_set() and _is_cancellation(error))
            raise

    def _metadata_home(self, directories: LogDirectories, identity: Identity) -> tuple[LogDirectory, bool]:
        """The directory that the metadata log lives in, and whether it is apart from those of the other logs."""
        path = os.path.normpath(self.config.metadata_directory)
        for one in directories.directories:
            if one.path == path:
                return one, False
        if path in directories.dead:
            raise LogDirectoryError(f"the metadata log's directory cannot be used: {directories.dead[path]}")
        return LogDirectory.open(self.disk, path, identity, new_directory_id=random_id()), True

    def _bind(self) -> None:
        for config in self.config.all_listeners:
            if config.protocol is not SecurityProtocol.PLAINTEXT:
                raise StartError(
                    f"listener {config.name} is to speak {config.protocol.name}; only PLAINTEXT is served yet"
                )
            try:
                self.bound.append(Bound(config, listen(config.host, config.port)))
            except OSError as error:
                place = str(config).partition("://")[2]
                reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
                raise StartError(f"listener {config.name} cannot listen on {place}: {reason}") from error

    def _unbind(self) -> None:
        for bound in self.bound:
            bound.socket.close()

    def unreadiness(self) -> list[str]:
        """Why clients should not come."""
        if self.stopping.is_set():
            return ["the node is stopping"]
        return [] if self.ready.is_set() else ["the node is starting"]

    def advertised(self) -> tuple[ListenerConfig, ...]:
        """Where clients find this node: with the ports that the system chose, and this machine's name for no name."""
        ports = {bound.config.name: bound.port for bound in self.bound}
        return tuple(
            one._replace(host=one.host or own_host_name(), port=one.port or ports[one.name])
            for one in self.config.advertised_broker_listeners
        )

    def controller_listeners(self) -> tuple[ListenerConfig, ...]:
        """Where this node is reached as a controller."""
        names = {one.name for one in self.config.controller_listeners}
        return tuple(
            bound.config._replace(host=bound.config.host or "localhost", port=bound.port)
            for bound in self.bound
            if bound.config.name in names
        )

    def controller_endpoints(self) -> list[Endpoint]:
        return [Endpoint(one.name, one.host, one.port) for one in self.controller_listeners()]


class _Running:
    """The parts of a node that has its directories and ports."""

    def __init__(self, node: Node, directories: LogDirectories, home: LogDirectory, nursery: trio.Nursery) -> None:
        config = node.config
        disk = node.disk
        self._node = node
        self._config = config
        self._directories = directories
        self._nursery = nursery
        self._listeners: list[Listener] = []
        # What this node is known to support: what it serves, and what it finds (see _keep_features).
        self._features = dict(FEATURES)
        self._directory_ids = [one.meta.directory_id or b"" for one in directories.directories]
        self._has_started = False
        steady_now_ms = self._steady_now_ms = steady_clock()
        directory_id, endpoints = home.meta.directory_id or b"", node.controller_endpoints()
        self.store = open_store(disk, config, FEATURES, directory_id, endpoints, now_ms())
        self.quorum = open_quorum(self.store, config, node.cluster_id, directory_id, endpoints, steady_now_ms)
        self.controller = Controller(
            self.quorum, self._settings(), bootstrap_records(disk, config.metadata_directory), steady_now_ms
        )
        self.broker = Broker(config, node.cluster_id, directories, metadata.ROUTES, nursery)
        self.broker.rest = self._load_rest
        self.channel = ControllerChannel(config.node_id, self.quorum, self.controller, steady_now_ms)
        self.channel.settled = self.broker.end_pass
        self.broker.channel = self.channel
        self.broker.quorum = self.quorum
        self.quorum.settled = self.broker.end_pass
        self._assignments = DirectoryAssignments(self.channel, config.node_id, lambda: self.registration.broker_epoch)
        moves = self.broker.moves = DirectoryMoves(self.broker, self._assignments)
        self.fetching = ReplicaFetching(self.broker, lambda: self.registration.broker_epoch)
        self.broker.in_sync = InSyncKeeping(
            self.broker, self.channel, lambda: self.registration.broker_epoch, steady_now_ms
        )
        self.broker.lost_brokers = LostBrokers(self.broker)
        self.replicas = Replicas(
            self.broker, config.node_id, directories, self._log_config, moves, self._assignments, self.fetching
        )
        self.registration = Registration(config, node.cluster_id, self.channel, self.quorum, self._features)
        self.broker.producer_ids = ProducerIds(self.channel, config.node_id, lambda: self.registration.broker_epoch)
        self._caught_up = CatchingUp(self.quorum)
        self._snapshots = Snapshots(self.quorum, self.store, config, now_ms)
        self.cleaner = Cleaner(lambda: self.broker.config, directories, now_ms)
        self._groups: GroupCoordinator | None = None
        followers = (
            self.replicas,
            self.controller,
            self._caught_up,
            self.broker.lost_brokers,
            self._snapshots,
            self.cleaner,
        )
        for follower in followers:
            self.quorum.follow(follower)

    def _settings(self) -> ControllerSettings:
        config = self._config
        return ControllerSettings(
            cluster_id=self._node.cluster_id,
            node_id=config.node_id,
            config_rules=Rules(lambda: self.broker.config),
            random=random.Random(),
            supported_features=self._features,
            default_partition_count=config.num_partitions,
            default_replication_factor=config.default_replication_factor,
            min_insync_replicas=config.min_insync_replicas,
            unclean_leader_election_enabled=config.unclean_leader_election_enable,
            delete_topics_enabled=config.delete_topic_enable,
            broker_session_timeout_ms=config.broker_session_timeout_ms,
        )

    def _log_config(self, image: MetadataImage, topic: str) -> LogConfig:
        return log_config(image.config_overrides(ConfigType.TOPIC, topic), self.broker.config)

    async def start(self) -> None:
        if not self.quorum.raft.voters.ids and not self._config.controller_quorum_bootstrap_servers:
            # It would wait for ever.
            reason = "nobody is named who votes, neither in the metadata log nor in the configuration"
            raise StartError(f"{self.store.directory}: {reason}; set controller.quorum.voters or its bootstrap servers")
        self._open_status()
        self._nursery.start_soon(self.quorum.run)
        self._nursery.start_soon(self.channel.run)
        self._nursery.start_soon(self.broker.lost_brokers.run)
        self._nursery.start_soon(ControllerDuties(lambda: self.broker.config, self.channel).run)
        self._nursery.start_soon(self.broker.deadlines.run)
        self.quorum.start()
        self._listen(are_controllers=True)
        await self._caught_up.event.wait()
        image = self.quorum.image
        self._keep_features(image)
        warnings = self._directories.load(
            lambda topic: self._log_config(image, topic),
            now_ms(),
            stray_id=lambda key, topic_id: self.replicas.stray_id(image, key, topic_id),
            report=LoadReport(time.monotonic),
        )
        for warning in warnings:
            log.warning("%s", warning)
        self.replicas.start(image)
        await self.registration.register_controller(self._node.controller_listeners())
        await self.registration.register(
            self._node.advertised(), self._directory_ids, self._directories.last_broker_epoch
        )
        upkeep = Upkeep(self._config, self._directories, now_ms)
        for task in (
            self.registration.run,
            self._snapshots.run,
            self.broker.flusher.run,
            self._assignments.run,
            self.broker.in_sync.run,
            self.fetching.run,
            self.broker.moves.run,
            self.replicas.making.run,
            upkeep.run,
            *([self.cleaner.run] if self._config.log_cleaner_enable else []),
        ):
            self._nursery.start_soon(task)
        self._listen(are_controllers=False)
        self._has_started = True
        self._start_groups()
        self._nursery.start_soon(self._load_rest_slowly)

    def _listen(self, *, are_controllers: bool) -> None:
        """Serve on the listeners of one kind. Controllers talk to each other before anybody else is served."""
        for bound in self._node.bound:
            if self._config.is_controllers(bound.config.name) == are_controllers:
                listener = Listener(self.broker, bound.config.name, bound.socket)
                self._listeners.append(listener)
                self._nursery.start_soon(listener.serve)

    def _load_rest(self) -> None:
        """What the first answers do not need: most of the routes, and the groups."""
        from ottla.server.coordinating import GroupCoordinator
        from ottla.server.handlers.every_route import CONTROLLER_ROUTES, ROUTES

        self.broker.add_routes(ROUTES, CONTROLLER_ROUTES)
        self._groups = self.broker.groups = GroupCoordinator(self.broker, self._steady_now_ms)
        self.quorum.follow(self._groups)
        self._start_groups()
        self._node.loaded.set()

    async def _load_rest_slowly(self) -> None:
        await load_slowly()
        self.broker.load_rest()

    def _start_groups(self) -> None:
        """As soon as there are both groups and the logs they are kept in."""
        if self._groups is not None and self._has_started:
            self._groups.start(self.quorum.image)
            self._nursery.start_soon(self._groups.run)

    def _keep_features(self, image: MetadataImage) -> None:
        """Of a cluster that another release has formatted, take on the features that are not served here."""
        found = found_ranges(image.feature_levels, FEATURES)
        for name, levels in found.items():
            log.warning("%s is at level %d, which is kept but not served", name, levels.high)
        self._features.update(found)

    def _open_status(self) -> None:
        """Metrics, liveness and readiness over HTTP, if they are wanted; before anything takes time."""
        if self._config.ottla_metrics_port < 0:
            return
        # Most nodes start without, and faster.
        from ottla.server.exposition import pieces
        from ottla.server.gauges import cleaner_families, families
        from ottla.server.http_status import open_status

        started_seconds = time.time()
        status = open_status(
            self._config,
            metrics=lambda: pieces(
                chain(
                    self.broker.metrics.families(),
                    cleaner_families(self.cleaner),
                    families(self.broker, self._listeners, started_seconds),
                )
            ),
            health=lambda: [] if self._directories.online else ["every log directory has failed"],
            readiness=self._node.unreadiness,
        )
        if status is not None:
            self._node.status_address = status.address
            self._nursery.start_soon(status.serve)

    async def drain(self) -> None:
        """Take no more; answer what has come, and send that, as far as clients read."""
        self.broker.deadlines.end()
        if self._groups is not None:
            self._groups.stop()
        with trio.move_on_after(DRAIN_SECONDS_MAX) as scope:
            async with trio.open_nursery() as nursery:
                for listener in self._listeners:
                    nursery.start_soon(listener.finish)
        if scope.cancelled_caught:
            count = sum(len(listener.connections) for listener in self._listeners)
            log.warning("%d connections are cut off: they did not take their answers in time", count)
        if self._config.controlled_shutdown_enable:
            with trio.move_on_after(LEAVE_SECONDS_MAX):
                await self.registration.leave()

    def stop(self, *, is_clean: bool) -> None:
        """Every task has ended: nobody touches a log any more."""
        if not is_clean:
            self.store.abandon()
            return
        try:
            self.store.close()
        except (KafkaError, OSError) as error:
            log.error("the metadata log cannot be closed: %s", error)
        if not self._directories.close(self.registration.broker_epoch):
            log.warning("this was no clean stop: logs will be recovered at the next start")


async def _tell_when_cancelled(event: trio.Event) -> None:
    try:
        await trio.sleep_forever()
    finally:
        event.set()


def _is_cancellation(error: BaseException) -> bool:
    """Whether nothing has gone wrong: the node was told to stop."""
    if isinstance(error, BaseExceptionGroup):
        return error.split(trio.Cancelled)[1] is None
    return isinstance(error, trio.Cancelled)


async def serve(config: BrokerConfig, started: Callable[[Node], None], loaded: Callable[[], None]) -> None:
    """Run a node; `started` is called when clients are served, `loaded` when nothing is left to be imported."""
    node = Node(config)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(node.run)
        await node.ready.wait()
        started(node)
        await node.loaded.wait()
        loaded()
