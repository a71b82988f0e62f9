"""The configuration of one group, and of one telemetry subscription: what may be set, and what holds.

A group's values have to lie within bounds that broker keys set when they are altered; bounds that were narrowed later
are applied when the values are used. Overrides come as texts from whoever keeps them; wrong ones are a ConfigError.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ottla.config.broker import BrokerConfig
from ottla.config.declared.client_metrics import ClientMetricsKeys
from ottla.config.declared.group import GroupConfigKeys
from ottla.config.values import ConfigError

KINDS = ("consumer", "share", "streams")
BOUNDED = (
    *(f"{kind}.{what}" for kind in KINDS for what in ("heartbeat.interval.ms", "session.timeout.ms")),
    *(f"{kind}.assignment.interval.ms" for kind in KINDS),
    "share.record.lock.duration.ms",
    "share.delivery.count.limit",
    "share.partition.max.record.locks",
    "streams.num.standby.replicas",
)

PUSH_INTERVAL_MS_MIN = 100
PUSH_INTERVAL_MS_MAX = 3_600_000
CLIENT_SELECTORS = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)


class GroupConfig(GroupConfigKeys):
    """Every key of a group as an attribute."""


class ClientMetricsConfig(ClientMetricsKeys):
    """Every key of a telemetry subscription as an attribute."""


def bounds(name: str) -> tuple[str | None, str]:
    """The broker keys that bound a group key: the least, if there is one, and the most."""
    kind, _, what = name.partition(".")
    if name == "streams.num.standby.replicas":
        return None, "group.streams.max.standby.replicas"
    return f"group.{kind}.min.{what}", f"group.{kind}.max.{what}"


def broker_defaults(broker: BrokerConfig) -> dict[str, Any]:
    """What a group has where nothing was set for it, by group key; keys without a broker key are left out."""
    return {name: broker.value(key.synonyms[0]) for name, key in GroupConfig.keys.items() if key.synonyms}


def group_config(overrides: Mapping[str, str], broker: BrokerConfig) -> GroupConfig:
    """A group's configuration, within the bounds that hold now. Names that are no keys are left alone."""
    values = GroupConfig.read(overrides)
    for name in BOUNDED:
        if name in values:
            least, most = bounds(name)
            values[name] = min(values[name], broker.value(most))
            values[name] = max(values[name], broker.value(least)) if least is not None else values[name]
    return GroupConfig({**broker_defaults(broker), **values})


def check_group(overrides: Mapping[str, str], broker: BrokerConfig) -> None:
    """Whether a group may have these overrides, all of them together."""
    for name in overrides:
        if name not in GroupConfig.keys:
            raise ConfigError(f"{name} is not a key of groups")
    values = {**broker_defaults(broker), **GroupConfig.read(overrides)}
    for name in BOUNDED:
        least, most = bounds(name)
        if least is not None and values[name] < broker.value(least):
            raise ConfigError(f"{name}: {values[name]} is less than {least}, which is {broker.value(least)}")
        if values[name] > broker.value(most):
            raise ConfigError(f"{name}: {values[name]} is more than {most}, which is {broker.value(most)}")
    for kind in KINDS:
        beat, session = f"{kind}.heartbeat.interval.ms", f"{kind}.session.timeout.ms"
        if values[beat] >= values[session]:
            raise ConfigError(f"{session}: {values[session]} has to be more than {beat}, which is {values[beat]}")


class PushIntervalOutOfRange(ConfigError):
    """Kafka takes it for a wrong request, and every other wrong value for a wrong configuration."""


def check_client_metrics(overrides: Mapping[str, str]) -> None:
    """Whether a telemetry subscription may have these values, all of them together."""
    values = ClientMetricsConfig(ClientMetricsConfig.read(overrides))
    if not PUSH_INTERVAL_MS_MIN <= values.interval_ms <= PUSH_INTERVAL_MS_MAX:
        raise PushIntervalOutOfRange(
            f"interval.ms: {values.interval_ms} is not between {PUSH_INTERVAL_MS_MIN} and {PUSH_INTERVAL_MS_MAX}"
        )
    client_patterns(values.match)


def client_patterns(entries: tuple[str, ...]) -> dict[str, re.Pattern[str]]:
    """The patterns of a subscription's match, by selector."""
    found = {}
    for entry in entries:
        selector, equals, pattern = entry.partition("=")
        selector, pattern = selector.strip(), pattern.strip()
        if not equals or selector not in CLIENT_SELECTORS:
            raise ConfigError(f"match: {entry!r} is not SELECTOR=PATTERN with one of {', '.join(CLIENT_SELECTORS)}")
        try:
            found[selector] = re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            raise ConfigError(f"match: {pattern!r} is not a regular expression: {error}") from None
    return found
