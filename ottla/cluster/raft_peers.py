"""Which node may be asked something now: one request in flight for each, and a pause after a failure.

Knows ids, correlation ids and times; nothing of what is asked. A request that is not answered in its time is forgotten,
and its answer is not expected any more.
"""

from __future__ import annotations

from dataclasses import dataclass

NEVER_MS = 2**63 - 1


@dataclass(slots=True)
class _Peer:
    correlation_id: int | None = None
    until_ms: int = 0  # the end of the wait for the answer, or of the pause


class Peers:
    """The nodes that this node has asked something, by id."""

    def __init__(self, request_timeout_ms: int, retry_backoff_ms: int) -> None:
        self._request_timeout_ms = request_timeout_ms
        self._retry_backoff_ms = retry_backoff_ms
        self._peers: dict[int, _Peer] = {}
        self._last_correlation_id = 0

    def reset(self) -> None:
        """Forget all that is in flight: another role has other questions."""
        self._peers.clear()

    def forget(self, id: int) -> None:
        self._peers.pop(id, None)

    def sent(self, id: int, now_ms: int) -> int:
        """Note a request to a node that is ready; its correlation id."""
        self._last_correlation_id += 1
        self._peers[id] = _Peer(self._last_correlation_id, now_ms + self._request_timeout_ms)
        return self._last_correlation_id

    def answered(self, correlation_id: int) -> int | None:
        """The node whose answer this is; None if nobody waits for it."""
        for id, peer in self._peers.items():
            if peer.correlation_id == correlation_id:
                return id
        return None

    def finish(self, id: int, correlation_id: int, *, succeeded: bool, now_ms: int) -> None:
        """The answer has been dealt with. Dealing with it may have reset everything."""
        peer = self._peers.get(id)
        if peer is None or peer.correlation_id != correlation_id:
            return
        if succeeded:
            del self._peers[id]
        else:
            self._peers[id] = _Peer(until_ms=now_ms + self._retry_backoff_ms)

    def is_ready(self, id: int, now_ms: int) -> bool:
        peer = self._peers.get(id)
        return peer is None or now_ms >= peer.until_ms

    def is_backing_off(self, id: int, now_ms: int) -> bool:
        peer = self._peers.get(id)
        return peer is not None and peer.correlation_id is None and now_ms < peer.until_ms

    def has_timed_out(self, id: int, now_ms: int) -> bool:
        peer = self._peers.get(id)
        return peer is not None and peer.correlation_id is not None and now_ms >= peer.until_ms

    def any_in_flight(self, now_ms: int) -> bool:
        return any(peer.correlation_id is not None and now_ms < peer.until_ms for peer in self._peers.values())

    def next_change_ms(self, now_ms: int) -> int:
        """When the first of those who are not ready now is ready."""
        return min((peer.until_ms for peer in self._peers.values() if peer.until_ms > now_ms), default=NEVER_MS)
