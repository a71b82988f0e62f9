"""DescribeConfigs and ListConfigResources: what is set, where it comes from, and for what something can be set.

Every key of a topic, broker, group or telemetry subscription is listed with its source (KIP-226). A broker answers for
itself and, under the empty name, for what all brokers share. Logger levels are Python's. Each resource is described
once, however often it is named, and one answer has at most CONFIGS_MAX entries, since a few bytes of a name bring
kilobytes of answer.

DescribeConfigs versions: 3 tells types and, on request, documentation (KIP-569). ListConfigResources versions: 0 lists
telemetry subscriptions only, 1 whatever is asked for (KIP-1142).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ottla.cluster.controller.topic_names import check_topic_name
from ottla.cluster.image import ConfigType
from ottla.config.describe import (
    ConfigSource,
    Described,
    describe_broker,
    describe_client_metrics,
    describe_cluster_default,
    describe_group,
    describe_topic,
)
from ottla.server.context import Context
from ottla.server.handlers import loggers
from ottla.server.routes import Route, versions
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

# As many as ten thousand topics have.
CONFIGS_MAX = 400_000
# What the level of a logger is, as Kafka tells it.
NO_TYPE = 0

Asked = DescribeConfigsRequest.DescribeConfigsResource
Outcome = DescribeConfigsResponse.DescribeConfigsResult
Entry = DescribeConfigsResponse.DescribeConfigsResourceResult
Listed = ListConfigResourcesResponse.ConfigResource


def describe_configs(context: Context, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    results: list[Outcome] = []
    left = CONFIGS_MAX
    # Topics without a configuration of their own are all alike: their entries are made once, and shared.
    shared: dict[tuple[object, ...], list[Entry]] = {}
    for asked in request.resources:
        try:
            if not left:
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"more than {CONFIGS_MAX} configs in one answer")
            key = _sharing_key(context, asked)
            entries = shared.get(key)
            if entries is None:
                entries = shared[key] = _entries(context, request, asked)
        except KafkaError as error:
            results.append(_failed(asked, error))
            continue
        left = max(0, left - len(entries))
        results.append(
            Outcome(
                error_message="",
                resource_type=asked.resource_type,
                resource_name=asked.resource_name,
                configs=entries,
            )
        )
    return DescribeConfigsResponse(results=results)


def _sharing_key(context: Context, asked: Asked) -> tuple[object, ...]:
    """What the entries depend on, beside the request as a whole."""
    names = None if asked.configuration_keys is None else tuple(asked.configuration_keys)
    overrides = context.broker.image.config_overrides(asked.resource_type, asked.resource_name)
    is_plain = asked.resource_type in (ConfigType.TOPIC, ConfigType.GROUP) and not overrides
    if is_plain:
        _check_name(context, asked)
    return (asked.resource_type, None if is_plain else asked.resource_name, names)


def _entries(context: Context, request: DescribeConfigsRequest, asked: Asked) -> list[Entry]:
    _check_name(context, asked)
    wanted = set(asked.configuration_keys or ())
    return [
        _entry(described, request)
        for described in _DESCRIBERS[asked.resource_type](context, asked.resource_name)
        if not wanted or described.name in wanted
    ]


def _entry(described: Described, request: DescribeConfigsRequest) -> Entry:
    synonyms = described.synonyms if request.include_synonyms else ()
    return Entry(
        name=described.name,
        value=described.value,
        read_only=described.read_only,
        config_source=described.source,
        is_sensitive=described.sensitive,
        synonyms=[
            DescribeConfigsResponse.DescribeConfigsSynonym(name=name, value=value, source=source)
            for name, value, source in synonyms
        ],
        config_type=described.config_type,
        documentation=described.documentation if request.include_documentation else None,
    )


def _check_name(context: Context, asked: Asked) -> None:
    kind, name = asked.resource_type, asked.resource_name
    if kind not in _DESCRIBERS:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"there are no configs of type {kind}")
    if kind == ConfigType.TOPIC:
        check_topic_name(name)
        if name not in context.broker.image.topics.by_name:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name}")
    elif kind == ConfigType.BROKER and not name:
        return
    elif kind in (ConfigType.BROKER, ConfigType.BROKER_LOGGER):
        check_node(context, name)
    elif not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"a {ConfigType(kind).name} without a name")


def check_node(context: Context, name: str) -> None:
    """A broker speaks for itself alone."""
    own = str(context.broker.config.node_id)
    if name != own:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"this is broker {own}, not {name[:100]!r}")


# What there is to tell of each kind


def _topic(context: Context, name: str) -> Iterable[Described]:
    return describe_topic(context.broker.image.config_overrides(ConfigType.TOPIC, name), context.broker.config)


def _broker(context: Context, name: str) -> Iterable[Described]:
    return describe_broker(context.broker.config) if name else describe_cluster_default(context.broker.config)


def _loggers(context: Context, name: str) -> Iterable[Described]:
    source, kind = ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG, NO_TYPE
    return [
        Described(logger, level, source, kind, False, False, (), None) for logger, level in loggers.levels().items()
    ]


def _client_metrics(context: Context, name: str) -> Iterable[Described]:
    return describe_client_metrics(context.broker.image.config_overrides(ConfigType.CLIENT_METRICS, name))


def _group(context: Context, name: str) -> Iterable[Described]:
    return describe_group(context.broker.image.config_overrides(ConfigType.GROUP, name), context.broker.config)


_DESCRIBERS: dict[int, Callable[[Context, str], Iterable[Described]]] = {
    ConfigType.TOPIC: _topic,
    ConfigType.BROKER: _broker,
    ConfigType.BROKER_LOGGER: _loggers,
    ConfigType.CLIENT_METRICS: _client_metrics,
    ConfigType.GROUP: _group,
}


def _failed(asked: Asked, error: KafkaError) -> Outcome:
    return Outcome(
        error_code=error.code,
        error_message=error.message,
        resource_type=asked.resource_type,
        resource_name=asked.resource_name,
        configs=[],
    )


def describe_refused(request: DescribeConfigsRequest, error: KafkaError) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(results=[_failed(asked, error) for asked in request.resources])


# What there is


def list_config_resources(context: Context, request: ListConfigResourcesRequest) -> ListConfigResourcesResponse:
    kinds = set(request.resource_types) or set(_DESCRIBERS)
    if context.version == 0:
        kinds = {ConfigType.CLIENT_METRICS}
    unknown = kinds - _DESCRIBERS.keys()
    if unknown:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"there are no configs of type {sorted(unknown)}")
    found = [Listed(resource_name=name, resource_type=kind) for kind in sorted(kinds) for name in _named(context, kind)]
    return ListConfigResourcesResponse(config_resources=found)


def _named(context: Context, kind: int) -> list[str]:
    image = context.broker.image
    if kind == ConfigType.TOPIC:
        return list(image.topics.by_name)
    if kind in (ConfigType.BROKER, ConfigType.BROKER_LOGGER):
        return [str(broker.id) for broker, _ in image.brokers.alive_on(context.listener_name)]
    return [resource.name for resource in image.configs if resource.type == kind]


def list_refused(request: ListConfigResourcesRequest, error: KafkaError) -> ListConfigResourcesResponse:
    return ListConfigResourcesResponse(error_code=error.code, config_resources=[])


ROUTES = (
    Route(DescribeConfigsRequest, versions(1, 4), describe_configs, describe_refused),
    Route(ListConfigResourcesRequest, versions(0, 1), list_config_resources, list_refused),
)
