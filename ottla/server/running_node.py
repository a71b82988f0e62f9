"""The parts of a node that has its directories and ports: made, started in order, and stopped in order.

A node is a broker, a controller, or both. Both have a replica of the metadata log; a controller may vote and lead, a
broker has logs, clients and a registration. A broker that is not alone asks to be let go before it stops serving, so
that others lead what it led; one that is alone answers first what it has been asked.
"""

from __future__ import annotations

import logging
import random
import time
from itertools import chain
from typing import TYPE_CHECKING

import trio

from ottla.cluster.controller import ControllerSettings
from ottla.cluster.features import (
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    GROUP_VERSION,
    KRAFT_VERSION,
    METADATA_VERSION,
    METADATA_VERSION_MAX,
    VersionRange,
    found_ranges,
)
from ottla.cluster.image import ConfigType, MetadataImage
from ottla.config.topic import log_config
from ottla.server.broker import Broker
from ottla.server.catching_up import CatchingUp
from ottla.server.cleaning import Cleaner
from ottla.server.config_rules import Rules
from ottla.server.controller_channel import ControllerChannel
from ottla.server.controller_duties import ControllerDuties
from ottla.server.controlling import Controller
from ottla.server.directory_assignments import DirectoryAssignments
from ottla.server.directory_failures import DirectoryFailures
from ottla.server.directory_moves import DirectoryMoves
from ottla.server.formatting import bootstrap_records
from ottla.server.handlers import metadata
from ottla.server.in_sync_keeping import InSyncKeeping
from ottla.server.later import load_slowly
from ottla.server.listener import Listener
from ottla.server.load_report import LoadReport
from ottla.server.lost_brokers import LostBrokers
from ottla.server.producer_ids import ProducerIds
from ottla.server.quorum_opening import open_quorum, open_store
from ottla.server.registration import Registration
from ottla.server.replica_fetching import ReplicaFetching
from ottla.server.replicas import Replicas
from ottla.server.snapshotting import Snapshots
from ottla.server.steady_clock import steady_clock
from ottla.server.upkeep import Upkeep
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directories import LogDirectories
from ottla.storage.log_directory import LogDirectory
from ottla.wire.errors import KafkaError

if TYPE_CHECKING:
    from ottla.server.coordinating import GroupCoordinator
    from ottla.server.node import Node

log = logging.getLogger(__name__)

# What this node can serve. A feature that is not here stays at level 0.
FEATURES = {
    METADATA_VERSION: VersionRange(7, METADATA_VERSION_MAX),
    KRAFT_VERSION: VersionRange(0, 1),
    GROUP_VERSION: VersionRange(0, 1),
    ELIGIBLE_LEADER_REPLICAS_VERSION: VersionRange(0, 1),
}
# How long a node that stops waits for clients to take their answers.
DRAIN_SECONDS_MAX = 5.0
# How long it waits for the controller to let it go; without that it goes as well, and is missed until its session ends.
LEAVE_SECONDS_MAX = 5.0
# And for the other voters to hear that it does not lead any more.
RESIGN_SECONDS_MAX = 2.0


class StartError(Exception):
    """Why a node cannot start, in a sentence for its owner."""


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class RunningNode:
    """See the file."""

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
        self.channel = ControllerChannel(config.node_id, self.quorum, self.controller)
        self.channel.settled = self.broker.end_pass
        self.broker.channel = self.channel
        self.broker.quorum = self.quorum
        self.quorum.settled = self.broker.end_pass
        self._assignments = DirectoryAssignments(self.channel, config.node_id, lambda: self.registration.broker_epoch)
        moves = self.broker.moves = DirectoryMoves(self.broker, self._assignments)
        self.fetching = moves.fetching = ReplicaFetching(self.broker, lambda: self.registration.broker_epoch)
        self.broker.in_sync = InSyncKeeping(
            self.broker, self.channel, lambda: self.registration.broker_epoch, steady_now_ms
        )
        self.broker.lost_brokers = LostBrokers(self.broker)
        self.replicas = Replicas(
            self.broker, config.node_id, directories, self._log_config, moves, self._assignments, self.fetching
        )
        self.registration = Registration(
            config, node.cluster_id, self.channel, self.quorum, self._features, self._offline_directories
        )
        self._failures = DirectoryFailures(config, directories, self.registration)
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

    def _offline_directories(self) -> list[bytes]:
        return [one.meta.directory_id or b"" for one in self._directories.directories if one.offline is not None]

    def _log_config(self, image: MetadataImage, topic: str) -> LogConfig:
        return log_config(image.config_overrides(ConfigType.TOPIC, topic), self.broker.config)

    async def start(self) -> None:
        """Return when the node serves."""
        if not self.quorum.raft.voters.ids and not self._config.controller_quorum_bootstrap_servers:
            # It would wait for ever.
            reason = "nobody is named who votes, neither in the metadata log nor in the configuration"
            raise StartError(f"{self.store.directory}: {reason}; set controller.quorum.voters or its bootstrap servers")
        self._open_status()
        tasks = [self.quorum.run, self.channel.run, self.broker.deadlines.run, self.broker.readiness.run]
        if self._config.is_controller:
            duties = ControllerDuties(lambda: self.broker.config, self.channel)
            tasks += [self.broker.lost_brokers.run, duties.run]
        for task in tasks:
            self._nursery.start_soon(task)
        self.quorum.start()
        self._listen(are_controllers=True)
        await self._caught_up.wait()
        # A snapshot may hold all there is: then nothing more is committed that would show it.
        self.broker.image = self.quorum.image
        self._keep_features(self.quorum.image)
        self._nursery.start_soon(self._snapshots.run)
        if self._config.is_controller:
            await self.registration.register_controller(self._node.controller_listeners())
        if self._config.is_broker:
            await self._start_broker()
        self._nursery.start_soon(self._load_rest_slowly)

    async def _start_broker(self) -> None:
        image = self.quorum.image
        warnings = self._directories.load(
            lambda topic: self._log_config(image, topic),
            now_ms(),
            stray_id=lambda key, topic_id: self.replicas.stray_id(image, key, topic_id),
            report=LoadReport(time.monotonic),
        )
        for warning in warnings:
            log.warning("%s", warning)
        self.replicas.start(image)
        await self.registration.register(
            self._node.advertised(), self._directory_ids, self._directories.last_broker_epoch
        )
        upkeep = Upkeep(self._config, self._directories, now_ms)
        for task in (
            self.registration.run,
            self._failures.run,
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
        """Be let go by the cluster, take no more, answer what has come, and send that, as far as clients read."""
        is_alone = self._is_alone
        if not is_alone:
            await self._leave()
        self.broker.deadlines.end()
        if self._groups is not None:
            self._groups.stop()
        await self._finish(are_controllers=False)
        if is_alone:
            await self._leave()
        if len(self.quorum.raft.voters.ids) > 1:
            with trio.move_on_after(RESIGN_SECONDS_MAX):
                await self.quorum.resign()
        await self._finish(are_controllers=True)

    @property
    def _is_alone(self) -> bool:
        """Whether no other broker could take over."""
        own = self._config.node_id
        return not any(one.is_active for id, one in self.quorum.image.brokers.by_id.items() if id != own)

    async def _leave(self) -> None:
        if self._config.is_broker and self._config.controlled_shutdown_enable:
            with trio.move_on_after(LEAVE_SECONDS_MAX):
                await self.registration.leave()

    async def _finish(self, *, are_controllers: bool) -> None:
        listeners = [one for one in self._listeners if self._config.is_controllers(one.name) == are_controllers]
        with trio.move_on_after(DRAIN_SECONDS_MAX) as scope:
            async with trio.open_nursery() as nursery:
                for listener in listeners:
                    nursery.start_soon(listener.finish)
        if scope.cancelled_caught:
            count = sum(len(listener.connections) for listener in listeners)
            log.warning("%d connections are cut off: they did not take their answers in time", count)

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
