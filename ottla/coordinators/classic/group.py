"""A classic group: its members, its state, its generation, and who waits for an answer.

Keeps its own tables consistent and knows which states may follow which. When a group rebalances, what is written and
what is answered is decided in the modules beside this one. The same object lives from JoinGroup to tombstone, since
most of it is in memory only; loading makes a new one from the last GroupMetadata record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from ottla.coordinators.classic.member import Member, Protocols
from ottla.coordinators.contract import Record
from ottla.coordinators.group import Group, GroupType, PartitionCheck
from ottla.coordinators.java_strings import hash_map_order
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.stored.classic_group_records import GroupMetadataKey
from ottla.wire.stored.consumer_protocol import ConsumerProtocolSubscription

CONSUMER_PROTOCOL_TYPE = "consumer"
_EMBEDDED_VERSION_BYTES = 2


class ClassicState(StrEnum):
    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


TRANSITIONS: dict[ClassicState, frozenset[ClassicState]] = {
    ClassicState.EMPTY: frozenset({ClassicState.PREPARING, ClassicState.DEAD}),
    ClassicState.PREPARING: frozenset({ClassicState.COMPLETING, ClassicState.EMPTY, ClassicState.DEAD}),
    ClassicState.COMPLETING: frozenset({ClassicState.STABLE, ClassicState.PREPARING, ClassicState.DEAD}),
    ClassicState.STABLE: frozenset({ClassicState.PREPARING, ClassicState.DEAD}),
    ClassicState.DEAD: frozenset(),
}


class ClassicGroup(Group):
    type = GroupType.CLASSIC

    def __init__(
        self,
        group_id: str,
        *,
        state: ClassicState = ClassicState.EMPTY,
        state_timestamp_ms: int | None = None,
        generation: int = 0,
        protocol_type: str | None = None,
        protocol: str | None = None,
        leader: str | None = None,
    ) -> None:
        super().__init__(group_id)
        self.state = state
        self.previous_state = ClassicState.DEAD
        self.state_timestamp_ms = state_timestamp_ms
        self.generation = generation
        self.group_protocol_type = protocol_type
        self.protocol = protocol
        self.leader = leader
        self.members: dict[str, Member] = {}
        self.static_ids: dict[str, str] = {}
        # Ids that were handed out (KIP-394) and have not come back yet.
        self.pending_join: set[str] = set()
        # Who has not sent SyncGroup since the generation began.
        self.pending_sync: set[str] = set()
        # Requests that wait, by member: whoever is in here gets an answer.
        self.join_tokens: dict[str, Any] = {}
        self.sync_tokens: dict[str, Any] = {}
        # While the first rebalance is delayed: whether somebody came since the delay was last looked at.
        self.has_newcomer = False
        self.subscribed_topics: frozenset[str] | None = None
        self._protocol_counts: Counter[str] = Counter()

    def __repr__(self) -> str:
        return f"ClassicGroup({self.group_id}, {self.state}, generation {self.generation}, {len(self.members)} members)"

    # What any group can be asked

    @property
    def is_empty(self) -> bool:
        return self.state is ClassicState.EMPTY

    @property
    def state_text(self) -> str:
        return self.state.value

    @property
    def protocol_type(self) -> str:
        return self.group_protocol_type or ""

    def check_offset_commit(
        self, member_id: str, instance_id: str | None, generation_or_epoch: int, *, is_transactional: bool, version: int
    ) -> PartitionCheck | None:
        if generation_or_epoch < 0 and self.is_empty:
            return None  # an administrator, or a consumer that assigns its partitions itself
        if generation_or_epoch >= 0 or member_id or instance_id is not None:
            self.check_member(member_id, instance_id)
            self.check_generation(generation_or_epoch)
        elif not is_transactional and not self.is_empty:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"{self.group_id} has members, this is none of them")
        if not is_transactional and self.state is ClassicState.COMPLETING:
            raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
        return None

    def check_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Anybody may."""

    def check_offset_delete(self) -> None:
        if not self.is_empty and not self.uses_consumer_protocol:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)

    def check_delete(self) -> None:
        if not self.is_empty:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)

    def is_subscribed_to(self, topic: str) -> bool:
        if self.subscribed_topics is None:
            return self.uses_consumer_protocol
        return topic in self.subscribed_topics

    def expires_from_ms(self, commit_timestamp_ms: int) -> int | None:
        if self.group_protocol_type is None:
            return commit_timestamp_ms
        if self.is_empty:
            return commit_timestamp_ms if self.state_timestamp_ms is None else self.state_timestamp_ms
        if self.state is ClassicState.STABLE and self.uses_consumer_protocol and self.subscribed_topics is not None:
            return commit_timestamp_ms
        return None

    def tombstones(self) -> list[Record]:
        return [Record(GroupMetadataKey(group=self.group_id), None)]

    def timer_keys(self) -> list[object]:
        sessions = [self.session_key(member_id) for member_id in (*self.members, *self.pending_join)]
        return [self.join_key, self.sync_key, *sessions]

    # Timers

    @property
    def join_key(self) -> tuple[str, str]:
        return "classic-join", self.group_id

    @property
    def sync_key(self) -> tuple[str, str]:
        return "classic-sync", self.group_id

    def session_key(self, member_id: str) -> tuple[str, str, str]:
        return "classic-session", self.group_id, member_id

    # State and generation

    @property
    def uses_consumer_protocol(self) -> bool:
        return self.group_protocol_type == CONSUMER_PROTOCOL_TYPE

    @property
    def can_rebalance(self) -> bool:
        return ClassicState.PREPARING in TRANSITIONS[self.state]

    @property
    def rebalance_timeout_ms(self) -> int:
        """The slowest member's."""
        return max(0, 0, *(member.rebalance_timeout_ms for member in self.members.values()))

    def move_to(self, state: ClassicState, now_ms: int) -> None:
        assert state in TRANSITIONS[self.state], f"{self.group_id}: from {self.state} to {state}"
        self.previous_state, self.state = self.state, state
        self.state_timestamp_ms = now_ms

    def next_generation(self, now_ms: int) -> None:
        # Java's int; a group that rebalanced two billion times begins again.
        self.generation = self.generation + 1 if self.generation < 2**31 - 1 else 0
        self.protocol = self.select_protocol() if self.members else None
        self.find_subscribed_topics()
        self.move_to(ClassicState.COMPLETING if self.members else ClassicState.EMPTY, now_ms)
        self.pending_sync.clear()

    # Members

    def check_member(self, member_id: str, instance_id: str | None) -> None:
        if instance_id is not None:
            known = self.static_ids.get(instance_id)
            if known is None:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"{self.group_id} has no static member {instance_id}")
            if known != member_id:
                raise KafkaError(ErrorCode.FENCED_INSTANCE_ID)
        if member_id not in self.members:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"{self.group_id} has no member {member_id}")

    def check_generation(self, generation: int) -> None:
        if generation != self.generation:
            reason = f"{self.group_id} has generation {self.generation}, not {generation}"
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION, reason)

    def add(self, member: Member, join_token: Any = None) -> None:
        assert member.member_id not in self.members, member
        if member.instance_id is not None:
            assert member.instance_id not in self.static_ids, member
            self.static_ids[member.instance_id] = member.member_id
        if not self.members:
            self.group_protocol_type = member.protocol_type
        assert self.group_protocol_type == member.protocol_type, member
        if self.leader is None:
            self.leader = member.member_id
        self.members[member.member_id] = member
        self._protocol_counts.update(member.protocols.keys())
        if join_token is not None:
            self.join_tokens[member.member_id] = join_token
        self.pending_join.discard(member.member_id)

    def remove(self, member_id: str) -> None:
        """Take out a member, or an id that was handed out. Whoever waits must have been answered."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._uncount(member.protocols)
            if member.instance_id is not None:
                del self.static_ids[member.instance_id]
        if self.leader == member_id:
            self.leader = min(self.members, key=hash_map_order, default=None)
        self.pending_join.discard(member_id)
        self.pending_sync.discard(member_id)
        assert member_id not in self.join_tokens, f"{member_id} still waits for its JoinGroup"

    def update(self, member: Member, protocols: Protocols, rebalance_timeout_ms: int, session_timeout_ms: int) -> None:
        self._uncount(member.protocols)
        member.protocols = protocols
        self._protocol_counts.update(protocols.keys())
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms

    def replace_static(self, old_id: str, new_id: str) -> Member:
        """The static member comes back under a new id; it keeps its place, its assignment and the lead."""
        old = self.members.pop(old_id)
        assert old.instance_id is not None
        member = self.members[new_id] = old.renamed(new_id)
        self.static_ids[old.instance_id] = new_id
        if self.leader == old_id:
            self.leader = new_id
        if old_id in self.pending_sync:
            self.pending_sync.discard(old_id)
            self.pending_sync.add(new_id)
        return member

    @property
    def have_all_joined(self) -> bool:
        return len(self.members) == len(self.join_tokens) and not self.pending_join

    def elect_joined_leader(self) -> bool:
        """Make sure that the leader is one of those who wait for the generation; False if nobody does."""
        if self.leader is None:
            return False
        if self.leader in self.join_tokens:
            return True
        joined = min((id_ for id_ in self.members if id_ in self.join_tokens), key=hash_map_order, default=None)
        if joined is None:
            return False
        self.leader = joined
        return True

    # Protocols

    def supports(self, protocol_type: str, names: Iterable[str]) -> bool:
        """Whether a member with these protocols can work with those who are here."""
        if self.is_empty:
            return bool(protocol_type) and any(True for _ in names)
        everyone = len(self.members)
        return self.group_protocol_type == protocol_type and any(
            self._protocol_counts[name] == everyone for name in names
        )

    def select_protocol(self) -> str:
        """What all can do and most prefer. A tie goes the way it goes in Kafka."""
        candidates = {name for name, count in self._protocol_counts.items() if count == len(self.members)}
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return min(votes, key=lambda name: (-votes[name], hash_map_order(name)))

    def _uncount(self, names: Iterable[str]) -> None:
        for name in names:
            self._protocol_counts[name] -= 1
            if not self._protocol_counts[name]:
                del self._protocol_counts[name]  # names come from clients, and may come in any number

    def find_subscribed_topics(self) -> None:
        """What the members say that they consume, if they are consumers and can be understood."""
        self.subscribed_topics = None
        if not self.uses_consumer_protocol:
            return
        if not self.members:
            self.subscribed_topics = frozenset()
        elif self.protocol is not None:
            try:
                self.subscribed_topics = frozenset(
                    topic for member in self.members.values() for topic in topics_of(member.metadata(self.protocol))
                )
            except KafkaError:
                return


def topics_of(subscription: bytes) -> list[str]:
    """The topics in a consumer's subscription. Version 0 is the beginning of every version."""
    if len(subscription) < _EMBEDDED_VERSION_BYTES:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "a subscription without a version")
    return ConsumerProtocolSubscription.decode(subscription, 0, _EMBEDDED_VERSION_BYTES).topics
