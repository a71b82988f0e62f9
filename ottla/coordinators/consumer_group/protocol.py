"""The consumer protocol (KIP-848) of one shard: its requests, its records, and what a fresh start needs.

The parts beside this one know a group and a member each; here they are put together. The shard calls the methods for
classic members only for groups that are consumer groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from ottla.coordinators.classic.rebalance import Rebalancer
from ottla.coordinators.consumer_group.classic_members import ClassicMembers
from ottla.coordinators.consumer_group.deadlines import Deadlines
from ottla.coordinators.consumer_group.describing import DescribedGroup, described
from ottla.coordinators.consumer_group.group import AT_ONCE, ConsumerGroup
from ottla.coordinators.consumer_group.heartbeat import Heartbeats
from ottla.coordinators.consumer_group.leaving import Leaving
from ottla.coordinators.consumer_group.member import LEFT_EPOCH, LEFT_STATIC_EPOCH, Member
from ottla.coordinators.consumer_group.migration import Migration
from ottla.coordinators.consumer_group.replay import REPLAYS, replay
from ottla.coordinators.consumer_group.request_checks import check_heartbeat
from ottla.coordinators.consumer_group.surroundings import Surroundings, TimesOf, offered_assignors
from ottla.coordinators.contract import Outcome, RequestContext
from ottla.coordinators.state import ShardState
from ottla.coordinators.topics_view import TopicsView
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.consumer_groups import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse


class ConsumerProtocol:
    """`times_of` says what is set for one group; the shard's settings hold for all where it is not given."""

    def __init__(self, state: ShardState, rebalancer: Rebalancer, times_of: TimesOf | None = None) -> None:
        self._state = state
        self._around = Surroundings(state, times_of)
        migration = Migration(self._around, rebalancer)
        self._leaving = Leaving(self._around, migration)
        self._deadlines = migration.deadlines = Deadlines(state, self._fence)
        self._heartbeats = Heartbeats(self._around, self._deadlines, migration)
        classic_members = ClassicMembers(self._around, self._deadlines, migration)
        self.join = classic_members.join
        self.sync = classic_members.sync
        self.classic_heartbeat = classic_members.heartbeat
        self.leave = self._leaving.leave_group

    def heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, context: RequestContext, now_ms: int
    ) -> Outcome[ConsumerGroupHeartbeatResponse]:
        check_heartbeat(request, context.version, self._state.settings)
        if request.member_epoch not in (LEFT_EPOCH, LEFT_STATIC_EPOCH):
            return self._heartbeats.heartbeat(request, context, now_ms)
        group = self._state.groups.get(request.group_id)
        if not isinstance(group, ConsumerGroup):
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"{request.group_id} is not a consumer group")
        return self._leaving.leave(group, request, now_ms)

    def enter(self, request: ConsumerGroupHeartbeatRequest, context: RequestContext, now_ms: int) -> Outcome[None]:
        check_heartbeat(request, context.version, self._state.settings)
        return self._heartbeats.enter(request, context, now_ms)

    def describe(self, group_ids: Iterable[str]) -> list[DescribedGroup]:
        default = offered_assignors(self._state.settings)[0]
        return [described(id_, self._state.groups.get(id_), self._state.topics, default) for id_ in group_ids]

    def _fence(self, group: ConsumerGroup, member: Member, now_ms: int) -> Outcome[None]:
        return self._leaving.fence(group, [member], None, now_ms)

    # -- what the log and the cluster say -----------------------------------------------------------------------------

    @property
    def replayers(self) -> dict[type, Callable[[Any, Any], None]]:
        """What to call with a key of each of these types and its value."""
        return dict.fromkeys(REPLAYS, partial(replay, self._state.groups))

    def loaded(self, group: ConsumerGroup, now_ms: int) -> Outcome[None]:
        """Members have their whole session to find the new coordinator."""
        session_timeout_ms = self._around.times_of(group.group_id).session_timeout_ms
        self._deadlines.start(group.group_id, group.members.values(), session_timeout_ms, now_ms)
        return Outcome()

    def topics_changed(self, before: TopicsView) -> None:
        """The shard's topics are others than before: groups that want those that changed look at them again."""
        now = self._state.topics
        groups = [group for group in self._state.groups.values() if isinstance(group, ConsumerGroup)]
        names = frozenset[str]().union(*(group.wanted_names for group in groups))
        changed = frozenset(name for name in names if before.by_name(name) != now.by_name(name))
        self._around.forget_topics()
        if any(group.regexes for group in groups) and any(before.by_name(name) is None for name in now.names()):
            self._around.new_topics_version = now.version
        for group in groups:
            if not changed.isdisjoint(group.wanted_names):
                group.refresh = AT_ONCE
