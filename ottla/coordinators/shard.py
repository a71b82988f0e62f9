"""The state of one partition of `__consumer_offsets`: its groups and their offsets, of every kind.

Requests, elapsed time and changed topics go in, outcomes come out; see contract.py for what is done with them. `replay`
and `replay_marker` are the only writers of what the log holds, so loading and running are the same. What members of
classic groups are waiting for is in memory only, as in Kafka, and gone when the shard moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ottla.coordinators import expiry, group_admin, offset_commit, offset_fetch
from ottla.coordinators.classic.group import ClassicGroup, ClassicState
from ottla.coordinators.classic.protocol import ClassicProtocol
from ottla.coordinators.consumer_group.describing import DescribedGroup as DescribedConsumerGroup
from ottla.coordinators.consumer_group.group import ConsumerGroup
from ottla.coordinators.consumer_group.protocol import ConsumerProtocol
from ottla.coordinators.consumer_group.surroundings import TimesOf
from ottla.coordinators.contract import Outcome, Record, RequestContext
from ottla.coordinators.settings import GroupSettings
from ottla.coordinators.state import ShardState
from ottla.coordinators.topics_view import TopicsView
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.classic_groups import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from ottla.wire.messages.consumer_groups import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from ottla.wire.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
)
from ottla.wire.records import NO_PRODUCER_ID
from ottla.wire.stored.classic_group_records import GroupMetadataKey, LegacyOffsetCommitKey, OffsetCommitKey

EXPIRY_KEY = "expiry"
OFFSET_KEYS = (OffsetCommitKey, LegacyOffsetCommitKey)
# The kind that a group most often is comes first where it is asked for: what it is not takes longer to find out.
GROUPS_OF_CONSUMERS = (ClassicGroup, ConsumerGroup)


class GroupShard:
    """`times_of` says which times are set for one consumer group; without it the settings hold for all."""

    def __init__(
        self,
        settings: GroupSettings,
        topics: TopicsView,
        new_uuid: Callable[[], str],
        times_of: TimesOf | None = None,
    ) -> None:
        self.state = ShardState(settings, topics, new_uuid)
        self.classic = ClassicProtocol(self.state)
        self.consumer = ConsumerProtocol(self.state, self.classic.rebalancer, times_of)
        self._replayers: dict[type, Callable[[Any, Any], None]] = {
            GroupMetadataKey: self.classic.replay,
            **self.consumer.replayers,
        }

    # What the log says

    def replay(self, record: Record, offset: int, producer_id: int = NO_PRODUCER_ID) -> None:
        """A record that is in the log at this offset."""
        key: Any = record.key
        replayer = self._replayers.get(type(key))
        if replayer is not None:
            replayer(key, record.value)
        elif isinstance(key, OFFSET_KEYS):
            value: Any = record.value
            if value is not None and key.group not in self.state.groups:
                self.state.groups[key.group] = ClassicGroup(key.group)  # it only keeps offsets
            self.state.offsets.replay(key, value, offset, producer_id)

    def replay_marker(self, producer_id: int, *, is_commit: bool) -> None:
        """A transaction ended here."""
        self.state.offsets.replay_marker(producer_id, is_commit=is_commit)

    def loaded(self, now_ms: int) -> Iterator[Outcome[None]]:
        """The log has been replayed: members are expected from now on. Each outcome is done before the next."""
        self._schedule_expiry(now_ms)
        for group in list(self.state.groups.values()):
            if isinstance(group, ClassicGroup):
                yield self.classic.loaded(group, now_ms)
            elif isinstance(group, ConsumerGroup):
                yield self.consumer.loaded(group, now_ms)

    # Time

    def next_deadline(self) -> int | None:
        return self.state.timers.next_deadline()

    def advance(self, now_ms: int) -> Iterator[Outcome[None]]:
        """What is due. Each outcome is done before the next is asked for."""
        while (action := self.state.timers.due(now_ms)) is not None:
            yield action(now_ms)

    def _schedule_expiry(self, now_ms: int) -> None:
        interval_ms = self.state.settings.offsets_retention_check_interval_ms
        self.state.timers.schedule(EXPIRY_KEY, now_ms + interval_ms, self._expire)

    def _expire(self, now_ms: int) -> Outcome[None]:
        self._schedule_expiry(now_ms)
        return expiry.expire(self.state, now_ms)

    def topics_changed(self, topics: TopicsView, deleted: Iterable[tuple[str, bytes]] = ()) -> Outcome[None]:
        """The metadata image is another; these topics, by name and id, are gone."""
        before, self.state.topics = self.state.topics, topics
        self.consumer.topics_changed(before)
        return expiry.forget_topics(self.state, deleted)

    # The classic protocol

    def join(
        self, request: JoinGroupRequest, context: RequestContext, token: Any, now_ms: int
    ) -> Outcome[JoinGroupResponse]:
        group = self.state.groups.get(request.group_id)
        if group is None or isinstance(group, ClassicGroup):
            return self.classic.join(request, context, token, now_ms)
        if isinstance(group, ConsumerGroup):
            if group.is_empty:
                return self.classic.join(request, context, token, now_ms)
            return self.consumer.join(group, request, context, token, now_ms)
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"{group.group_id} is a {group.type} group")

    def sync(
        self, request: SyncGroupRequest, context: RequestContext, token: Any, now_ms: int
    ) -> Outcome[SyncGroupResponse]:
        group = self._group_of_member(request.group_id)
        if isinstance(group, ClassicGroup):
            return self.classic.sync(group, request, context, token, now_ms)
        return self.consumer.sync(group, request, token, now_ms)

    def heartbeat(self, request: HeartbeatRequest, context: RequestContext, now_ms: int) -> Outcome[HeartbeatResponse]:
        group = self._group_of_member(request.group_id)
        if isinstance(group, ClassicGroup):
            return self.classic.heartbeat(group, request, now_ms)
        return self.consumer.classic_heartbeat(group, request, now_ms)

    def leave(self, request: LeaveGroupRequest, context: RequestContext, now_ms: int) -> Outcome[LeaveGroupResponse]:
        """Before version 3 the caller puts the one member into the list."""
        group = self._group_of_member(request.group_id)
        if isinstance(group, ConsumerGroup):
            return self.consumer.leave(group, request.members, now_ms)
        return self.classic.leave(group, request.members, now_ms)

    def _group_of_member(self, group_id: str) -> ClassicGroup | ConsumerGroup:
        group = self.state.groups.get(group_id)
        if not isinstance(group, GROUPS_OF_CONSUMERS):
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"there is no group {group_id} of consumers")
        return group

    # The consumer protocol

    def consumer_heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, context: RequestContext, now_ms: int
    ) -> Outcome[ConsumerGroupHeartbeatResponse]:
        return self.consumer.heartbeat(request, context, now_ms)

    def consumer_enter(
        self, request: ConsumerGroupHeartbeatRequest, context: RequestContext, now_ms: int
    ) -> Outcome[None]:
        """Take in a member that `may_enter_first`. Its heartbeat is to follow, and is what answers it."""
        return self.consumer.enter(request, context, now_ms)

    def describe_consumer_groups(self, group_ids: Iterable[str]) -> Outcome[list[DescribedConsumerGroup]]:
        return Outcome(self.consumer.describe(group_ids))

    # Offsets

    def commit_offsets(
        self, request: OffsetCommitRequest, context: RequestContext, now_ms: int
    ) -> Outcome[OffsetCommitResponse]:
        group = offset_commit.group_to_commit_to(self.state, request, context.version)
        outcome = offset_commit.commit(self.state, group, request, context, now_ms)
        if type(group) is ClassicGroup and group.state in (ClassicState.STABLE, ClassicState.PREPARING):
            self.classic.touch(group, request.member_id, now_ms)
        return outcome

    def fetch_offsets(
        self, request: offset_fetch.RequestGroup, *, require_stable: bool
    ) -> Outcome[offset_fetch.ResponseGroup]:
        return Outcome(offset_fetch.fetch_offsets(self.state, request, require_stable=require_stable))

    def delete_offsets(self, request: OffsetDeleteRequest) -> Outcome[OffsetDeleteResponse]:
        group = self.state.groups.get(request.group_id)
        if group is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"there is no group {request.group_id}")
        return offset_commit.delete_offsets(self.state, group, request)

    # Administration

    def describe_groups(self, group_ids: Iterable[str], version: int) -> Outcome[list[group_admin.DescribedGroup]]:
        return Outcome(group_admin.describe_groups(self.state, group_ids, version))

    def list_groups(self, states: Iterable[str], types: Iterable[str]) -> Outcome[list[group_admin.ListedGroup]]:
        return Outcome(group_admin.list_groups(self.state, states, types))

    def delete_groups(self, group_ids: Iterable[str]) -> Outcome[list[group_admin.DeletedGroup]]:
        return group_admin.delete_groups(self.state, group_ids)
