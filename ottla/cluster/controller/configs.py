"""IncrementalAlterConfigs and AlterConfigs: overrides of topics, brokers, groups and client metrics, as ConfigRecords.

Which keys and values there are is what `ConfigRules` says. Each resource stands for itself. While ELR is on,
min.insync.replicas belongs to topics and to all brokers together: a change of it empties ELRs, which were worked out by
the old value (KIP-966). Not done here: logger levels, which each broker keeps to itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from typing import Any, Protocol

from ottla.cluster.controller.draft import Draft
from ottla.cluster.controller.result import RequestTooLarge, Result
from ottla.cluster.controller.state import MIN_INSYNC_REPLICAS, ControllerState
from ottla.cluster.features import CORDONED_LOG_DIRS_SINCE
from ottla.cluster.image import ALL_BROKERS, ConfigResource, ConfigType
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.configs import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from ottla.wire.stored.metadata_records import ClearElrRecord, ConfigRecord

VALUE_LENGTH_MAX = 32767
CORDONED_LOG_DIRS = "cordoned.log.dirs"

_TYPES = {member.value for member in ConfigType}


class Operation(IntEnum):
    """What to do with a key (KIP-339)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class _Resource(Protocol):
    resource_type: int
    resource_name: str


Changes = dict[str, str | None]


def incremental_alter_configs(
    state: ControllerState, request: IncrementalAlterConfigsRequest
) -> Result[IncrementalAlterConfigsResponse]:
    draft = Draft(state, bounded_for="IncrementalAlterConfigs")
    outcome = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
    responses = [
        outcome(error_code=code, error_message=message, resource_type=type, resource_name=name)
        for type, name, code, message in _alter_each(draft, request.resources, _incremental_changes)
    ]
    result = Result(IncrementalAlterConfigsResponse(responses=responses), draft.records)
    return result.without_records() if request.validate_only else result


def alter_configs(state: ControllerState, request: AlterConfigsRequest) -> Result[AlterConfigsResponse]:
    """The old form: what is not named is removed."""
    draft = Draft(state, bounded_for="AlterConfigs")
    outcome = AlterConfigsResponse.AlterConfigsResourceResponse
    responses = [
        outcome(error_code=code, error_message=message, resource_type=type, resource_name=name)
        for type, name, code, message in _alter_each(draft, request.resources, _replacing_changes)
    ]
    result = Result(AlterConfigsResponse(responses=responses), draft.records)
    return result.without_records() if request.validate_only else result


def set_configs(state: ControllerState, resource: ConfigResource, configs: Mapping[str, str]) -> list[ConfigRecord]:
    """The records for a resource that does not exist yet."""
    _check(state, resource, {}, dict(configs))
    return [_record(resource, key, value) for key, value in configs.items()]


def _alter_each(
    draft: Draft, resources: Iterable[Any], changes_of: Callable[[ControllerState, Any], Changes]
) -> list[tuple[int, str, int, str | None]]:
    resources = list(resources)
    times = Counter(_key(resource) for resource in resources)
    outcomes = []
    for resource in {_key(resource): resource for resource in resources}.values():
        code, message = ErrorCode.NONE, None
        try:
            if times[_key(resource)] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"{resource.resource_name} twice in a request")
            _alter(draft, _key(resource), changes_of(draft.state, resource))
        except RequestTooLarge:
            raise
        except KafkaError as error:
            code, message = error.code, error.message
        outcomes.append((resource.resource_type, resource.resource_name, int(code), message))
    return outcomes


def _key(resource: _Resource) -> ConfigResource:
    return ConfigResource(resource.resource_type, resource.resource_name)


def _alter(draft: Draft, resource: ConfigResource, changes: Changes) -> None:
    state = draft.state
    existing = state.image.config_overrides(*resource)
    # A broker re-reads its files when its configs are written, even by the same value (KIP-226).
    records = [
        _record(resource, key, value)
        for key, value in changes.items()
        if value != existing.get(key) or resource.type == ConfigType.BROKER
    ]
    _check(state, resource, existing, {record.name: record.value for record in records})
    _check_exists(state, resource)
    draft.add(*records)
    if state.image.elr_enabled and any(record.name == MIN_INSYNC_REPLICAS for record in records):
        draft.add(ClearElrRecord(topic_name=resource.name if resource.type == ConfigType.TOPIC else ""))


def _record(resource: ConfigResource, key: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(resource_type=resource.type, resource_name=resource.name, name=key, value=value)


def _incremental_changes(
    state: ControllerState, resource: IncrementalAlterConfigsRequest.AlterConfigsResource
) -> Changes:
    _check_type(resource)
    existing = state.image.config_overrides(*_key(resource))
    changes: Changes = {}
    for config in resource.configs:
        key = config.name
        if key in changes:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{key} twice for {resource.resource_name}")
        if config.config_operation == Operation.DELETE:
            changes[key] = None
        elif config.value is None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"no value for {key} of {resource.resource_name}")
        elif config.config_operation == Operation.SET:
            changes[key] = config.value
        elif config.config_operation not in (Operation.APPEND, Operation.SUBTRACT):
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"there is no config operation {config.config_operation}")
        else:
            rules = state.settings.config_rules
            if not rules.is_list(resource.resource_type, key):
                raise KafkaError(ErrorCode.INVALID_CONFIG, f"{key} is not a list")
            current = existing.get(key) or rules.default(resource.resource_type, key) or ""
            changes[key] = _with_list_changed(current, config.config_operation, config.value)
    return changes


def _with_list_changed(current: str, operation: int, value: str) -> str:
    items = [item for item in current.split(",") if item]
    given = value.split(",")
    if operation == Operation.APPEND:
        return ",".join([*items, *[item for item in dict.fromkeys(given) if item not in items]])
    return ",".join(item for item in items if item not in given)


def _replacing_changes(state: ControllerState, resource: AlterConfigsRequest.AlterConfigsResource) -> Changes:
    _check_type(resource)
    existing = state.image.config_overrides(*_key(resource))
    given = {config.name: config.value for config in resource.configs}
    return given | {key: None for key in existing if key not in given}


def _check_type(resource: _Resource) -> None:
    if resource.resource_type not in _TYPES:
        reason = f"there are no configs of type {resource.resource_type}"
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, reason)
    if resource.resource_type == ConfigType.BROKER_LOGGER:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "logger levels are not the controller's")


def _check(
    state: ControllerState, resource: ConfigResource, existing: Mapping[str, str], changes: Mapping[str, str | None]
) -> None:
    for key, value in changes.items():
        if key == MIN_INSYNC_REPLICAS and resource.type == ConfigType.BROKER:
            _check_min_insync_replicas(state, resource, value)
        if key == CORDONED_LOG_DIRS and state.image.metadata_version < CORDONED_LOG_DIRS_SINCE:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"{key} needs metadata.version {CORDONED_LOG_DIRS_SINCE}")
        if value is not None and len(value) > VALUE_LENGTH_MAX:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"a value of {len(value)} characters for {key}")
    after = {key: value for key, value in {**existing, **changes}.items() if value is not None}
    state.settings.config_rules.validate(resource, after, existing)


def _check_min_insync_replicas(state: ControllerState, resource: ConfigResource, value: str | None) -> None:
    if not state.image.elr_enabled:
        return
    if resource != ALL_BROKERS:
        reason = f"with eligible leader replicas no single broker can have its own {MIN_INSYNC_REPLICAS}"
        raise KafkaError(ErrorCode.INVALID_CONFIG, reason)
    if value is None:
        reason = f"with eligible leader replicas the brokers' {MIN_INSYNC_REPLICAS} cannot be removed"
        raise KafkaError(ErrorCode.INVALID_CONFIG, reason)


def _check_exists(state: ControllerState, resource: ConfigResource) -> None:
    if resource.type == ConfigType.TOPIC and resource.name not in state.image.topics.by_name:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {resource.name}")
    if resource.type == ConfigType.BROKER and resource != ALL_BROKERS:
        if not resource.name.isdecimal():
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{resource.name!r} is no broker id")
        image, node_id = state.image, int(resource.name)
        if not (node_id in image.brokers.by_id or node_id in image.controllers or node_id in _voters(state)):
            raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"no node has the id {node_id}")


def _voters(state: ControllerState) -> tuple[int, ...]:
    return (state.settings.node_id, *state.settings.quorum_node_ids)
