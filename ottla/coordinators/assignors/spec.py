"""What an assignor is given and what it gives back.

Topics are ids, partitions are numbers. An assignor knows no epochs, no names, no patterns and no time: it maps members
and their topics to partitions, and is handed what each member was to have until now so that little moves.

Kafka's assignors go over hash maps, so its choice among equals is an accident of hashing. Ours go over members by id
and over topics by id: the same group gets the same assignment on whichever broker coordinates it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

Partitions = Mapping[bytes, frozenset[int]]
"""Partition numbers by topic id; a topic without partitions is absent."""

NO_PARTITIONS: Partitions = {}


class Subscriber(NamedTuple):
    """A member as assignors see it: the topics it wants that exist, and what it was to have until now."""

    topics: frozenset[bytes]
    assigned: Partitions = NO_PARTITIONS
    instance_id: str | None = None
    rack_id: str | None = None


@dataclass(frozen=True, slots=True)
class Assignable:
    """A group to be assigned. Every topic that a subscriber names is in `partition_counts`.

    `alike` says that all members want the same topics, which makes the work much cheaper.
    """

    subscribers: Mapping[str, Subscriber]
    partition_counts: Mapping[bytes, int]
    alike: bool


Assignor = Callable[[Assignable], dict[str, Partitions]]

_SIGNED_HALVES = struct.Struct(">qq")


def by_topic_id(topics: Iterable[bytes]) -> list[bytes]:
    """Topics in the order of Kafka's Uuid, whose halves are signed numbers."""
    return sorted(topics, key=_SIGNED_HALVES.unpack)
