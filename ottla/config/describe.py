"""What DescribeConfigs shows: values with their sources, synonyms, types and documentation.

Pure functions from configurations and texts to `Described`; handlers pick the names that were asked for and put them
on the wire. The order of synonyms is the order in which values are looked up, so that the first one is the one that
counts (KIP-226). Secrets, and what no key knows and might be one, are shown without a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any, NamedTuple

from ottla.config.broker import ONE_VALUE, BrokerConfig, Layers, plain_name
from ottla.config.group import ClientMetricsConfig, GroupConfig
from ottla.config.group import broker_defaults as group_defaults
from ottla.config.keys import READ_ONLY, Key
from ottla.config.topic import TopicConfig, topic_config
from ottla.config.values import ConfigType, spell


class ConfigSource(IntEnum):
    """Where a value comes from, with the numbers of DescribeConfigs."""

    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8


UNKNOWN_TYPE = 0

# Kafka knows these keys only while they are set at run time: they are not listed otherwise.
RUN_TIME_ONLY = (
    "leader.replication.throttled.rate",
    "follower.replication.throttled.rate",
    "replica.alter.log.dirs.io.max.bytes.per.second",
)


class Synonym(NamedTuple):
    """A value that stands behind another, under its own name."""

    name: str
    value: str | None
    source: ConfigSource


class Described(NamedTuple):
    """One key as DescribeConfigs shows it."""

    name: str
    value: str | None
    source: ConfigSource
    config_type: int
    read_only: bool
    sensitive: bool
    synonyms: tuple[Synonym, ...]
    documentation: str | None


def describe_topic(overrides: Mapping[str, str], broker: BrokerConfig) -> list[Described]:
    """Every key of a topic that has these overrides."""
    topic = topic_config(overrides, broker)
    found = []
    for name, key in TopicConfig.keys.items():
        if key.internal and name not in overrides:
            continue
        text = spell(key.config_type, topic.value(name))
        synonyms = _broker_synonyms(key.synonyms[0], broker.layers, sensitive=False) if key.synonyms else ()
        if name in overrides:
            synonyms = (Synonym(name, text, ConfigSource.DYNAMIC_TOPIC_CONFIG), *synonyms)
        found.append(_described(key, text, synonyms))
    return found


def describe_group(overrides: Mapping[str, str], broker: BrokerConfig) -> list[Described]:
    """Every key of a group that has these overrides, as they were set and not as bounds may have cut them."""
    group = GroupConfig({**group_defaults(broker), **GroupConfig.read(overrides)})
    found = []
    for name, key in GroupConfig.keys.items():
        text = spell(key.config_type, group.value(name))
        if key.synonyms:
            synonyms = _broker_synonyms(key.synonyms[0], broker.layers, sensitive=False)
        else:
            synonyms = (Synonym(name, key.default_text, ConfigSource.DEFAULT_CONFIG),)
        if name in overrides:
            synonyms = (Synonym(name, text, ConfigSource.DYNAMIC_GROUP_CONFIG), *synonyms)
        found.append(_described(key, text, synonyms))
    return found


def describe_client_metrics(overrides: Mapping[str, str]) -> list[Described]:
    """Every key of a telemetry subscription."""
    values = ClientMetricsConfig(ClientMetricsConfig.read(overrides))
    found = []
    for name, key in ClientMetricsConfig.keys.items():
        text = spell(key.config_type, values.value(name))
        given = (Synonym(name, text, ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG),) if name in overrides else ()
        found.append(_described(key, text, given))
    return found


def describe_broker(config: BrokerConfig) -> list[Described]:
    """Every key of a broker, and whatever else was set for it."""
    effective = config.layers.effective()
    names = [name for name, key in config.keys.items() if not key.internal and name not in RUN_TIME_ONLY]
    names += [name for name in effective if name not in names]
    return [_broker_entry(name, config) for name in names]


def describe_cluster_default(config: BrokerConfig) -> list[Described]:
    """What was set at run time for all brokers of the cluster, and nothing else."""
    alone = BrokerConfig(Layers(cluster=config.layers.cluster))
    found = []
    for name in config.layers.cluster:
        entry = _broker_entry(name, alone)
        level = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
        found.append(entry._replace(synonyms=tuple(each for each in entry.synonyms if each.source is level)))
    return found


def _broker_entry(name: str, config: BrokerConfig) -> Described:
    key = config.keys.get(name)
    plain = config.keys.get(plain_name(name))
    sensitive = plain is None or plain.sensitive
    synonyms = _broker_synonyms(name, config.layers, sensitive)
    if sensitive:
        text = None
    elif key is None:
        text = synonyms[0].value
    else:
        text = spell(key.config_type, config.value(name))
    source = synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG
    config_type = UNKNOWN_TYPE if plain is None else plain.config_type
    read_only = key is None or key.update is READ_ONLY
    doc = None if key is None else key.doc
    return Described(name, text, source, config_type, read_only, sensitive, synonyms, doc)


def _broker_synonyms(name: str, layers: Layers, sensitive: bool) -> tuple[Synonym, ...]:
    """The values behind a broker key, the strongest first.

    What comes before the first value under the name itself is dropped. Kafka does so for the sake of listeners'
    overrides, and it hides log.roll.hours from whoever asks for log.roll.ms; both are kept.
    """
    names = ONE_VALUE.get(name, (name,) if plain_name(name) == name else (name, plain_name(name)))
    found = [
        Synonym(each, None if sensitive else layer[each], source)
        for layer, source in zip(layers[:3], _LAYER_SOURCES, strict=True)
        for each in names
        if each in layer
    ]
    defaults = [(each, layers.filled.get(each) or _default_text(BrokerConfig.keys.get(each))) for each in names]
    found += [
        Synonym(each, None if sensitive else text, ConfigSource.DEFAULT_CONFIG)
        for each, text in defaults
        if text is not None
    ]
    first = next((at for at, synonym in enumerate(found) if synonym.name == name), len(found))
    return tuple(found[first:])


_LAYER_SOURCES = (
    ConfigSource.DYNAMIC_BROKER_CONFIG,
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG,
    ConfigSource.STATIC_BROKER_CONFIG,
)


def _default_text(key: Key[Any] | None) -> str | None:
    return None if key is None or key.name in RUN_TIME_ONLY else key.default_text


def _described(key: Key[Any], text: str | None, synonyms: tuple[Synonym, ...]) -> Described:
    """A key of anything but a broker: all of them can be changed at any time, and none is a secret."""
    assert key.config_type is not ConfigType.PASSWORD, key
    source = synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG
    return Described(key.name, text, source, key.config_type, False, False, synonyms, key.doc)


def chosen(described: Iterable[Described], names: Iterable[str] | None) -> list[Described]:
    """Those that were asked for by name; None and no name at all ask for everything."""
    wanted = set(names or ())
    return [entry for entry in described if not wanted or entry.name in wanted]
