"""One number for what a group subscribed to, so that a change of its topics is noticed without keeping them all.

It is stored with the group's epoch, so it has to be the number that Kafka computes: XXH3 over a topic's id, name and
partitions with the racks of their replicas; for a group, over the hashes of its topics in the order of their names.
Strings are hashed as UTF-16 code units followed by their number.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from xxhash import xxh3_64_intdigest

_FORMAT = 0
_HEAD = struct.Struct("<bQQ")
_ID_HALVES = struct.Struct(">QQ")
_INT = struct.Struct("<i")


def topic_hash(topic_id: bytes, name: str, racks: Sequence[Sequence[str]]) -> int:
    """The hash of a topic; `racks` holds those of each partition's replicas, one entry a partition."""
    pieces = [_HEAD.pack(_FORMAT, *_ID_HALVES.unpack(topic_id)), _string(name), _INT.pack(len(racks))]
    for partition, partition_racks in enumerate(racks):
        pieces.append(_INT.pack(partition))
        for units in sorted(rack.encode("utf-16-be") for rack in partition_racks):
            rack = units.decode("utf-16-be")
            pieces += (_INT.pack(len(units) // 2), _string(rack))
    return _signed(xxh3_64_intdigest(b"".join(pieces)))


def group_hash(topic_hashes: Mapping[str, int]) -> int:
    """The hash of the topics of a group that exist, by name; 0 where there are none."""
    if not topic_hashes:
        return 0
    ordered = sorted(topic_hashes.items(), key=lambda item: item[0].encode("utf-16-be"))
    return _signed(xxh3_64_intdigest(struct.pack(f"<{len(ordered)}q", *(value for _, value in ordered))))


def _string(text: str) -> bytes:
    units = text.encode("utf-16-le")
    return units + _INT.pack(len(units) // 2)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value
