"""A bound on what all connections together hold of requests that have not come to their end.

A request may have 100 MB (`socket.request.max.bytes`), and a client that sends most of it and stops would hold that for
as long as it may be idle. When all of them together hold too much, the one goes that has held the most for the longest:
bytes times seconds. A client that sends a request in one go holds it for a moment only, whatever its size; so honest
clients go on while others fill the memory up to the bound. No clock here.
"""

from __future__ import annotations

from typing import Protocol

from ottla.config.broker import BrokerConfig
from ottla.wire.framing import PREFIX_BYTES

# What every connection may hold without being counted: its own objects cost as much.
UNCOUNTED_BYTES = 4096
# Whoever has just begun holds it for a little longer than not at all, so that among many the largest goes.
AGE_SECONDS_MIN = 0.001


class Receiving(Protocol):
    def cut_off(self, why: str) -> None: ...


class HalfReceived:
    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.held_bytes = 0
        # How much each holds, and since when.
        self._held: dict[Receiving, tuple[int, float]] = {}

    def __len__(self) -> int:
        return len(self._held)

    def hold(self, connection: Receiving, size_bytes: int, now: float) -> None:
        """This is what the connection holds now. Somebody is cut off if that is too much in all: maybe this one."""
        known_bytes, since = self._held.get(connection, (0, now))
        if size_bytes <= UNCOUNTED_BYTES:
            self.release(connection)
            return
        self._held[connection] = (size_bytes, since)
        self.held_bytes += size_bytes - known_bytes
        while self.held_bytes > self.bytes_max:
            self._cut_off_worst(now)

    def release(self, connection: Receiving) -> None:
        """The connection holds nothing any more."""
        size_bytes, _ = self._held.pop(connection, (0, 0.0))
        self.held_bytes -= size_bytes

    def _cut_off_worst(self, now: float) -> None:
        worst = max(self._held, key=lambda one: self._held[one][0] * (now - self._held[one][1] + AGE_SECONDS_MIN))
        size_bytes, since = self._held[worst]
        self.release(worst)
        held = f"{size_bytes} bytes of a request, {now - since:.1f} seconds after it began"
        worst.cut_off(f"it holds {held}, and all together more than {self.bytes_max}")


def half_received_bytes_max(config: BrokerConfig) -> int:
    """What the configuration allows. One request of the largest size must always be possible."""
    asked = config.queued_max_request_bytes
    wanted = asked if asked > 0 else config.ottla_half_received_max_bytes
    return max(wanted, config.socket_request_max_bytes + PREFIX_BYTES)
