"""DescribeGroups, ListGroups and DeleteGroups: groups as administrators see them, wherever they are kept here.

What each version brings is told in `ottla/coordinators/group_admin.py`. DeleteGroups version 3 has room for a message
beside the code; here the code says it all.
"""

from __future__ import annotations

from typing import Any

from ottla.server.context import Context
from ottla.server.handlers.group_calls import GroupCall, ask_groups, ask_shards, by_partition, describe_each
from ottla.server.routes import Route, versions
from ottla.wire.errors import KafkaError
from ottla.wire.messages.group_admin import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)

DescribedGroup = DescribeGroupsResponse.DescribedGroup
DeletedGroup = DeleteGroupsResponse.DeletableGroupResult


def describe_groups(context: Context, request: DescribeGroupsRequest) -> Any:
    return describe_each(
        context,
        request,
        request.groups,
        lambda shard, group_ids: shard.describe_groups(group_ids, context.version),
        _not_described,
        lambda groups: DescribeGroupsResponse(groups=groups),
    )


def _not_described(group_id: str, error: KafkaError) -> DescribedGroup:
    return DescribedGroup(
        error_code=error.code, group_id=group_id, group_state="", protocol_type="", protocol_data="", members=[]
    )


def describe_failed(request: DescribeGroupsRequest, error: KafkaError) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(groups=[_not_described(group_id, error) for group_id in request.groups])


def list_groups(context: Context, request: ListGroupsRequest) -> Any:
    return ask_shards(
        context,
        lambda shard, now_ms: shard.list_groups(request.states_filter, request.types_filter),
        lambda told: ListGroupsResponse(groups=[one for groups in told for one in groups]),
    )


def list_failed(request: ListGroupsRequest, error: KafkaError) -> ListGroupsResponse:
    return ListGroupsResponse(error_code=error.code, groups=[])


def delete_groups(context: Context, request: DeleteGroupsRequest) -> Any:
    places = by_partition(context, request.groups_names)

    def build(told: dict[int | None, Any]) -> DeleteGroupsResponse:
        results = []
        for place, group_ids in places.items():
            answer = told[place]
            if isinstance(answer, KafkaError):
                answer = [DeletedGroup(group_id=group_id, error_code=answer.code) for group_id in group_ids]
            results += answer
        return DeleteGroupsResponse(results=results)

    def call(group_ids: list[str]) -> GroupCall:
        return lambda shard, now_ms: shard.delete_groups(group_ids)

    return ask_groups(context, {place: (ids[0], call(ids)) for place, ids in places.items()}, build)


def delete_failed(request: DeleteGroupsRequest, error: KafkaError) -> DeleteGroupsResponse:
    names = dict.fromkeys(request.groups_names)
    return DeleteGroupsResponse(results=[DeletedGroup(group_id=name, error_code=error.code) for name in names])


ROUTES = (
    Route(DescribeGroupsRequest, versions(0, 6), describe_groups, describe_failed),
    Route(ListGroupsRequest, versions(0, 5), list_groups, list_failed),
    Route(DeleteGroupsRequest, versions(0, 3), delete_groups, delete_failed),
)
