"""Whether a broker takes dynamic values, for itself or for the whole cluster (KIP-226).

A key says whether it can change while brokers run and for whom. Keys of TLS and SASL change only for one listener.
Whatever is left is laid over the configuration and checked as at a start. Nothing is applied here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ottla.config.broker import BrokerConfig, plain_name
from ottla.config.cross_checks import check
from ottla.config.keys import PER_BROKER, READ_ONLY
from ottla.config.values import ConfigError

# Keys whose values are the cluster's, even where they are given for one listener.
CLUSTER_WIDE_LISTENER_KEYS = ("max.connections", "max.connection.creation.rate", "num.network.threads")


def check_dynamic(config: BrokerConfig, texts: Mapping[str, str], *, per_broker: bool) -> BrokerConfig:
    """The configuration that these dynamic values would make, in place of all that were set on this level before."""
    keys = BrokerConfig.keys
    fixed = [name for name in texts if name in keys and keys[name].update is READ_ONLY]
    if fixed:
        raise ConfigError(f"cannot change while a broker runs: {', '.join(sorted(fixed))}")
    bare = [name for name in texts if is_listener_security(name)]
    if bare:
        raise ConfigError(f"can change for a listener only, as listener.name.NAME.KEY: {', '.join(sorted(bare))}")
    personal = [name for name in texts if is_per_broker(name)]
    if personal and not per_broker:
        raise ConfigError(f"can change for one broker only, not for all of them: {', '.join(sorted(personal))}")
    BrokerConfig.read({plain_name(name): text for name, text in texts.items()})
    layers = config.layers
    changed = config.overlaid(layers.cluster, texts) if per_broker else config.overlaid(texts, layers.broker)
    check(changed)
    return changed


def is_listener_security(name: str) -> bool:
    """Whether a plain name is of those that only a listener can change: its keys and whom it trusts."""
    return name.startswith(("ssl.keystore.", "ssl.truststore.")) or name == "ssl.key.password"


def is_per_broker(name: str) -> bool:
    """Whether a value is one broker's own."""
    plain = plain_name(name)
    if plain != name:
        return plain not in CLUSTER_WIDE_LISTENER_KEYS
    key = BrokerConfig.keys.get(name)
    return key is not None and key.update is PER_BROKER


class Survivors(NamedTuple):
    """A configuration, and sentences about what had to be left out of it."""

    config: BrokerConfig
    problems: list[str]


def surviving(config: BrokerConfig, cluster: Mapping[str, str], broker: Mapping[str, str]) -> Survivors:
    """The configuration under dynamic layers as they were stored, perhaps by an older or a newer broker.

    A broker has to run with whatever is there: a wrong value is left out, and a level that contradicts the rest whole.
    """
    problems: list[str] = []
    for level, stored in (("cluster", cluster), ("broker", broker)):
        texts = {name: text for name, text in stored.items() if not complaint(name, text)}
        problems += [complaint(name, text) for name, text in stored.items() if name not in texts]
        layers = config.layers._replace(**{level: texts})
        try:
            changed = BrokerConfig(layers)
            check(changed)
        except ConfigError as error:
            problems.append(f"what was set for the {level} is left out: {error}")
        else:
            config = changed
    return Survivors(config, problems)


def complaint(name: str, text: str) -> str:
    """What is wrong with one stored value, or ""."""
    key = BrokerConfig.keys.get(plain_name(name))
    try:
        if key is not None:
            key.read(text)
    except ConfigError as error:
        return f"what was set is left out: {error}"
    return ""
