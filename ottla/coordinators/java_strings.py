"""How Java hashes a string: it decides which partition of `__consumer_offsets` a group lives in, and who is first."""

from __future__ import annotations

import array
import sys
from collections.abc import Iterable
from functools import lru_cache
from operator import mul

# Every request of a member is sent to its shard by this hash: names are added up in one go.
NAME_LENGTH_MAX = 256
# Of so many groups the partition is remembered: members ask about the same one again and again.
GROUPS_KNOWN_MAX = 1 << 13
_POWERS = tuple(pow(31, exponent, 1 << 32) for exponent in range(NAME_LENGTH_MAX))


def java_hash(text: str) -> int:
    """String.hashCode as an unsigned number of 32 bits: over UTF-16 units."""
    units: bytes | array.array[int] = text.encode() if text.isascii() else _utf_16_units(text)
    if len(units) <= NAME_LENGTH_MAX:
        total: int = sum(map(mul, reversed(units), _POWERS))
        return total & 0xFFFFFFFF
    value = 0
    for unit in units:
        value = (31 * value + unit) & 0xFFFFFFFF
    return value


def _utf_16_units(text: str) -> array.array[int]:
    units = array.array("H", text.encode("utf-16-le", "surrogatepass"))
    if sys.byteorder == "big":
        units.byteswap()
    return units


@lru_cache(GROUPS_KNOWN_MAX)
def group_partition(group_id: str, partition_count: int) -> int:
    """The partition of the offsets topic that keeps the group: the signed hash without its sign, modulo."""
    value = java_hash(group_id)
    # Kafka's Utils.abs: the smallest number has no opposite and counts as 0.
    absolute = value if value < 1 << 31 else (1 << 32) - value
    return (absolute if absolute != 1 << 31 else 0) % partition_count


def hash_map_order(text: str) -> int:
    """Where a small HashMap of Java keeps a string; what comes first there leads, or wins ties, in Kafka."""
    value = java_hash(text)
    return (value ^ (value >> 16)) & 15


# Of Kafka's own hash table, which grows while it is being filled.
_CAPACITY_MIN = 2
_FIBONACCI = -7046029254386353131
_UINT64 = (1 << 64) - 1


def timeline_map_order(keys: Iterable[str], size_max: int) -> list[str]:
    """Keys in the order in which a TimelineHashMap of Kafka gives them, that never had more than so many.

    They are in the order in which they were put there; of those in one slot, the last comes first.
    """
    capacity = _CAPACITY_MIN
    # Full to three quarters with one more, which replacing one counts as, it grows.
    while 3 * (size_max + 1) > 4 * capacity:
        capacity *= 2
    shift = 65 - capacity.bit_length()
    last_first = list(keys)[::-1]
    return sorted(last_first, key=lambda key: (_signed(java_hash(key)) * _FIBONACCI & _UINT64) >> shift)


def _signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value
