"""A member of a consumer group: what it said about itself, and where it stands on the way to its target.

Members are values: a change makes a new one. They are tuples, since every heartbeat compares and copies one. Which
partitions a member has is kept with the epoch in which it got each, so that a commit with an older epoch is good for
partitions it had by then (KIP-1251). A member with `classic` speaks the classic protocol inside a consumer group; its
epoch is its generation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from ottla.coordinators.subscriptions import NOTHING, Subscription

EpochedPartitions = Mapping[bytes, Mapping[int, int]]
"""Topic id to partition to the epoch in which the member got it; a topic without partitions is absent."""

NOTHING_HELD: EpochedPartitions = {}

JOINING_EPOCH = 0
LEFT_EPOCH = -1
LEFT_STATIC_EPOCH = -2


class MemberState(IntEnum):
    """Where a member stands, with the numbers that are stored."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127

    @classmethod
    def of(cls, number: int) -> MemberState:
        """The state with this number; one that only a later Kafka knows is UNKNOWN."""
        return _STATES.get(number, cls.UNKNOWN)


_STATES = {int(state): state for state in MemberState}
# There are two for each step of a member: a named tuple made as a bare one takes half the time.
_new = tuple.__new__


@dataclass(frozen=True, slots=True)
class ClassicSide:
    """What a member that speaks the classic protocol said when it joined: its protocols, the preferred one first."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]


class Member(NamedTuple):
    """A member as the log tells of it."""

    member_id: str
    epoch: int = JOINING_EPOCH
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    subscription: Subscription = NOTHING
    assignor: str | None = None
    assigned: EpochedPartitions = NOTHING_HELD
    pending_revocation: EpochedPartitions = NOTHING_HELD
    classic: ClassicSide | None = None

    def at_epoch(
        self, epoch: int, state: MemberState, assigned: EpochedPartitions, pending_revocation: EpochedPartitions
    ) -> Member:
        """The member one step further on; the epoch it comes from is remembered as its previous one."""
        return self.standing(epoch, self.epoch, state, assigned, pending_revocation)

    def standing(
        self,
        epoch: int,
        previous_epoch: int,
        state: MemberState,
        assigned: EpochedPartitions,
        pending_revocation: EpochedPartitions,
    ) -> Member:
        """The member where these say that it stands. Each step comes by here twice, and `_replace` is slow."""
        return _new(
            Member,
            (
                self.member_id,
                epoch,
                previous_epoch,
                state,
                self.instance_id,
                self.rack_id,
                self.rebalance_timeout_ms,
                self.client_id,
                self.client_host,
                self.subscription,
                self.assignor,
                assigned,
                pending_revocation,
                self.classic,
            ),
        )

    def saying(
        self,
        instance_id: str | None,
        rack_id: str | None,
        rebalance_timeout_ms: int,
        client_id: str,
        client_host: str,
        subscription: Subscription,
        assignor: str | None,
        classic: ClassicSide | None,
    ) -> Member:
        """The member as it describes itself now, standing where it stood. Each join comes by here twice."""
        return _new(
            Member,
            (
                self.member_id,
                self.epoch,
                self.previous_epoch,
                self.state,
                instance_id,
                rack_id,
                rebalance_timeout_ms,
                client_id,
                client_host,
                subscription,
                assignor,
                self.assigned,
                self.pending_revocation,
                classic,
            ),
        )

    def is_reconciled_to(self, epoch: int) -> bool:
        """Whether it has all of the target of an epoch and nothing else."""
        return self.state is MemberState.STABLE and self.epoch == epoch

    def epoch_of(self, topic: bytes, partition: int) -> int | None:
        """The epoch in which it got a partition that it has, or is to give back; None if it has it not."""
        for held in (self.assigned, self.pending_revocation):
            if partition in held.get(topic, ()):
                return held[topic][partition]
        return None
