"""Which partition a record goes to, as Kafka's Java producer decides it.

With a key: murmur2 of its bytes, so that all producers agree. Without one: stay with a partition until a batch's worth
has gone there, then take another by chance (KIP-480, KIP-794). Pure; luck is passed in.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

_SEED = 0x9747B28C
_MULTIPLIER = 0x5BD1E995
_SHIFT = 24
_WORD_BYTES = 4
_MASK = 0xFFFFFFFF

# Java's batch.size: how much goes to one partition before the next is taken.
STICKY_BYTES = 16_384


def murmur2(data: bytes) -> int:
    """The 32-bit MurmurHash2 that Kafka uses, as a signed number, as Java shows it."""
    value = _SEED ^ len(data)
    whole = len(data) - len(data) % _WORD_BYTES
    for position in range(0, whole, _WORD_BYTES):
        word = int.from_bytes(data[position : position + _WORD_BYTES], "little") * _MULTIPLIER & _MASK
        word = (word ^ word >> _SHIFT) * _MULTIPLIER & _MASK
        value = value * _MULTIPLIER & _MASK ^ word
    if whole < len(data):
        value = (value ^ int.from_bytes(data[whole:], "little")) * _MULTIPLIER & _MASK
    value = (value ^ value >> 13) * _MULTIPLIER & _MASK
    value ^= value >> 15
    return value - (value >> 31 << 32)


def partition_for_key(key: bytes, partition_count: int) -> int:
    """The partition of a key among all partitions of the topic, those without a leader included."""
    assert partition_count > 0, partition_count
    return (murmur2(key) & 0x7FFFFFFF) % partition_count


class StickyPartitioner:
    """Partitions for the records of one topic that have no key."""

    def __init__(self, random: Random, sticky_bytes: int = STICKY_BYTES) -> None:
        self._random = random
        self._sticky_bytes = sticky_bytes
        self._partition: int | None = None
        self._sent_bytes = 0

    def next(self, available: Sequence[int], size_bytes: int) -> int:
        """The partition for a record of this size, one of those that have a leader now."""
        partition = self._partition
        if partition is None or partition not in available or self._sent_bytes >= self._sticky_bytes:
            partition = self._partition = self._random.choice(available)
            self._sent_bytes = 0
        self._sent_bytes += size_bytes
        return partition


class Placement:
    """Where each record of a topic goes: by its key, or with its neighbours."""

    def __init__(self, partition_count: int, available: Sequence[int], random: Random) -> None:
        self._partition_count = partition_count
        self._available = available
        self._sticky = StickyPartitioner(random)

    def partition(self, key: bytes | None, size_bytes: int) -> int:
        if key is None:
            return self._sticky.next(self._available, size_bytes)
        return partition_for_key(key, self._partition_count)
