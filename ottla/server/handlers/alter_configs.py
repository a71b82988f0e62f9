"""IncrementalAlterConfigs (KIP-339) and AlterConfigs: values of topics, brokers, groups and telemetry subscriptions.

Each resource stands for itself. What concerns a broker is first checked by that broker, which knows what it can take
while it runs (KIP-226), and so is what is meant for all brokers; logger levels are set here and go no further. The
rest is the controller's, and is answered when it is committed. On a controllers' listener every broker may be named:
whoever comes that way wants to reach brokers that are away (KIP-919). A resource that is named twice is refused.

Not done: AlterConfigs for loggers, as in Kafka. Versions: the last of each is flexible.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from ottla.cluster.controller.topic_names import check_topic_name
from ottla.cluster.image import ConfigType
from ottla.config.alter import (
    Alteration,
    Change,
    ResourceType,
    check_broker_changes,
    incremental_changes,
    legacy_changes,
)
from ottla.server.context import Context
from ottla.server.handlers import loggers
from ottla.server.handlers.changes import change_then
from ottla.server.handlers.describe_configs import check_node
from ottla.server.parking import Pending
from ottla.server.routes import Route, versions
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.configs import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from ottla.wire.schema import Request

KINDS = frozenset(ConfigType)
# What became of a resource: an error, or that it was done here. Absent: the controller decides.
Outcome = KafkaError | None
Outcomes = dict[int, Outcome]
T = TypeVar("T")
R = TypeVar("R", AlterConfigsResponse, IncrementalAlterConfigsResponse)


def incremental_alter_configs(
    context: Context, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse | Pending:
    def prepare(resource: IncrementalAlterConfigsRequest.AlterConfigsResource) -> bool:
        if resource.resource_type == ConfigType.BROKER_LOGGER:
            check_node(context, resource.resource_name)
            loggers.alter(resource.configs, validate_only=request.validate_only)
            return True
        if resource.resource_type == ConfigType.BROKER:
            current = _current(context, resource.resource_name)
            asked = [Alteration(one.name, one.config_operation, one.value) for one in resource.configs]
            changes = incremental_changes(ResourceType.BROKER, current, asked)
            _check_broker(context, resource.resource_name, current, changes)
        return False

    outcomes = _prepare(request.resources, prepare)
    left = [resource for at, resource in enumerate(request.resources) if at not in outcomes]
    forwarded = IncrementalAlterConfigsRequest(resources=left, validate_only=request.validate_only)
    return _answer(
        context,
        request.resources,
        outcomes,
        forwarded,
        IncrementalAlterConfigsResponse,
    )


def alter_configs(context: Context, request: AlterConfigsRequest) -> AlterConfigsResponse | Pending:
    def prepare(resource: AlterConfigsRequest.AlterConfigsResource) -> bool:
        if resource.resource_type == ConfigType.BROKER_LOGGER:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "logger levels are set by IncrementalAlterConfigs alone")
        if any(one.value is None for one in resource.configs):
            raise KafkaError(ErrorCode.INVALID_REQUEST, "null is not a value")
        if resource.resource_type == ConfigType.BROKER:
            current = _current(context, resource.resource_name)
            asked = [(one.name, one.value) for one in resource.configs]
            changes = legacy_changes(ResourceType.BROKER, current, asked)
            _check_broker(context, resource.resource_name, current, changes)
        return False

    outcomes = _prepare(request.resources, prepare)
    left = [resource for at, resource in enumerate(request.resources) if at not in outcomes]
    forwarded = AlterConfigsRequest(resources=left, validate_only=request.validate_only)
    return _answer(
        context,
        request.resources,
        outcomes,
        forwarded,
        AlterConfigsResponse,
    )


# What is decided here


def _prepare(resources: Sequence[T], prepare: Callable[[T], bool]) -> Outcomes:
    """Check each resource, by its place in the request. `prepare` says whether a resource is done with."""
    times = Counter(_key(resource) for resource in resources)
    outcomes: Outcomes = {}
    for at, resource in enumerate(resources):
        kind, name = _key(resource)
        try:
            if times[kind, name] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"{name[:100]!r} twice in a request")
            if kind not in KINDS:
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"there are no configs of type {kind}")
            if kind == ConfigType.TOPIC and name:
                check_topic_name(name)
            _check_keys(resource)
            if prepare(resource):
                outcomes[at] = None
        except KafkaError as error:
            outcomes[at] = error.kept()
    return outcomes


def _key(resource: Any) -> tuple[int, str]:
    return resource.resource_type, resource.resource_name


def _check_keys(resource: Any) -> None:
    twice = [name for name, count in Counter(one.name for one in resource.configs).items() if count > 1]
    if twice:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{twice[0][:100]} is named twice")


def _current(context: Context, name: str) -> dict[str, str]:
    if name and not context.broker.config.is_controllers(context.listener_name):
        check_node(context, name)
    return context.broker.image.config_overrides(ConfigType.BROKER, name)


def _check_broker(context: Context, name: str, current: dict[str, str], changes: Iterable[Change]) -> None:
    check_broker_changes(context.broker.config, current, changes, per_broker=bool(name))


# The answer


def _answer(
    context: Context, resources: Sequence[Any], outcomes: Outcomes, forwarded: Request, response_type: type[R]
) -> R | Pending:
    """The outcomes in the order of the request; those that are missing come from the controller."""
    row = response_type.AlterConfigsResourceResponse

    def build(controllers: Iterable[Any]) -> R:
        by_key = {_key(one): one for one in controllers}
        rows = [
            _row(row, resource, outcomes[at]) if at in outcomes else by_key[_key(resource)]
            for at, resource in enumerate(resources)
        ]
        return response_type(responses=rows)

    if len(outcomes) == len(resources):
        return build(())
    return change_then(context, forwarded, context.version, lambda response: build(response.responses))


def _row(row: Any, resource: Any, outcome: Outcome) -> Any:
    return row(
        error_code=ErrorCode.NONE if outcome is None else outcome.code,
        error_message=None if outcome is None else outcome.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


def incremental_refused(request: IncrementalAlterConfigsRequest, error: KafkaError) -> IncrementalAlterConfigsResponse:
    row = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
    return IncrementalAlterConfigsResponse(responses=[_row(row, resource, error) for resource in request.resources])


def refused(request: AlterConfigsRequest, error: KafkaError) -> AlterConfigsResponse:
    row = AlterConfigsResponse.AlterConfigsResourceResponse
    return AlterConfigsResponse(responses=[_row(row, resource, error) for resource in request.resources])


ROUTES = (
    Route(IncrementalAlterConfigsRequest, versions(0, 1), incremental_alter_configs, incremental_refused),
    Route(AlterConfigsRequest, versions(0, 2), alter_configs, refused),
)
