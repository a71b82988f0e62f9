"""How many connections a broker takes, and how fast: in all, on one listener, and from one host.

`max.connections` and `max.connection.creation.rate` hold for the broker, and for a listener where it has its own
(`listener.name.NAME.KEY`); `max.connections.per.ip` counts a host's connections on all listeners. Besides, connections
never take the last descriptors of the process, or logs could not be opened any more (KAFKA-2614).

Controllers' listeners, and where clients have another one that of brokers among themselves, are not bound by the
limits of the broker: if one too many comes there, the longest idle connection of another listener has to go (KIP-402,
KIP-612).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import NamedTuple

from ottla.config.broker import BrokerConfig
from ottla.config.cross_checks import connection_overrides
from ottla.server.connection_rate import ConnectionRate
from ottla.server.idle import Idle


class _Read(NamedTuple):
    """What a configuration says, read once: there is another one when a limit has changed."""

    config: BrokerConfig
    per_host: Mapping[str, int]
    by_listener: Mapping[str, BrokerConfig]
    protected: frozenset[str]


class ConnectionLimits:
    def __init__(self, count_max: int | None) -> None:
        """`count_max` comes on top of what the configuration says."""
        self._count_max = count_max
        self._connections: dict[str, Collection[Idle]] = {}
        self._count = 0
        self._per_listener: Counter[str] = Counter()
        self._per_host: Counter[str] = Counter()
        self._rate = ConnectionRate()
        self._rates: dict[str, ConnectionRate] = {}
        self._read: _Read | None = None

    def __len__(self) -> int:
        return self._count

    def add_listener(self, name: str, connections: Collection[Idle]) -> None:
        """There is a listener of this name, and these are its connections as they come and go."""
        self._connections[name] = connections
        self._rates[name] = ConnectionRate()
        self._read = None

    def admit(self, listener: str, host: str, config: BrokerConfig) -> bool:
        """Count one more, unless there are too many. Whoever is admitted has to leave."""
        read = self._reading(config)
        if self._count_max is not None and self._count >= self._count_max:
            return False
        if self._per_listener[listener] >= read.by_listener[listener].max_connections:
            return False
        if self._per_host[host] >= read.per_host.get(host, config.max_connections_per_ip):
            return False
        if self._count >= config.max_connections and not self._make_room(listener, read.protected):
            return False
        self._count += 1
        self._per_listener[listener] += 1
        self._per_host[host] += 1
        return True

    def leave(self, listener: str, host: str) -> None:
        assert self._per_host[host] > 0, host
        self._count -= 1
        self._per_listener[listener] -= 1
        self._per_host[host] -= 1
        if not self._per_host[host]:
            del self._per_host[host]

    def seconds_to_wait(self, listener: str, config: BrokerConfig, now: float) -> float:
        """How long a listener has to wait before it accepts another."""
        read = self._reading(config)
        own = self._rates[listener].seconds_to_wait(read.by_listener[listener].max_connection_creation_rate, now)
        if listener in read.protected:
            return own
        return max(own, self._rate.seconds_to_wait(config.max_connection_creation_rate, now))

    def accepted(self, listener: str, config: BrokerConfig, now: float) -> None:
        """A listener has accepted one, be it admitted or not."""
        self._rates[listener].count(self._reading(config).by_listener[listener].max_connection_creation_rate, now)
        self._rate.count(config.max_connection_creation_rate, now)

    def _reading(self, config: BrokerConfig) -> _Read:
        if self._read is None or self._read.config is not config:
            by_listener = {name: config.for_listener(name) for name in self._connections}
            self._read = _Read(config, connection_overrides(config), by_listener, _protected(config))
        return self._read

    def _make_room(self, listener: str, protected: frozenset[str]) -> bool:
        """For a broker, somebody else has to go. He is counted until he has."""
        if listener not in protected:
            return False
        bound = (one for name, them in self._connections.items() if name not in protected for one in them)
        longest_idle = min(bound, key=lambda one: one.active_at, default=None)
        if longest_idle is not None:
            longest_idle.cut_off("max.connections is reached, and another broker has come")
        return True


def _protected(config: BrokerConfig) -> frozenset[str]:
    """The listeners that the limits of the broker do not bind."""
    names = {listener.name for listener in config.controller_listeners}
    if len(config.broker_listeners) > 1:
        names.add(config.inter_broker_listener)
    return frozenset(names)
