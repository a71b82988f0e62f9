"""A consumer group as the log tells of it (KIP-848): members, target assignment, resolved expressions, epochs.

Whatever is here comes from `replay.py`, apart from `refresh`, which is only a note of when to look at the topics again.
The group's epoch grows when members or topics change; the target assignment is that of its own, perhaps older, epoch;
each member moves to the target's epoch in steps of its own. What follows from the members (who holds a partition, which
subscriptions there are) is kept up with each of them, so that a heartbeat costs nothing that grows with the group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple, TypeVar

from ottla.coordinators.assignors.spec import NO_PARTITIONS, Partitions
from ottla.coordinators.consumer_group import commit_checks, tombstones
from ottla.coordinators.consumer_group.member import ClassicSide, Member
from ottla.coordinators.contract import Record
from ottla.coordinators.group import Group, GroupType, PartitionCheck
from ottla.coordinators.subscriptions import ResolvedRegex, Subscription, all_wanted_names
from ottla.wire.errors import ErrorCode, KafkaError

FIRST_EPOCH = 1
NO_TARGET_EPOCH = -1
TIMER_KINDS = ("consumer-session", "consumer-rebalance", "consumer-join", "consumer-sync")


class Refresh(NamedTuple):
    """Until when, and for which epoch, the topics of a group need no second look."""

    deadline_ms: int
    epoch: int


AT_ONCE = Refresh(0, 0)


class ConsumerGroup(Group):
    """`members` by id; `target` by member id; `resolved` by expression; `static_members` are ids by instance id.

    `size_max` is how many members there were at most.
    """

    type = GroupType.CONSUMER

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id)
        self.epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.members: dict[str, Member] = {}
        self.size_max = 0
        self.static_members: dict[str, str] = {}
        self.target: dict[str, Partitions] = {}
        self.target_epoch = FIRST_EPOCH
        self.target_timestamp_ms = 0
        self.resolved: dict[str, ResolvedRegex] = {}
        # Kafka before 4.1 kept the topics themselves; such a record is deleted when the group next changes.
        self.has_old_topics_record = False
        self.subscriptions: Counter[Subscription] = Counter()
        self.regexes: frozenset[str] = frozenset()
        self.assignors: Counter[str] = Counter()
        self.classic_protocols: Counter[str] = Counter()
        self.classic_count = 0
        self.refresh = AT_ONCE
        self._holders: dict[bytes, dict[int, str]] = {}
        self._wanted_names: frozenset[str] | None = None

    # -- what replay changes ------------------------------------------------------------------------------------------

    def put_member(self, member: Member) -> None:
        old = self.members.get(member.member_id)
        self.members[member.member_id] = member
        if old is None:
            self.size_max = max(self.size_max, len(self.members))
            self._count(member, +1)
        else:
            if wishes_of(old) != wishes_of(member):  # most of what is written are steps to a target
                self._count(old, -1)
                self._count(member, +1)
            self._release(old)
        self._hold(member)
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id

    def remove_member(self, member_id: str) -> None:
        member = self.members.pop(member_id)
        self._count(member, -1)
        self._release(member)

    def put_resolved(self, regex: str, resolved: ResolvedRegex | None) -> None:
        if resolved is None:
            self.resolved.pop(regex, None)
        else:
            self.resolved[regex] = resolved
        self._wanted_names = None

    def _hold(self, member: Member) -> None:
        for held in (member.assigned, member.pending_revocation):
            for topic, partitions in held.items():
                self._holders.setdefault(topic, {}).update(dict.fromkeys(partitions, member.member_id))

    def _release(self, member: Member) -> None:
        for held in (member.assigned, member.pending_revocation):
            for topic, partitions in held.items():
                holders = self._holders.get(topic, {})
                for partition in partitions:
                    # A log that was compacted may tell of the next holder first.
                    if holders.get(partition) == member.member_id:
                        del holders[partition]
                        if not holders:
                            del self._holders[topic]
        # Another may have taken over the instance id before this record came.
        if member.instance_id is not None and self.static_members.get(member.instance_id) == member.member_id:
            del self.static_members[member.instance_id]

    def _count(self, member: Member, by: int) -> None:
        _add(self.subscriptions, member.subscription, by)
        if member.assignor is not None:
            _add(self.assignors, member.assignor, by)
        if member.classic is not None:
            self.classic_count += by
            for name, _ in member.classic.protocols:
                _add(self.classic_protocols, name, by)
        self.regexes = frozenset(subscription.regex for subscription in self.subscriptions if subscription.regex)
        self._wanted_names = None

    # -- what follows from it -----------------------------------------------------------------------------------------

    def member(self, member_id: str) -> Member:
        """The member with this id, or KafkaError(UNKNOWN_MEMBER_ID)."""
        member = self.members.get(member_id)
        if member is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"{member_id} is not a member of group {self.group_id}")
        return member

    def static_member(self, instance_id: str | None) -> Member | None:
        member_id = self.static_members.get(instance_id) if instance_id is not None else None
        return None if member_id is None else self.members[member_id]

    def target_of(self, member_id: str) -> Partitions:
        return self.target.get(member_id, NO_PARTITIONS)

    def is_held(self, topic: bytes, partition: int) -> bool:
        """Whether a member has the partition, or has not said yet that it gave it back."""
        return partition in self._holders.get(topic, ())

    def regex_count(self, regex: str) -> int:
        """How many members subscribe with this expression."""
        return sum(count for subscription, count in self.subscriptions.items() if subscription.regex == regex)

    @property
    def wanted_names(self) -> frozenset[str]:
        if self._wanted_names is None:
            self._wanted_names = all_wanted_names(self.subscriptions, self.resolved)
        return self._wanted_names

    def needs_refresh(self, now_ms: int) -> bool:
        return now_ms >= self.refresh.deadline_ms or self.epoch < self.refresh.epoch

    # -- as the shard sees it -----------------------------------------------------------------------------------------

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def state_text(self) -> str:
        if not self.members:
            return "Empty"
        if self.epoch > self.target_epoch:
            return "Assigning"
        reconciled = all(member.is_reconciled_to(self.target_epoch) for member in self.members.values())
        return "Stable" if reconciled else "Reconciling"

    @property
    def protocol_type(self) -> str:
        return "consumer"

    def check_offset_commit(
        self, member_id: str, instance_id: str | None, generation_or_epoch: int, *, is_transactional: bool, version: int
    ) -> PartitionCheck | None:
        if generation_or_epoch < 0 and not self.members:
            return None
        if is_transactional and generation_or_epoch == -1 and not member_id and instance_id is None:
            return None
        return commit_checks.for_member(
            self.member(member_id), generation_or_epoch, is_transactional=is_transactional, version=version
        )

    def check_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        if member_id is not None or member_epoch >= 0:
            commit_checks.same_epoch(self.member(member_id or ""), member_epoch)

    def check_offset_delete(self) -> None:
        """Always: what the group is subscribed to is checked by topic."""

    def check_delete(self) -> None:
        if self.members:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.wanted_names

    def expires_from_ms(self, commit_timestamp_ms: int) -> int | None:
        return commit_timestamp_ms

    def tombstones(self) -> list[Record]:
        return tombstones.of_group(self.group_id, self.members, self.resolved)

    def timer_keys(self) -> list[object]:
        return [("consumer-regex", self.group_id)] + [
            (kind, self.group_id, member_id) for kind in TIMER_KINDS for member_id in self.members
        ]


T = TypeVar("T")


def _add(counter: Counter[T], what: T, by: int) -> None:
    counter[what] += by
    if not counter[what]:
        del counter[what]


def wishes_of(member: Member) -> tuple[Subscription, str | None, ClassicSide | None]:
    """What the members of a group are counted by."""
    return member.subscription, member.assignor, member.classic


def held_by(member: Member) -> Iterator[tuple[bytes, int]]:
    """What nobody else may get: what the member has, and what it has not given back yet."""
    for held in (member.assigned, member.pending_revocation):
        for topic, partitions in held.items():
            for partition in partitions:
                yield topic, partition
