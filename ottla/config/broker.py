"""The configuration of one node: every key as an attribute, and what several keys say together.

A BrokerConfig never changes: `overlaid` makes another one from the dynamic layers (KIP-226), and whoever holds the
old one keeps a consistent view. The texts of all layers stay at hand for `describe`. Values are checked one by one
here, and against each other in `cross_checks`; `loading` does both. Who listens, stores or votes by it is not known.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from ottla.config.declared.access import AccessKeys
from ottla.config.declared.cleaner import CleanerKeys
from ottla.config.declared.groups import GroupCoordinatorKeys
from ottla.config.declared.log import LogKeys
from ottla.config.declared.measures import MeasureKeys
from ottla.config.declared.network import NetworkKeys
from ottla.config.declared.node import NodeKeys
from ottla.config.declared.oauth import OAuthKeys
from ottla.config.declared.own import OwnKeys
from ottla.config.declared.quorum import QuorumKeys
from ottla.config.declared.replication import ReplicationKeys
from ottla.config.declared.sasl import SaslKeys
from ottla.config.declared.share import ShareGroupKeys
from ottla.config.declared.tiered import TieredStorageKeys
from ottla.config.declared.tls import TlsKeys
from ottla.config.declared.topics import TopicDefaultKeys
from ottla.config.declared.transactions import TransactionKeys
from ottla.config.keys import Key
from ottla.config.listeners import Listener, SecurityProtocol, parse_listeners, parse_protocol_map, with_controllers
from ottla.config.quorum_addresses import voters

EVERYWHERE = "0.0.0.0"
NOTHING: Mapping[str, str] = MappingProxyType({})

LISTENER_PREFIX = "listener.name."
# Keys that may be given for one mechanism of one listener: listener.name.NAME.MECHANISM.KEY.
MECHANISM_KEYS = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
)


# One value under several names, in the order in which they count.
_ROLL = ("log.roll.ms", "log.roll.hours")
_JITTER = ("log.roll.jitter.ms", "log.roll.jitter.hours")
_RETENTION = ("log.retention.ms", "log.retention.minutes", "log.retention.hours")
_FLUSH = ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")
ONE_VALUE = {name: names for names in (_ROLL, _JITTER, _RETENTION) for name in names} | {_FLUSH[0]: _FLUSH}


class Layers(NamedTuple):
    """Texts by where they come from, the strongest first. `filled` are Ottla's own defaults: see quick_start."""

    broker: Mapping[str, str] = NOTHING
    cluster: Mapping[str, str] = NOTHING
    static: Mapping[str, str] = NOTHING
    filled: Mapping[str, str] = NOTHING

    def effective(self) -> dict[str, str]:
        """The texts that count. A dynamic value takes the place of whatever was set under its other names."""
        texts = {**self.filled, **self.static}
        for layer in (self.cluster, self.broker):
            for name in layer:
                for other in ONE_VALUE.get(name, ()):
                    texts.pop(other, None)
            texts |= layer
        return texts


class BrokerConfig(
    NodeKeys,
    QuorumKeys,
    NetworkKeys,
    TopicDefaultKeys,
    LogKeys,
    CleanerKeys,
    ReplicationKeys,
    GroupCoordinatorKeys,
    ShareGroupKeys,
    TransactionKeys,
    AccessKeys,
    TlsKeys,
    SaslKeys,
    OAuthKeys,
    MeasureKeys,
    TieredStorageKeys,
    OwnKeys,
):
    """Every key of a node as an attribute."""

    layers: Layers

    def __init__(self, layers: Layers) -> None:
        super().__init__(self.read(layers.effective()))
        self.__dict__["layers"] = layers

    def is_set(self, key: Key[Any]) -> bool:
        """Whether somebody chose a value for this key, be it the default."""
        return any(key.name in layer for layer in self.layers[:3])

    def overlaid(self, cluster: Mapping[str, str], broker: Mapping[str, str]) -> BrokerConfig:
        """This configuration under other dynamic layers: those of the whole cluster, and those of this broker."""
        return BrokerConfig(self.layers._replace(cluster=cluster, broker=broker))

    def for_listener(self, listener: str, mechanism: str = "") -> BrokerConfig:
        """What holds on one listener, and for one SASL mechanism there: prefixed keys go before plain ones."""
        prefixes = [f"{LISTENER_PREFIX}{listener.lower()}."]
        if mechanism:
            prefixes.append(f"{prefixes[0]}{mechanism.lower()}.")
        special = {
            name.removeprefix(prefix): text
            for prefix in prefixes
            for name, text in self.layers.effective().items()
            if name.startswith(prefix) and name.removeprefix(prefix) in self.keys
        }
        return BrokerConfig(self.layers._replace(broker={**self.layers.broker, **special})) if special else self

    # -- what several keys say together -------------------------------------------------------------------------------

    @property
    def is_broker(self) -> bool:
        return "broker" in self.process_roles

    @property
    def is_controller(self) -> bool:
        return "controller" in self.process_roles

    @property
    def log_directories(self) -> tuple[str, ...]:
        """log.dirs, or log.dir where that is not set."""
        return self.log_dir if self.log_dirs is None else self.log_dirs

    @property
    def metadata_directory(self) -> str:
        """Where the metadata log lives."""
        return self.metadata_log_dir or self.log_directories[0]

    @property
    def cordoned_directories(self) -> tuple[str, ...]:
        """Log directories that get no new partitions; * stands for all of them."""
        cordoned = self.cordoned_log_dirs or ()
        return self.log_directories if "*" in cordoned else cordoned

    @property
    def security_protocols(self) -> dict[str, SecurityProtocol]:
        """The security protocol of each listener name."""
        protocols = parse_protocol_map(self.listener_security_protocol_map)
        if self.is_set(BrokerConfig.listener_security_protocol_map):
            return protocols
        return with_controllers(protocols, self.controller_listener_names, self.listeners)

    @property
    def all_listeners(self) -> tuple[Listener, ...]:
        """Where this node listens, controllers' listeners included."""
        return parse_listeners(self.listeners, self.security_protocols)

    @property
    def broker_listeners(self) -> tuple[Listener, ...]:
        """Where this node listens as a broker."""
        return tuple(listener for listener in self.all_listeners if not self.is_controllers(listener.name))

    @property
    def controller_listeners(self) -> tuple[Listener, ...]:
        """Where this node listens as a controller."""
        return tuple(listener for listener in self.all_listeners if self.is_controllers(listener.name))

    @property
    def all_advertised(self) -> tuple[Listener, ...]:
        """advertised.listeners, or where this node listens. Hosts that are empty are for the caller to fill in."""
        if self.advertised_listeners is None:
            return self.all_listeners
        return parse_listeners(self.advertised_listeners, self.security_protocols)

    @property
    def advertised_broker_listeners(self) -> tuple[Listener, ...]:
        """What clients and brokers are told to connect to."""
        return tuple(listener for listener in self.all_advertised if not self.is_controllers(listener.name))

    @property
    def advertised_controller_listeners(self) -> tuple[Listener, ...]:
        """What other nodes are told to connect to for this controller (KIP-853): advertised, or where it listens."""
        advertised = {listener.name: listener for listener in self.all_advertised}
        listening = {listener.name: listener for listener in self.all_listeners}
        chosen = []
        for at, name in enumerate(name.upper() for name in self.controller_listener_names):
            if name in advertised and self.advertised_listeners is not None:
                chosen.append(advertised[name])
            elif name in listening:
                chosen.append(self._reachable(listening[name], is_first=at == 0))
        return tuple(chosen)

    def _reachable(self, listener: Listener, *, is_first: bool) -> Listener:
        """A controller that listens everywhere is found where controller.quorum.voters says, on its first listener."""
        if listener.host not in ("", EVERYWHERE):
            return listener
        voter = voters(self.controller_quorum_voters).get(self.node_id) if is_first else None
        if voter is None:
            return listener._replace(host="")
        return listener._replace(host=voter.host, port=voter.port)

    @property
    def inter_broker_listener(self) -> str:
        """The name of the listener on which brokers talk to each other."""
        name = self.inter_broker_listener_name
        return self.security_inter_broker_protocol if name is None else name.upper()

    def is_controllers(self, listener: str) -> bool:
        return listener in self.controller_listener_names


def is_known(name: str) -> bool:
    """Whether a name is a key, or one for a single listener."""
    return plain_name(name) in BrokerConfig.keys


def plain_name(name: str) -> str:
    """The key behind listener.name.NAME.KEY and listener.name.NAME.MECHANISM.KEY; any other name as it is."""
    _, dot, rest = name.removeprefix(LISTENER_PREFIX).partition(".")
    if not name.startswith(LISTENER_PREFIX) or not dot:
        return name
    return next((key for key in MECHANISM_KEYS if rest.endswith(key)), rest)
