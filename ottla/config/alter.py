"""What AlterConfigs and IncrementalAlterConfigs make of a resource's configuration, and whether it may be so.

From the texts that a resource has and the changes that are asked for come the changes to write, one a ConfigRecord;
None takes a value away. Whatever is wrong is a KafkaError with Kafka's code. Who asks, and whether the resource exists
and the asker may change it, is the caller's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from ottla.config.broker import BrokerConfig
from ottla.config.dynamic import check_dynamic
from ottla.config.group import ClientMetricsConfig, PushIntervalOutOfRange, check_client_metrics, check_group
from ottla.config.keys import Key
from ottla.config.topic import TopicConfig, check_topic
from ottla.config.values import INT_MAX, ConfigError, ConfigType
from ottla.wire.errors import ErrorCode, KafkaError

VALUE_LENGTH_MAX = 32767  # of what a ConfigRecord may carry
NODE_ID_DIGITS_MAX = 10


class ResourceType(IntEnum):
    """What can be configured, with the protocol's numbers."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class Operation(IntEnum):
    """How IncrementalAlterConfigs changes a value (KIP-339)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Alteration(NamedTuple):
    """One change as it was asked for; `operation` is whatever number the peer sent."""

    name: str
    operation: int
    value: str | None


class Change(NamedTuple):
    """One change to write down."""

    name: str
    value: str | None


# The keys whose lists can be added to and taken from. Kafka knows those of topics and brokers only.
_LISTS: dict[ResourceType, Mapping[str, Key[Any]]] = {
    ResourceType.TOPIC: TopicConfig.keys,
    ResourceType.BROKER: BrokerConfig.keys,
}


def incremental_changes(
    kind: ResourceType, current: Mapping[str, str], alterations: Sequence[Alteration]
) -> list[Change]:
    """The changes that IncrementalAlterConfigs asks for."""
    _check_names(alteration.name for alteration in alterations)
    changes = []
    for alteration in alterations:
        value = _altered(kind, current, alteration)
        # A broker's value is written even if it stays: that is how a file behind it is read anew (KAFKA-14136).
        if value != current.get(alteration.name) or kind is ResourceType.BROKER:
            changes.append(Change(alteration.name, value))
    return changes


def _altered(kind: ResourceType, current: Mapping[str, str], alteration: Alteration) -> str | None:
    name, operation, value = alteration
    if operation not in Operation.__members__.values():
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{name}: there is no operation {operation}")
    if operation == Operation.DELETE:
        return None
    if value is None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{name}: null is not a value")
    if operation == Operation.SET:
        return value
    key = _LISTS.get(kind, {}).get(name)
    if key is None or key.config_type is not ConfigType.LIST:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"{name}: only lists can be added to or taken from")
    before = current.get(name, key.default_text) or ""
    entries = [entry for entry in before.split(",") if entry]
    for entry in value.split(","):
        if operation == Operation.APPEND and entry not in entries:
            entries.append(entry)
        elif operation == Operation.SUBTRACT and entry in entries:
            entries.remove(entry)
    return ",".join(entries)


def legacy_changes(
    kind: ResourceType, current: Mapping[str, str], wanted: Sequence[tuple[str, str | None]]
) -> list[Change]:
    """The changes that AlterConfigs asks for: what it does not name is taken away."""
    _check_names(name for name, _ in wanted)
    for name, value in wanted:
        if value is None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{name}: null is not a value")
    set_again = kind is ResourceType.BROKER  # see incremental_changes
    changes = [Change(name, value) for name, value in wanted if set_again or current.get(name) != value]
    named = {name for name, _ in wanted}
    return changes + [Change(name, None) for name in current if name not in named]


def _check_names(names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{name} is named twice")
        seen.add(name)


def applied(current: Mapping[str, str], changes: Iterable[Change]) -> dict[str, str]:
    """What a resource has once the changes are made."""
    texts: dict[str, str | None] = {**current, **{change.name: change.value for change in changes}}
    return {name: value for name, value in texts.items() if value is not None}


def check_changes(
    kind: ResourceType,
    resource: str,
    current: Mapping[str, str],
    changes: Sequence[Change],
    config: BrokerConfig,
    *,
    elr_enabled: bool = False,
) -> dict[str, str]:
    """What the resource would have, if the controller may write these changes. `config` is the controller's own."""
    _check_resource_name(kind, resource)
    for change in changes:
        _check_change(kind, resource, change, elr_enabled)
    after = applied(current, changes)
    try:
        match kind:
            case ResourceType.TOPIC:
                check_topic(after, current, config)
            case ResourceType.GROUP:
                check_group(after, config)
            case ResourceType.CLIENT_METRICS:
                _check_client_metrics_names(after)
                check_client_metrics(after)
            case _:
                pass  # a broker checks its own values before it asks the controller: see check_broker_changes
    except PushIntervalOutOfRange as error:
        raise KafkaError(ErrorCode.INVALID_REQUEST, str(error)) from None
    except ConfigError as error:
        raise KafkaError(ErrorCode.INVALID_CONFIG, str(error)) from None
    return after


def check_broker_changes(
    config: BrokerConfig, current: Mapping[str, str], changes: Iterable[Change], *, per_broker: bool
) -> BrokerConfig:
    """What a broker would run with, if it may have these changes for itself or, as any, for the cluster.

    Kafka answers INVALID_REQUEST here, and clients have come to expect it (KAFKA-13609).
    """
    try:
        return check_dynamic(config, applied(current, changes), per_broker=per_broker)
    except ConfigError as error:
        raise KafkaError(ErrorCode.INVALID_REQUEST, str(error)) from None


def _check_resource_name(kind: ResourceType, resource: str) -> None:
    if kind is ResourceType.BROKER_LOGGER:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "loggers are not kept in the cluster's metadata")
    if kind is not ResourceType.BROKER:
        if not resource:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"a {kind.name} has to be named")
        return
    is_number = resource.isascii() and resource.isdigit() and len(resource) <= NODE_ID_DIGITS_MAX
    if resource and not (is_number and int(resource) <= INT_MAX):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{resource!r} is not the number of a broker")


def _check_change(kind: ResourceType, resource: str, change: Change, elr_enabled: bool) -> None:
    if change.value is not None and len(change.value) > VALUE_LENGTH_MAX:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"{change.name}: a value is at most {VALUE_LENGTH_MAX} bytes long")
    if kind is not ResourceType.BROKER or change.name != "min.insync.replicas" or not elr_enabled:
        return
    # The eligible leader replicas (KIP-966) hang on one min.insync.replicas that the whole cluster shares.
    if resource and change.value is not None:
        raise KafkaError(ErrorCode.INVALID_CONFIG, "min.insync.replicas: one broker cannot differ while ELR is enabled")
    if not resource and change.value is None:
        raise KafkaError(ErrorCode.INVALID_CONFIG, "min.insync.replicas: it has to stay set while ELR is enabled")


def _check_client_metrics_names(texts: Mapping[str, str]) -> None:
    for name in texts:
        if name not in ClientMetricsConfig.keys:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{name} is not a key of telemetry subscriptions")
