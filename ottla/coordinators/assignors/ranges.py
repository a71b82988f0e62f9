"""The `range` assignor: each topic is cut into as many runs of partitions as it has subscribers.

Members stand in one order for all topics, static ones first by instance id, then the others by member id. So topics of
equal size and equal subscribers are cut alike, and partitions of one number go to one member (co-partitioning). Nothing
is sticky: a member that comes or goes shifts those behind it.
"""

from __future__ import annotations

from collections import Counter

from ottla.coordinators.assignors.spec import Assignable, Partitions, Subscriber


def assign_ranges(group: Assignable) -> dict[str, Partitions]:
    """What each member gets, by member id."""
    subscriber_counts = Counter(topic for subscriber in group.subscribers.values() for topic in subscriber.topics)
    served: Counter[bytes] = Counter()
    assignment: dict[str, Partitions] = {}
    for member_id, subscriber in sorted(group.subscribers.items(), key=_static_first):
        assignment[member_id] = _next_runs(subscriber, group, subscriber_counts, served)
    return assignment


def _next_runs(
    subscriber: Subscriber, group: Assignable, subscriber_counts: Counter[bytes], served: Counter[bytes]
) -> Partitions:
    runs = {}
    for topic in subscriber.topics:
        run = nth_run(served[topic], group.partition_counts[topic], subscriber_counts[topic])
        served[topic] += 1
        if run:
            runs[topic] = frozenset(run)
    return runs


def nth_run(nth: int, partition_count: int, subscriber_count: int) -> range:
    """The run of the nth subscriber; the first ones get one partition more where the count does not divide."""
    least, extra = divmod(partition_count, subscriber_count)
    start = nth * least + min(nth, extra)
    return range(start, start + least + (nth < extra))


def _static_first(item: tuple[str, Subscriber]) -> tuple[bool, str]:
    member_id, subscriber = item
    return subscriber.instance_id is None, subscriber.instance_id or member_id
