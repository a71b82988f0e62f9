"""When members of consumer groups are given up: no heartbeat, partitions not given back, no second step of a join.

Each deadline belongs to one member under a key of its own. All of them end in the member being fenced; whether it is
still there, and in the epoch that was meant, is looked at when the time comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ottla.coordinators.consumer_group.group import ConsumerGroup
from ottla.coordinators.consumer_group.member import Member, MemberState
from ottla.coordinators.contract import Outcome
from ottla.coordinators.state import ShardState
from ottla.coordinators.timers import Timers
from ottla.wire.errors import KafkaError

# When to try again to remove a member, if that could not be written; Kafka waits as long.
RETRY_MS = 500

Fence = Callable[[ConsumerGroup, Member, int], Outcome[None]]


class Deadlines:
    """`fence` removes a member; it is given by whoever knows how."""

    def __init__(self, state: ShardState, fence: Fence) -> None:
        self._state = state
        self._fence = fence

    @property
    def _timers(self) -> Timers:
        return self._state.timers

    def start(self, group_id: str, members: Iterable[Member], session_timeout_ms: int, now_ms: int) -> None:
        """These members have their whole time from now on: their group was just loaded, or they were to go and stay."""
        for member in members:
            self.session(group_id, member.member_id, now_ms + session_timeout_ms)
            if member.state is MemberState.UNREVOKED_PARTITIONS:
                self.revocation(group_id, member, now_ms)

    def session(self, group_id: str, member_id: str, deadline_ms: int) -> None:
        """The next heartbeat has to come before that."""
        if not self._state.timers.put_off(("consumer-session", group_id, member_id), deadline_ms):
            self._fence_at(deadline_ms, "consumer-session", group_id, member_id)

    def revocation(self, group_id: str, member: Member, now_ms: int) -> None:
        """The member has to leave its epoch within its rebalance timeout, by giving back what it is asked for."""
        deadline_ms = now_ms + member.rebalance_timeout_ms
        self._fence_at(deadline_ms, "consumer-rebalance", group_id, member.member_id, epoch=member.epoch)

    def no_revocation(self, group_id: str, member_id: str) -> None:
        self._timers.cancel(("consumer-rebalance", group_id, member_id))

    def join(self, group_id: str, member: Member, now_ms: int) -> None:
        """A classic member that was told to join again has to; being told twice changes nothing."""
        if ("consumer-join", group_id, member.member_id) not in self._timers:
            deadline_ms = now_ms + member.rebalance_timeout_ms
            self._fence_at(deadline_ms, "consumer-join", group_id, member.member_id)

    def no_join(self, group_id: str, member_id: str) -> None:
        self._timers.cancel(("consumer-join", group_id, member_id))

    def sync(self, group_id: str, member_id: str, deadline_ms: int) -> None:
        """A classic member that joined has to ask for its assignment."""
        self._fence_at(deadline_ms, "consumer-sync", group_id, member_id)

    def no_sync(self, group_id: str, member_id: str) -> None:
        self._timers.cancel(("consumer-sync", group_id, member_id))

    def _fence_at(
        self, deadline_ms: int, kind: str, group_id: str, member_id: str, *, epoch: int | None = None
    ) -> None:
        def fence(now_ms: int) -> Outcome[None]:
            group = self._state.groups.get(group_id)
            member = group.members.get(member_id) if isinstance(group, ConsumerGroup) else None
            if member is None or (epoch is not None and member.epoch != epoch):
                return Outcome()
            assert isinstance(group, ConsumerGroup)
            outcome = self._fence(group, member, now_ms)
            first = outcome.then

            def then(error: KafkaError | None, now_ms: int) -> Outcome[None]:
                after = Outcome[None]() if first is None else first(error, now_ms)
                if error is not None:
                    self._fence_at(now_ms + RETRY_MS, kind, group_id, member_id, epoch=epoch)
                return after

            outcome.then = then
            return outcome

        self._timers.schedule((kind, group_id, member_id), deadline_ms, fence)
