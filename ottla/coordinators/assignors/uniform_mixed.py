"""The `uniform` assignor where members want different topics.

Each member keeps what it has of the topics it wants. Partitions without an owner go topic by topic to the subscriber
with the fewest partitions of all. Then each topic is levelled among its subscribers, from those with most partitions to
those with fewest, until a round over all topics moves nothing, or for sixteen rounds: where subscriptions overlap
without being equal the last bits of balance are not worth the time.
"""

from __future__ import annotations

from collections import defaultdict

from ottla.coordinators.assignors.load_ranges import LoadRanges
from ottla.coordinators.assignors.spec import Assignable, Partitions, by_topic_id

ROUNDS_MAX = 16
NOBODY = -1


def assign_mixed(group: Assignable) -> dict[str, Partitions]:
    """What each member gets, by member id."""
    work = _Work(group)
    work.keep_what_is_wanted()
    work.hand_out_the_rest()
    work.level()
    return work.result()


class _Work:
    """An assignment under construction: members are numbered in the order of their ids."""

    def __init__(self, group: Assignable) -> None:
        self.group = group
        self.member_ids = sorted(group.subscribers)
        self.loads = [0] * len(self.member_ids)
        self.subscribers: dict[bytes, list[int]] = defaultdict(list)
        for member, member_id in enumerate(self.member_ids):
            for topic in group.subscribers[member_id].topics:
                self.subscribers[topic].append(member)
        self.owners = {topic: [NOBODY] * group.partition_counts[topic] for topic in self.subscribers}
        self.topics = sorted(by_topic_id(self.subscribers), key=self.rank)

    def rank(self, topic: bytes) -> tuple[float, int]:
        """Topics with most partitions for each subscriber come first, then those with few subscribers."""
        subscriber_count = len(self.subscribers[topic])
        return -(self.group.partition_counts[topic] / subscriber_count), subscriber_count

    def keep_what_is_wanted(self) -> None:
        for member, member_id in enumerate(self.member_ids):
            subscriber = self.group.subscribers[member_id]
            for topic, partitions in subscriber.assigned.items():
                if topic in subscriber.topics:
                    for partition in partitions:
                        self.give(topic, partition, member)

    def hand_out_the_rest(self) -> None:
        for topic in self.topics:
            free = [partition for partition, owner in enumerate(self.owners[topic]) if owner == NOBODY]
            if free:
                order = LoadRanges(self.subscribers[topic], self.loads)
                for partition in free:
                    self.give(topic, partition, order.next_least())

    def level(self) -> None:
        topics = [topic for topic in self.topics if len(self.subscribers[topic]) > 1]
        last_moved = None
        for _ in range(ROUNDS_MAX):
            for topic in topics:
                if topic == last_moved:
                    return  # a whole round since then moved nothing
                if self.level_topic(topic) or last_moved is None:
                    last_moved = topic

    def level_topic(self, topic: bytes) -> int:
        """Move partitions of a topic from the most to the least loaded of its subscribers; says how many."""
        order = LoadRanges(self.subscribers[topic], self.loads)
        if order.spread <= 1:
            return 0
        moved = 0
        movable: dict[int, list[int]] = defaultdict(list)
        for partition, owner in enumerate(self.owners[topic]):
            movable[owner].append(partition)
        while True:
            giver = order.next_most()
            while giver is not None and not movable[giver]:
                order.exclude_last_most()
                giver = order.next_most()
            if giver is None:
                return moved
            partition = movable[giver].pop()
            taker = order.next_least()
            if order.is_balanced():
                return moved
            self.give(topic, partition, taker)
            moved += 1

    def give(self, topic: bytes, partition: int, member: int) -> None:
        owner = self.owners[topic][partition]
        if owner != NOBODY:
            self.loads[owner] -= 1
        self.owners[topic][partition] = member
        self.loads[member] += 1

    def result(self) -> dict[str, Partitions]:
        found: list[dict[bytes, set[int]]] = [{} for _ in self.member_ids]
        for topic, owners in self.owners.items():
            for partition, owner in enumerate(owners):
                found[owner].setdefault(topic, set()).add(partition)
        return {
            member_id: {topic: frozenset(partitions) for topic, partitions in found[member].items()}
            for member, member_id in enumerate(self.member_ids)
        }
