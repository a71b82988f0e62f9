"""Brokers that have gone without a word: found out when their connection ends, not when their session does.

A broker sends its heartbeats over one connection. When that ends and nothing was said of a stop, the active controller
looks whether anybody still listens at the broker's port. If the system there refuses the connection, the process is
gone, and the broker is fenced at once. In every other case (it is slow, paused, cut off from us, or was quick to come
back) it has its whole session, as in Kafka: only a refusal is proof. A new controller has no connections to go by, so
it looks at every broker once.
"""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING

import trio

from ottla.cluster.controller.heartbeats import fence_broker
from ottla.cluster.image.brokers import Broker as RegisteredBroker
from ottla.cluster.image.loader import Change
from ottla.server.probing import is_refused
from ottla.wire.errors import KafkaError

if TYPE_CHECKING:
    from ottla.server.broker import Broker
    from ottla.server.connection import Connection

log = logging.getLogger(__name__)


class LostBrokers:
    """Follows the quorum."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._by_connection: dict[Connection, tuple[int, int]] = {}
        self._to_look_at, self._suspects = trio.open_memory_channel[tuple[int, int]](math.inf)

    def heard(self, connection: Connection, broker_id: int, broker_epoch: int) -> None:
        """A heartbeat came by this connection."""
        if connection not in self._by_connection:
            self._broker.when_closed[connection] = lambda: self._closed(connection)
        self._by_connection[connection] = (broker_id, broker_epoch)

    def _closed(self, connection: Connection) -> None:
        self._suspect(*self._by_connection.pop(connection))

    def _suspect(self, broker_id: int, broker_epoch: int) -> None:
        if self._is_counted_on(broker_id, broker_epoch) is not None:
            self._to_look_at.send_nowait((broker_id, broker_epoch))

    def _is_counted_on(self, broker_id: int, broker_epoch: int) -> RegisteredBroker | None:
        known = self._broker.image.brokers.by_id.get(broker_id)
        is_here = self._broker.channel.is_here and broker_id != self._broker.config.node_id
        return known if is_here and known is not None and not known.fenced and known.epoch == broker_epoch else None

    # What the quorum tells

    def committed(self, change: Change) -> None: ...

    def activated(self, epoch: int) -> None:
        for broker in self._broker.image.brokers.by_id.values():
            self._suspect(broker.id, broker.epoch)

    def deactivated(self) -> None: ...

    def reached(self, offset: int) -> None: ...

    # Looking

    async def run(self) -> None:
        async with trio.open_nursery() as nursery:
            async for broker_id, broker_epoch in self._suspects:
                nursery.start_soon(self._look_at, broker_id, broker_epoch)

    async def _look_at(self, broker_id: int, broker_epoch: int) -> None:
        known = self._is_counted_on(broker_id, broker_epoch)
        if known is None or not known.listeners:
            return
        for endpoint in known.listeners.values():
            if not await is_refused(endpoint.host, endpoint.port):
                return
        if self._is_counted_on(broker_id, broker_epoch) is None:
            return
        try:
            await self._broker.channel.call_here(lambda state, now_ms: fence_broker(state, broker_id))
            log.warning("broker %d is fenced: its connection has ended, and its port refuses others", broker_id)
        except KafkaError as error:
            log.warning("broker %d has gone and cannot be fenced now: %s", broker_id, error.message)
