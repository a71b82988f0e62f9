"""The target assignment of a group: what each of its members is to have, and the records that say what is new in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from ottla.coordinators.assignors import ASSIGNORS
from ottla.coordinators.assignors.spec import NO_PARTITIONS, Assignable, Partitions, Subscriber
from ottla.coordinators.consumer_group import records
from ottla.coordinators.consumer_group.group import ConsumerGroup
from ottla.coordinators.consumer_group.member import Member
from ottla.coordinators.consumer_group.surroundings import Surroundings
from ottla.coordinators.contract import Record
from ottla.coordinators.subscriptions import wanted_names


class Target(NamedTuple):
    """What a member is to have, from which epoch on."""

    epoch: int
    partitions: Partitions


def may_be_computed(group: ConsumerGroup, interval_ms: int, now_ms: int) -> bool:
    """Whether the last target is old enough for a new one; a storm of joins is assigned once in the interval."""
    return not group.target_timestamp_ms or not interval_ms or now_ms >= group.target_timestamp_ms + interval_ms


def preferred_assignor(group: ConsumerGroup, old: Member | None, new: Member, default: str) -> str:
    """The assignor that most members ask for once `new` has come in the place of `old`."""
    if not group.assignors and new.assignor is None:
        return default
    votes = Counter(group.assignors)
    if old is not None and old.assignor is not None:
        votes[old.assignor] -= 1
    if new.assignor is not None:
        votes[new.assignor] += 1
    return most_wanted_assignor(votes, default)


def most_wanted_assignor(votes: Mapping[str, int], default: str) -> str:
    """The assignor with most votes, `uniform` among equals; the default if there are none.

    Members that came with the log of another broker may ask for one that is not here: they are not heard.
    """
    heard = [name for name in sorted(votes, reverse=True) if votes[name] > 0 and name in ASSIGNORS]
    return max(heard, key=lambda name: votes[name]) if heard else default


def next_target(
    group: ConsumerGroup, member: Member, assignor: str, alike: bool, around: Surroundings
) -> dict[str, Partitions]:
    """What each member is to have, with `member` in place of what the group has of it or of its instance id."""
    previous = group.static_members.get(member.instance_id) if member.instance_id is not None else None
    assigned = group.target_of(previous or member.member_id)
    members = {id_: known for id_, known in group.members.items() if id_ != previous} | {member.member_id: member}
    ids: dict[object, frozenset[bytes]] = {}
    subscribers = {}
    for id_, known in members.items():
        if known.subscription not in ids:
            ids[known.subscription] = around.topic_ids(wanted_names(known.subscription, group.resolved))
        subscribers[id_] = Subscriber(
            topics=ids[known.subscription],
            assigned=assigned if id_ == member.member_id else group.target_of(id_),
            instance_id=known.instance_id,
            rack_id=known.rack_id,
        )
    assignable = Assignable(subscribers, _partition_counts(ids, around), alike)
    found = ASSIGNORS[assignor](assignable)
    return {id_: found.get(id_, NO_PARTITIONS) for id_ in sorted(members)}


def _partition_counts(ids: Mapping[object, frozenset[bytes]], around: Surroundings) -> dict[bytes, int]:
    counts = {}
    for topic_id in frozenset[bytes]().union(*ids.values()):
        topic = around.state.topics.by_id(topic_id)
        assert topic is not None, "its id was found by its name"
        counts[topic_id] = topic.partition_count
    return counts


def changes(group: ConsumerGroup, epoch: int, target: Mapping[str, Partitions], now_ms: int) -> list[Record]:
    """The records that turn the group's target into this one."""
    return [
        *(
            records.target_member(group.group_id, member_id, partitions)
            for member_id, partitions in target.items()
            if member_id not in group.target or group.target[member_id] != partitions
        ),
        records.target_epoch(group.group_id, epoch, now_ms),
    ]
