"""ConsumerGroupHeartbeat and ConsumerGroupDescribe (KIP-848): groups whose coordinator assigns.

Version 1 of the heartbeat brings subscriptions by regular expression and ids that clients make (KIP-1082); version 1 of
the description tells which protocol a member speaks.
"""

from __future__ import annotations

from typing import Any

from ottla.server.context import Context
from ottla.server.handlers.authorized_operations import GROUP_OPERATIONS
from ottla.server.handlers.group_calls import (
    GroupCall,
    ask_group,
    ask_groups,
    by_partition,
    error_text,
    request_context,
)
from ottla.server.routes import Route, versions
from ottla.wire.errors import KafkaError
from ottla.wire.messages.consumer_groups import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

DescribedGroup = ConsumerGroupDescribeResponse.DescribedGroup


def heartbeat(context: Context, request: ConsumerGroupHeartbeatRequest) -> Any:
    asker = request_context(context)
    return ask_group(
        context, request.group_id, lambda shard, token, now_ms: shard.consumer_heartbeat(request, asker, now_ms)
    )


def heartbeat_failed(request: ConsumerGroupHeartbeatRequest, error: KafkaError) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(
        error_code=error.code, error_message=error_text(error), member_epoch=0, heartbeat_interval_ms=0
    )


def describe(context: Context, request: ConsumerGroupDescribeRequest) -> Any:
    places = by_partition(context, request.group_ids)

    def build(told: dict[int | None, Any]) -> ConsumerGroupDescribeResponse:
        found: dict[str, DescribedGroup] = {}
        for place, group_ids in places.items():
            answer = told[place]
            if isinstance(answer, KafkaError):
                answer = [_not_described(group_id, answer) for group_id in group_ids]
            found.update({one.group_id: one for one in answer})
        for one in found.values():
            if request.include_authorized_operations and not one.error_code:
                one.authorized_operations = GROUP_OPERATIONS
        return ConsumerGroupDescribeResponse(groups=[found[group_id] for group_id in request.group_ids])

    def call(group_ids: list[str]) -> GroupCall:
        return lambda shard, now_ms: shard.describe_consumer_groups(group_ids)

    return ask_groups(context, {place: (ids[0], call(ids)) for place, ids in places.items()}, build)


def _not_described(group_id: str, error: KafkaError) -> DescribedGroup:
    return DescribedGroup(
        error_code=error.code,
        error_message=error_text(error),
        group_id=group_id,
        group_state="",
        group_epoch=0,
        assignment_epoch=0,
        assignor_name="",
        members=[],
    )


def describe_failed(request: ConsumerGroupDescribeRequest, error: KafkaError) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(groups=[_not_described(group_id, error) for group_id in request.group_ids])


ROUTES = (
    Route(ConsumerGroupHeartbeatRequest, versions(0, 1), heartbeat, heartbeat_failed),
    Route(ConsumerGroupDescribeRequest, versions(0, 1), describe, describe_failed),
)
