"""The `uniform` assignor: every member gets as many partitions as any other, give or take one, and keeps what it has.

Here is the case that nearly all groups are in, all members wanting the same topics; the other is uniform_mixed.py.
Every member may hold `total // members` partitions, and `total % members` of them one more. What a member has beyond
that, or of topics nobody wants any more, is taken away; what nobody has goes to those with room, in order.
"""

from __future__ import annotations

from collections.abc import Iterator

from ottla.coordinators.assignors.spec import Assignable, Partitions, by_topic_id
from ottla.coordinators.assignors.uniform_mixed import assign_mixed


def assign_uniformly(group: Assignable) -> dict[str, Partitions]:
    """What each member gets, by member id; no entry where no topic exists that anyone wants."""
    if not any(subscriber.topics for subscriber in group.subscribers.values()):
        return {}
    return _assign_alike(group) if group.alike else assign_mixed(group)


def _assign_alike(group: Assignable) -> dict[str, Partitions]:
    topics = by_topic_id(next(iter(group.subscribers.values())).topics)
    total = sum(group.partition_counts[topic] for topic in topics)
    least, extra = divmod(total, len(group.subscribers))
    free = list(_unassigned(group, topics))
    wanted = frozenset(topics)

    assignment: dict[str, Partitions] = {}
    room: dict[str, int] = {}
    waiting = len(group.subscribers)
    for member_id in sorted(group.subscribers):
        kept, left = _keep(group.subscribers[member_id].assigned, wanted, least + (extra > 0), free)
        takes_extra = extra > 0
        # One who does not fill the place of an extra partition leaves it to the next, while enough are to come.
        if left > 0 and takes_extra and waiting > extra:
            left -= 1
            takes_extra = False
        extra -= takes_extra
        waiting -= 1
        assignment[member_id] = kept
        if left > 0:
            room[member_id] = left

    handed_out = iter(free)
    for member_id, left in room.items():
        assignment[member_id] = _with_more(assignment[member_id], handed_out, left)
    assert next(handed_out, None) is None, "the quotas add up to the partitions"
    return assignment


def _unassigned(group: Assignable, topics: list[bytes]) -> Iterator[tuple[bytes, int]]:
    assigned: dict[bytes, set[int]] = {topic: set() for topic in topics}
    for subscriber in group.subscribers.values():
        for topic, partitions in subscriber.assigned.items():
            if topic in assigned:
                assigned[topic] |= partitions
    for topic in topics:
        for partition in range(group.partition_counts[topic]):
            if partition not in assigned[topic]:
                yield topic, partition


def _keep(
    assigned: Partitions, wanted: frozenset[bytes], quota: int, free: list[tuple[bytes, int]]
) -> tuple[Partitions, int]:
    """What stays with a member, and how much room it has left; what exceeds the quota is appended to `free`."""
    kept: dict[bytes, frozenset[int]] = {}
    for topic in by_topic_id(assigned):
        if topic not in wanted:
            continue
        partitions = assigned[topic]
        if len(partitions) > quota:
            ordered = sorted(partitions)
            free.extend((topic, partition) for partition in ordered[quota:])
            partitions = frozenset(ordered[:quota])
        quota -= len(partitions)
        if partitions:
            kept[topic] = partitions
    return kept, quota


def _with_more(kept: Partitions, handed_out: Iterator[tuple[bytes, int]], count: int) -> Partitions:
    grown = {topic: set(partitions) for topic, partitions in kept.items()}
    for _, (topic, partition) in zip(range(count), handed_out, strict=False):
        grown.setdefault(topic, set()).add(partition)
    return {topic: frozenset(partitions) for topic, partitions in grown.items()}
