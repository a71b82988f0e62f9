"""How many connections a broker takes, in all and from one host: counted once, whatever listener they come to.

`max.connections` and `max.connections.per.ip` say it; besides, connections never take the last descriptors of the
process, or logs could not be opened any more (KAFKA-2614). Whoever is admitted is counted at once and must leave.
"""

from __future__ import annotations

import resource
from collections import Counter

from ottla.config.broker import BrokerConfig
from ottla.config.cross_checks import connection_overrides

# Of the descriptors that the process may have, the rest is for logs and indexes.
CONNECTIONS_SHARE = 0.75


class ConnectionLimits:
    def __init__(self, count_max: int | None) -> None:
        """`count_max` comes on top of what the configuration says."""
        self._count_max = count_max
        self._count = 0
        self._per_host: Counter[str] = Counter()
        # Read once for each configuration, of which there is another when a limit has changed.
        self._config: BrokerConfig | None = None
        self._overrides: dict[str, int] = {}

    def __len__(self) -> int:
        return self._count

    def admit(self, host: str, config: BrokerConfig) -> bool:
        """Count one more, unless there are too many."""
        if self._count >= config.max_connections or (self._count_max is not None and self._count >= self._count_max):
            return False
        if config is not self._config:
            self._config, self._overrides = config, connection_overrides(config)
        if self._per_host[host] >= self._overrides.get(host, config.max_connections_per_ip):
            return False
        self._count += 1
        self._per_host[host] += 1
        return True

    def leave(self, host: str) -> None:
        assert self._per_host[host] > 0, host
        self._count -= 1
        self._per_host[host] -= 1
        if not self._per_host[host]:
            del self._per_host[host]


def connections_max() -> int | None:
    """How many descriptors of this process may be connections; None if there is no limit."""
    descriptors_max, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if descriptors_max == resource.RLIM_INFINITY else int(descriptors_max * CONNECTIONS_SHARE)
