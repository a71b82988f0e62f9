"""How a classic group gets from one generation to the next, and who is dropped on the way.

Preparing: members are called back by their heartbeats and wait with a JoinGroup each, until all are there or the
rebalance timeout has passed. Completing: the generation is told, the leader assigns, members wait with a SyncGroup
each. A new group waits a moment at first, longer while new members keep coming (KIP-134).

Every function adds to an outcome that is being made. Requests themselves are read in the modules beside this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ottla.coordinators.classic.answers import NO_MEMBER, join_refused, joined, sync_refused, synced
from ottla.coordinators.classic.group import ClassicGroup, ClassicState
from ottla.coordinators.classic.member import Member
from ottla.coordinators.classic.records import group_record
from ottla.coordinators.contract import Answer, Outcome
from ottla.coordinators.state import ShardState
from ottla.coordinators.timers import Action
from ottla.wire.errors import ErrorCode

RETRY_MS_MIN = 1_000


def memory_outcome() -> Outcome[Any]:
    """An outcome whose records only say what is in memory already."""
    return Outcome(is_replayed=False)


class Rebalancer:
    def __init__(self, state: ShardState) -> None:
        self._state = state

    def is_here(self, group: ClassicGroup) -> bool:
        """Whether the group is still the one of its name."""
        return self._state.groups.get(group.group_id) is group

    # Preparing

    def prepare_or_complete(self, group: ClassicGroup, now_ms: int, out: Outcome[Any]) -> None:
        if group.can_rebalance:
            self.prepare(group, now_ms, out)
        else:
            self.complete_if_joined(group, now_ms, out)

    def prepare(self, group: ClassicGroup, now_ms: int, out: Outcome[Any]) -> None:
        """A new generation is needed."""
        if group.state is ClassicState.COMPLETING:
            self.refuse_assignment(group, ErrorCode.REBALANCE_IN_PROGRESS, now_ms, out)
        group.pending_sync.clear()
        self._state.timers.cancel(group.sync_key)
        is_initial = group.is_empty
        group.move_to(ClassicState.PREPARING, now_ms)
        if is_initial:
            delay_ms = self._state.settings.classic_initial_rebalance_delay_ms
            self._delay_first(group, now_ms, delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0))
        elif group.have_all_joined:
            self.complete_join(group, now_ms, out)
        else:
            self._wait_for_members(group, now_ms, group.rebalance_timeout_ms)

    def _delay_first(self, group: ClassicGroup, now_ms: int, delay_ms: int, remaining_ms: int) -> None:
        def end(now_ms: int, out: Outcome[Any]) -> None:
            if group.has_newcomer and remaining_ms:
                group.has_newcomer = False
                next_delay_ms = min(self._state.settings.classic_initial_rebalance_delay_ms, remaining_ms)
                self._delay_first(group, now_ms, next_delay_ms, max(remaining_ms - delay_ms, 0))
            else:
                self.complete_join(group, now_ms, out)

        self._state.timers.schedule(group.join_key, now_ms + delay_ms, self._for(group, end))

    def _wait_for_members(self, group: ClassicGroup, now_ms: int, wait_ms: int) -> None:
        def end(now_ms: int, out: Outcome[Any]) -> None:
            self.complete_join(group, now_ms, out)

        self._state.timers.schedule(group.join_key, now_ms + wait_ms, self._for(group, end))

    def complete_if_joined(self, group: ClassicGroup, now_ms: int, out: Outcome[Any]) -> None:
        """The first rebalance ends with its delay, however many have joined."""
        if group.state is not ClassicState.PREPARING or group.previous_state is ClassicState.EMPTY:
            return
        if group.have_all_joined:
            self.complete_join(group, now_ms, out)

    def complete_join(self, group: ClassicGroup, now_ms: int, out: Outcome[Any]) -> None:
        """Whoever waits is in; static members may be late, others that did not come are out."""
        self._state.timers.cancel(group.join_key)
        late = [member for member in group.members.values() if member.member_id not in group.join_tokens]
        for member in late:
            if not member.is_static:
                self.drop(group, member.member_id)
        if not group.elect_joined_leader() and group.members:
            # Until sessions have expired. A timeout of nothing, which clients may ask for, must not keep us busy.
            self._wait_for_members(group, now_ms, max(group.rebalance_timeout_ms, RETRY_MS_MIN))
            return
        group.next_generation(now_ms)
        if group.is_empty:
            out.records.append(group_record(group, {}))
            return
        for member in group.members.values():
            self.answer_join(group, member.member_id, joined(group, member.member_id), out)
            self.expect_heartbeat(group, member, now_ms)
            member.is_new = False
            group.pending_sync.add(member.member_id)
        self._wait_for_syncs(group, now_ms)

    # Completing

    def _wait_for_syncs(self, group: ClassicGroup, now_ms: int) -> None:
        generation = group.generation

        def end(now_ms: int, out: Outcome[Any]) -> None:
            if group.generation != generation or not group.pending_sync:
                return
            if group.state not in (ClassicState.COMPLETING, ClassicState.STABLE):
                return
            for member_id in list(group.pending_sync):
                self.remove(group, member_id, out)
            self.prepare(group, now_ms, out)

        self._state.timers.schedule(group.sync_key, now_ms + group.rebalance_timeout_ms, self._for(group, end))

    def has_synced(self, group: ClassicGroup, member_id: str) -> None:
        group.pending_sync.discard(member_id)
        if not group.pending_sync:
            self._state.timers.cancel(group.sync_key)

    def assign(self, group: ClassicGroup, assignments: Mapping[str, bytes], now_ms: int, out: Outcome[Any]) -> None:
        """The assignment is kept: members get it, and the group is stable."""
        for member in group.members.values():
            member.assignment = assignments.get(member.member_id, b"")
            self.answer_sync(group, member, synced(group, member.assignment), now_ms, out)
        group.move_to(ClassicState.STABLE, now_ms)

    def refuse_assignment(self, group: ClassicGroup, code: ErrorCode, now_ms: int, out: Outcome[Any]) -> None:
        for member in group.members.values():
            member.assignment = b""
            self.answer_sync(group, member, sync_refused(code), now_ms, out)

    # Members

    def drop(self, group: ClassicGroup, member_id: str) -> None:
        """Take a member out that waits for nothing."""
        self._state.timers.cancel(group.session_key(member_id))
        group.remove(member_id)

    def remove(self, group: ClassicGroup, member_id: str, out: Outcome[Any]) -> None:
        """Take a member out. One that is still there and waits is to join anew."""
        self.answer_join(group, member_id, join_refused(ErrorCode.UNKNOWN_MEMBER_ID, NO_MEMBER), out)
        token = group.sync_tokens.pop(member_id, None)
        if token is not None:
            out.answers.append(Answer(token, sync_refused(ErrorCode.UNKNOWN_MEMBER_ID)))
        self.drop(group, member_id)

    def answer_join(self, group: ClassicGroup, member_id: str, response: Any, out: Outcome[Any]) -> None:
        token = group.join_tokens.pop(member_id, None)
        if token is not None:
            out.answers.append(Answer(token, response))

    def answer_sync(self, group: ClassicGroup, member: Member, response: Any, now_ms: int, out: Outcome[Any]) -> None:
        token = group.sync_tokens.pop(member.member_id, None)
        if token is not None:
            out.answers.append(Answer(token, response))
            self.expect_heartbeat(group, member, now_ms)  # a session that ended while it waited was not looked at

    def expect_heartbeat(self, group: ClassicGroup, member: Member, now_ms: int, timeout_ms: int | None = None) -> None:
        timeout_ms = member.session_timeout_ms if timeout_ms is None else timeout_ms
        self.expire_at(group, member.member_id, now_ms + timeout_ms)

    def expire_at(self, group: ClassicGroup, member_id: str, deadline_ms: int) -> None:
        def end(now_ms: int, out: Outcome[Any]) -> None:
            self._session_expired(group, member_id, now_ms, out)

        self._state.timers.schedule(group.session_key(member_id), deadline_ms, self._for(group, end))

    def _session_expired(self, group: ClassicGroup, member_id: str, now_ms: int, out: Outcome[Any]) -> None:
        if member_id in group.pending_join:
            group.remove(member_id)
            if group.state is ClassicState.PREPARING and group.have_all_joined:
                self.complete_join(group, now_ms, out)
            return
        member = group.members.get(member_id)
        if member is None:
            return
        # Whoever waits for us is alive as far as we can tell; only a newcomer may be gone without our knowing.
        waits = member_id in group.join_tokens or member_id in group.sync_tokens
        if waits and not member.is_new:
            return
        self.remove(group, member_id, out)
        if group.state in (ClassicState.STABLE, ClassicState.COMPLETING):
            self.prepare_or_complete(group, now_ms, out)
        elif group.state is ClassicState.PREPARING and group.have_all_joined:
            self.complete_join(group, now_ms, out)

    def _for(self, group: ClassicGroup, work: Any) -> Action:
        """A timer's action, unless the group is gone by then."""

        def act(now_ms: int) -> Outcome[None]:
            out = memory_outcome()
            if self.is_here(group):
                work(now_ms, out)
            return out

        return act
