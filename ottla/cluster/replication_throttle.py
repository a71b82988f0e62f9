"""Throttled replication (KIP-73): which replicas are throttled, how fast they are, and whether that is too fast.

Pure: bytes and the time in. The rate is measured as Kafka does it: in samples of a second or so, over those that are
not too old, and never over less than one sample, so that a first burst does not count as a rate without bounds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container

EVERY_REPLICA = "*"


class _EveryIndex:
    """All partitions of a topic."""

    def __contains__(self, index: object) -> bool:
        return True


EVERY_INDEX = _EveryIndex()


def throttled_indexes(text: str, broker_id: int) -> Container[int]:
    """The partitions of a topic whose replicas on this broker are throttled: `*`, or a list of PARTITION:BROKER."""
    if text.strip() == EVERY_REPLICA:
        return EVERY_INDEX
    pairs = [entry.strip().split(":") for entry in text.split(",") if entry.strip()]
    return frozenset(int(index) for index, broker in pairs if int(broker) == broker_id)


class _Sample:
    __slots__ = ("last_ms", "size_bytes", "start_ms")

    def __init__(self, start_ms: int) -> None:
        self.start_ms = self.last_ms = start_ms
        self.size_bytes = 0


class ReplicationThrottle:
    """One direction: what a broker sends to followers, or what it fetches for its own replicas."""

    def __init__(self, sample_count: int, sample_ms: int) -> None:
        self._sample_ms = sample_ms
        self._window_ms = sample_count * sample_ms
        self._samples: deque[_Sample] = deque()

    def record(self, size_bytes: int, now_ms: int) -> None:
        samples = self._samples
        if not samples or now_ms - samples[-1].start_ms >= self._sample_ms:
            samples.append(_Sample(now_ms))
            self._forget_old(now_ms)
        samples[-1].size_bytes += size_bytes
        samples[-1].last_ms = now_ms

    def bytes_per_second(self, now_ms: int) -> float:
        self._forget_old(now_ms)
        if not self._samples:
            return 0.0
        elapsed_ms = max(now_ms - self._samples[0].start_ms, self._sample_ms)
        return sum(sample.size_bytes for sample in self._samples) * 1000 / elapsed_ms

    def is_exceeded(self, bytes_per_second_max: int, now_ms: int) -> bool:
        return self.bytes_per_second(now_ms) > bytes_per_second_max

    def _forget_old(self, now_ms: int) -> None:
        samples = self._samples
        while samples and now_ms - samples[0].last_ms >= self._window_ms:
            samples.popleft()
