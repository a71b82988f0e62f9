"""One listening socket: accepts connections and serves each in a task of its own.

The number of connections is bounded by what the configuration says and by the descriptors of the process. Whoever
comes when it is full is refused at once, and everybody else goes on (KAFKA-2614). Nothing that one connection does ends
another, nor the listener.
"""

from __future__ import annotations

import logging
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import trio

from ottla.config.broker import BrokerConfig
from ottla.server.connection import Connection
from ottla.server.idle import reap_idle
from ottla.server.transport import SocketTransport

if TYPE_CHECKING:
    from ottla.server.broker import Broker

log = logging.getLogger(__name__)

# A flood of connections must let others speak: those that have been accepted, for a start.
ACCEPTED_PER_TURN_MAX = 64
# Out of descriptors or memory: trying again at once would only burn the processor.
WAIT_AFTER_ERROR_SECONDS = 0.1
# How a socket of IPv6 shows a peer of IPv4.
MAPPED_PREFIX = "::ffff:"
# Linux has names for how it keeps a network from being congested. This is the plainest, and everybody may choose it.
CONGESTION_CONTROL: int | None = getattr(socket, "TCP_CONGESTION", None)
PLAINEST = b"reno"
NAME_BYTES = 16


class Sizes(NamedTuple):
    """How many connections may wait to be accepted, and the buffers asked of the system, if any are."""

    backlog: int = 128
    send_bytes: int = -1
    receive_bytes: int = -1


USUAL = Sizes()


class Listener:
    def __init__(self, broker: Broker, name: str, listening: socket.socket) -> None:
        self.broker = broker
        self.name = name
        self.connections: set[Connection] = set()
        self._socket = listening
        self._is_finishing = False
        self._is_empty = trio.Event()
        broker.connection_limits.add_listener(name, self.connections)

    @property
    def address(self) -> tuple[str, int]:
        host, port = self._socket.getsockname()[:2]
        return host, port

    async def serve(self) -> None:
        """Accept until cancelled, closed or finished. Connections live in a nursery here and end with it."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(reap_idle, self.connections, self.broker.config.connections_max_idle_ms)
            try:
                while self._is_listening:
                    await trio.lowlevel.wait_readable(self._socket)
                    await self._accept_some(nursery)
            except trio.ClosedResourceError:
                pass
            if not self._is_finishing:
                nursery.cancel_scope.cancel()

    @property
    def _is_listening(self) -> bool:
        return self._socket.fileno() >= 0

    async def _accept_some(self, nursery: trio.Nursery) -> None:
        limits = self.broker.connection_limits
        for _ in range(ACCEPTED_PER_TURN_MAX):
            await self._wait_for_turn()
            if not self._is_listening:
                return
            try:
                connected, address = self._socket.accept()
            except (BlockingIOError, ConnectionError):
                return
            except OSError as error:
                # Trouble of the network is that of one peer; want of descriptors may pass.
                log.warning("listener %s cannot accept: %s", self.name, error.strerror)
                await trio.sleep(WAIT_AFTER_ERROR_SECONDS)
                return
            limits.accepted(self.name, self.broker.config, trio.current_time())
            host = str(address[0]).removeprefix(MAPPED_PREFIX)
            if not limits.admit(self.name, host, self.broker.config):
                log.debug("listener %s refuses %s: too many connections", self.name, host)
                connected.close()
                continue
            connection = self._connection(connected, host)
            if connection is not None:
                connection.begin()
                nursery.start_soon(self._serve, connection, connected, host)

    async def _wait_for_turn(self) -> None:
        """Whoever comes too fast waits with the system until it is his turn."""
        limits = self.broker.connection_limits
        while (seconds := limits.seconds_to_wait(self.name, self.broker.config, trio.current_time())) > 0:
            await trio.sleep(seconds)

    def _connection(self, connected: socket.socket, host: str) -> Connection | None:
        try:
            connected.setblocking(False)
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            congest_as_the_system_says(connected)
        except OSError as error:
            log.debug("%s went before it was served: %s", host, error)
            connected.close()
            self.broker.connection_limits.leave(self.name, host)
            return None
        connection = Connection(self.broker, SocketTransport(connected), self.name, host)
        self.connections.add(connection)
        return connection

    async def _serve(self, connection: Connection, connected: socket.socket, host: str) -> None:
        try:
            await connection.serve()
        finally:
            self._left(connection)
            connected.close()
            self.broker.connection_limits.leave(self.name, host)

    def _left(self, connection: Connection) -> None:
        self.connections.discard(connection)
        finish = self.broker.when_closed.pop(connection, None)
        if finish is not None:
            finish()
        if self._is_finishing and not self.connections:
            self._is_empty.set()

    async def finish(self) -> None:
        """Accept nobody any more, and wait until every client has the answers to what it has said so far."""
        self._is_finishing = True
        self.close()
        for connection in self.connections:
            connection.finish()
        if self.connections:
            await self._is_empty.wait()

    def close(self) -> None:
        """Stop listening, and end what `serve` has begun."""
        if self._is_listening:
            trio.lowlevel.notify_closing(self._socket)
            self._socket.close()


def keep_no_pace(listening: socket.socket) -> None:
    """Have whoever connects begin without a pace, which BBR would keep by a timer for each piece that is sent.

    A connection that has begun with BBR keeps to its pace for good, whatever is chosen for it later.
    """
    _choose(listening, PLAINEST)


def congest_as_the_system_says(connected: socket.socket) -> None:
    """Between two ends on one machine there is no network that could be congested; elsewhere the system knows best."""
    if connected.getpeername()[0] != connected.getsockname()[0]:
        with socket.socket() as fresh:
            _choose(connected, _choice(fresh))


def _choice(one: socket.socket) -> bytes:
    return b"" if CONGESTION_CONTROL is None else one.getsockopt(socket.IPPROTO_TCP, CONGESTION_CONTROL, NAME_BYTES)


def _choose(one: socket.socket, name: bytes) -> None:
    if CONGESTION_CONTROL is not None:
        with suppress(FileNotFoundError, PermissionError):  # a system may have, or allow, others only
            one.setsockopt(socket.IPPROTO_TCP, CONGESTION_CONTROL, name)


def listen(host: str, port: int, sizes: Sizes = USUAL) -> socket.socket:
    """A listening socket. An empty host means every address, of IPv6 as well where there is any."""
    if not host and socket.has_dualstack_ipv6():
        family, is_dual = socket.AF_INET6, True
    else:
        family, is_dual = socket.AF_INET6 if ":" in host else socket.AF_INET, False
    listening = socket.create_server((host, port), family=family, dualstack_ipv6=is_dual, backlog=sizes.backlog)
    listening.setblocking(False)
    keep_no_pace(listening)
    for option, size_bytes in ((socket.SO_SNDBUF, sizes.send_bytes), (socket.SO_RCVBUF, sizes.receive_bytes)):
        if size_bytes > 0:
            listening.setsockopt(socket.SOL_SOCKET, option, size_bytes)  # connections inherit it
    return listening


def sizes_of(config: BrokerConfig) -> Sizes:
    """What somebody chose. Kafka's defaults are smaller than what the system finds out for itself."""
    chosen = {
        field: value
        for field, key, value in (
            ("backlog", BrokerConfig.socket_listen_backlog_size, config.socket_listen_backlog_size),
            ("send_bytes", BrokerConfig.socket_send_buffer_bytes, config.socket_send_buffer_bytes),
            ("receive_bytes", BrokerConfig.socket_receive_buffer_bytes, config.socket_receive_buffer_bytes),
        )
        if config.is_set(key)
    }
    return USUAL._replace(**chosen)
