"""The classic protocol of one shard: its requests, its records, and what a fresh start needs.

The shard has found the group already; here it is known to be a classic one, or to be made.
"""

from __future__ import annotations

from typing import Any

from ottla.coordinators.classic.group import ClassicGroup
from ottla.coordinators.classic.join import Joining
from ottla.coordinators.classic.membership import Membership
from ottla.coordinators.classic.rebalance import Rebalancer, memory_outcome
from ottla.coordinators.classic.records import loaded_group
from ottla.coordinators.classic.sync import Syncing
from ottla.coordinators.contract import Outcome
from ottla.coordinators.state import ShardState
from ottla.wire.stored.classic_group_records import GroupMetadataKey, GroupMetadataValue


class ClassicProtocol:
    def __init__(self, state: ShardState) -> None:
        self._state = state
        self.rebalancer = Rebalancer(state)
        self.join = Joining(state, self.rebalancer).join
        self.sync = Syncing(self.rebalancer).sync
        membership = Membership(self.rebalancer)
        self.heartbeat = membership.heartbeat
        self.leave = membership.leave

    def replay(self, key: GroupMetadataKey, value: GroupMetadataValue | None) -> None:
        if value is not None:
            self._state.groups[key.group] = loaded_group(key, value)
            return
        known = self._state.groups.get(key.group)
        if isinstance(known, ClassicGroup):
            self._state.forget_timers(known)
            del self._state.groups[key.group]

    def loaded(self, group: ClassicGroup, now_ms: int) -> Outcome[None]:
        """Members have their whole session to find the new coordinator."""
        out: Outcome[Any] = memory_outcome()
        for member in group.members.values():
            self.rebalancer.expect_heartbeat(group, member, now_ms)
        if len(group.members) > self._state.settings.classic_members_max:
            self.rebalancer.prepare(group, now_ms, out)  # those beyond the limit are left out on their return
        return out

    def prepare_rebalance(self, group: ClassicGroup, now_ms: int) -> Outcome[None]:
        """For a group that became a classic one."""
        out: Outcome[Any] = memory_outcome()
        self.rebalancer.prepare(group, now_ms, out)
        return out

    def touch(self, group: ClassicGroup, member_id: str, now_ms: int) -> None:
        """A commit is as good as a heartbeat."""
        member = group.members.get(member_id)
        if member is not None:
            self.rebalancer.expect_heartbeat(group, member, now_ms)
