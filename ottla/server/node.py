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
import socket
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

import trio

from ottla.cluster.bootstrap import Endpoint
from ottla.config.broker import BrokerConfig
from ottla.config.listeners import Listener as ListenerConfig
from ottla.config.listeners import SecurityProtocol
from ottla.server.broker import Broker
from ottla.server.descriptors import open_segments_max, raise_limit
from ottla.server.formatting import found_cluster_id
from ottla.server.listener import listen, sizes_of
from ottla.server.random_ids import random_id
from ottla.server.running_node import RunningNode, StartError
from ottla.storage.directory_identity import Identity, LogDirectoryError
from ottla.storage.files import Disk, OsDisk
from ottla.storage.log_directories import LogDirectories
from ottla.storage.log_directory import LogDirectory
from ottla.wire.primitives import uuid_text

if TYPE_CHECKING:
    pass

log = logging.getLogger(__name__)


class Bound(NamedTuple):
    """A listener that has its port."""

    config: ListenerConfig
    socket: socket.socket

    @property
    def port(self) -> int:
        port: int = self.socket.getsockname()[1]
        return port


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
        running: RunningNode | None = None
        try:
            async with trio.open_nursery() as outside:
                outside.start_soon(_tell_when_cancelled, self.stopping)
                with trio.CancelScope() as life:
                    async with trio.open_nursery() as nursery:
                        running = RunningNode(self, directories, home, nursery)
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
                self.bound.append(Bound(config, listen(config.host, config.port, sizes_of(self.config))))
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
        """Where this node is reached as a controller: as advertised, or else where it listens (KIP-853)."""
        ports = {bound.config.name: bound.port for bound in self.bound}
        return tuple(
            one._replace(host=one.host or "localhost", port=one.port or ports[one.name])
            for one in self.config.advertised_controller_listeners
            if one.name in ports
        )

    def controller_endpoints(self) -> list[Endpoint]:
        return [Endpoint(one.name, one.host, one.port) for one in self.controller_listeners()]


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
