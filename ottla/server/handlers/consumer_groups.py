"""ConsumerGroupHeartbeat and ConsumerGroupDescribe (KIP-848): groups whose coordinator assigns.

They are there where group.coordinator.rebalance.protocols names them and the cluster's group.version is 1; elsewhere
both requests are UNSUPPORTED_VERSION, and consumers of the classic protocol go on, in groups of either kind.

Version 1 of the heartbeat brings subscriptions by regular expression and ids that clients make (KIP-1082); version 1 of
the description tells which protocol a member speaks.
"""

from __future__ import annotations

from typing import Any

from ottla.cluster.features import GROUP_VERSION
from ottla.coordinators.consumer_group.heartbeat import may_enter_first
from ottla.server.context import Context
from ottla.server.handlers.group_calls import ask_group, describe_each, error_text, request_context, told
from ottla.server.routes import Route, versions
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.consumer_groups import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

DescribedGroup = ConsumerGroupDescribeResponse.DescribedGroup

PROTOCOL = "consumer"


def _check_enabled(context: Context) -> None:
    broker = context.broker
    if PROTOCOL not in broker.config.group_coordinator_rebalance_protocols:
        reason = "group.coordinator.rebalance.protocols does not name the consumer protocol"
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, reason)
    if broker.image.feature_level(GROUP_VERSION) < 1:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "group.version is 0 in this cluster; the protocol needs 1")


def heartbeat(context: Context, request: ConsumerGroupHeartbeatRequest) -> Any:
    _check_enabled(context)
    asker = request_context(context)
    if may_enter_first(request):
        return told(lambda tell: context.broker.groups.ask_to_join(request, asker, tell))
    return ask_group(
        context, request.group_id, lambda shard, token, now_ms: shard.consumer_heartbeat(request, asker, now_ms)
    )


def heartbeat_failed(request: ConsumerGroupHeartbeatRequest, error: KafkaError) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(
        error_code=error.code, error_message=error_text(error), member_epoch=0, heartbeat_interval_ms=0
    )


def describe(context: Context, request: ConsumerGroupDescribeRequest) -> Any:
    _check_enabled(context)
    return describe_each(
        context,
        request,
        request.group_ids,
        lambda shard, group_ids: shard.describe_consumer_groups(group_ids),
        _not_described,
        lambda groups: ConsumerGroupDescribeResponse(groups=[one if one.group_id else _nameless() for one in groups]),
    )


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


def _nameless() -> DescribedGroup:
    return _not_described("", KafkaError(ErrorCode.INVALID_GROUP_ID, "a group of this kind has a name"))


def describe_failed(request: ConsumerGroupDescribeRequest, error: KafkaError) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(groups=[_not_described(group_id, error) for group_id in request.group_ids])


ROUTES = (
    Route(ConsumerGroupHeartbeatRequest, versions(0, 1), heartbeat, heartbeat_failed),
    Route(ConsumerGroupDescribeRequest, versions(0, 1), describe, describe_failed),
)
