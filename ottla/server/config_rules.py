"""What the controller may write as a configuration: the config layer's rules, in the shape that it asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ottla.cluster.image import ConfigResource
from ottla.config.alter import Change, ResourceType, check_changes
from ottla.config.broker import BrokerConfig
from ottla.config.describe import describe_topic
from ottla.config.keys import Key
from ottla.config.topic import TopicConfig
from ottla.config.values import ConfigType
from ottla.wire.messages.topics import CreateTopicsResponse


def _key(resource_type: int, name: str) -> Key[Any] | None:
    keys = {ResourceType.TOPIC: TopicConfig.keys, ResourceType.BROKER: BrokerConfig.keys}
    return keys.get(ResourceType(resource_type), {}).get(name)


class Rules:
    """`config` gives the broker's configuration as it is now: what is set at run time counts as well."""

    def __init__(self, config: Callable[[], BrokerConfig]) -> None:
        self._config = config

    def validate(self, resource: ConfigResource, configs: Mapping[str, str], existing: Mapping[str, str]) -> None:
        changes = [Change(name, value) for name, value in configs.items() if existing.get(name) != value]
        changes += [Change(name, None) for name in existing if name not in configs]
        check_changes(ResourceType(resource.type), resource.name, existing, changes, self._config())

    def is_list(self, resource_type: int, key: str) -> bool:
        found = _key(resource_type, key)
        return found is not None and found.config_type is ConfigType.LIST

    def default(self, resource_type: int, key: str) -> str | None:
        found = _key(resource_type, key)
        return None if found is None else found.default_text

    def describe_topic(self, overrides: Mapping[str, str]) -> list[CreateTopicsResponse.CreatableTopicConfigs]:
        """By name, as Kafka tells them."""
        return [
            CreateTopicsResponse.CreatableTopicConfigs(
                name=one.name,
                value=one.value,
                read_only=one.read_only,
                config_source=one.source,
                is_sensitive=one.sensitive,
            )
            for one in sorted(describe_topic(overrides, self._config()), key=lambda one: one.name)
        ]
