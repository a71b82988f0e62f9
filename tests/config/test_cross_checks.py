"""Keys that contradict each other are refused with a message that names them."""

from __future__ import annotations

import pytest

from ottla.config.cross_checks import connection_overrides
from ottla.config.loading import load
from ottla.config.values import ConfigError

BROKER = {"process.roles": "broker", "controller.quorum.bootstrap.servers": "c:9093"}
CONTROLLER = {"process.roles": "controller", "listeners": "CONTROLLER://:9093"}
SASL = {
    "listeners": "SASL_PLAINTEXT://:9092,CONTROLLER://:9093",
    "listener.security.protocol.map": "SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "security.inter.broker.protocol": "SASL_PLAINTEXT",
}


@pytest.mark.parametrize(
    "static",
    [
        {},
        BROKER,
        CONTROLLER,
        BROKER | {"controller.quorum.voters": "2@c:9093"},
        CONTROLLER | {"controller.quorum.voters": "1@c:9093"},
        SASL | {"sasl.enabled.mechanisms": "GSSAPI"},
        {"early.start.listeners": "PLAINTEXT"},
        {"max.connections.per.ip": "0", "max.connections.per.ip.overrides": "127.0.0.1:5"},
        {"connections.max.idle.ms": "-1"},
        {"log.cleaner.threads": "0"},
    ],
    ids=str,
)
def test_a_sound_configuration_passes(static: dict[str, str]) -> None:
    assert load(static, {}).warnings == []


@pytest.mark.parametrize(
    ("static", "key"),
    [
        ({"node.id": "1", "broker.id": "2"}, "broker.id"),
        ({"controller.quorum.voters": "2@c:9093"}, "controller.quorum.voters"),
        ({"process.roles": "broker"}, "controller.quorum.bootstrap.servers"),
        (BROKER | {"controller.quorum.voters": "1@c:9093"}, "controller.quorum.voters"),
        (BROKER | {"controller.quorum.auto.join.enable": "true"}, "controller.quorum.auto.join.enable"),
        (BROKER | {"listeners": "PLAINTEXT://:1,CONTROLLER://:2"}, "controller.listener.names"),
        (BROKER | {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT"}, "controller.listener.names"),
        (CONTROLLER | {"listeners": "CONTROLLER://:1,PLAINTEXT://:2"}, "listeners"),
        (CONTROLLER | {"inter.broker.listener.name": "CONTROLLER"}, "inter.broker.listener.name"),
        ({"listeners": "PLAINTEXT"}, "listeners"),
        ({"listener.name.plaintext.max.connections": "many"}, "max.connections"),
        ({"listeners": "PLAINTEXT://:1,CONTROLLER://:1"}, "listeners"),
        ({"listener.security.protocol.map": "PLAINTEXT:TELNET"}, "listener.security.protocol.map"),
        ({"advertised.listeners": "OTHER://h:1"}, "advertised.listeners"),
        ({"advertised.listeners": "SSL://h:1,PLAINTEXT://h:2"}, "advertised.listeners"),
        ({"advertised.listeners": "CONTROLLER://h:1"}, "advertised.listeners"),
        ({"advertised.listeners": "PLAINTEXT://0.0.0.0:1"}, "advertised.listeners"),
        ({"listeners": "CONTROLLER://:1", "controller.listener.names": "C1"}, "listeners"),
        ({"controller.listener.names": "PLAINTEXT,C2"}, "controller.listener.names"),
        (
            {"inter.broker.listener.name": "A", "security.inter.broker.protocol": "SSL"},
            "security.inter.broker.protocol",
        ),
        ({"inter.broker.listener.name": "NOWHERE"}, "inter.broker.listener.name"),
        ({"security.inter.broker.protocol": "SSL"}, "inter.broker.listener.name"),
        ({"early.start.listeners": "NOWHERE"}, "early.start.listeners"),
        (SASL | {"sasl.enabled.mechanisms": "PLAIN"}, "sasl.mechanism.inter.broker.protocol"),
        ({"queued.max.request.bytes": "5"}, "queued.max.request.bytes"),
        ({"connections.max.idle.ms": "5"}, "connection.failed.authentication.delay.ms"),
        ({"max.connections.per.ip": "0"}, "max.connections.per.ip"),
        ({"max.connections.per.ip.overrides": "h"}, "max.connections.per.ip.overrides"),
        ({"log.roll.ms": "0"}, "log.roll.ms"),
        ({"log.roll.jitter.ms": "-1"}, "log.roll.jitter.ms"),
        ({"log.retention.ms": "0"}, "log.retention.ms"),
        ({"log.cleaner.max.compaction.lag.ms": "1", "log.cleaner.min.compaction.lag.ms": "2"}, "compaction.lag.ms"),
        ({"log.cleaner.dedupe.buffer.size": "1"}, "log.cleaner.dedupe.buffer.size"),
        ({"log.dirs": "/a", "cordoned.log.dirs": "/b"}, "cordoned.log.dirs"),
        ({"log.dirs": "/a", "cordoned.log.dirs": "*,/a"}, "cordoned.log.dirs"),
        ({"replica.fetch.wait.max.ms": "30001"}, "replica.socket.timeout.ms"),
        ({"replica.fetch.wait.max.ms": "30001", "replica.socket.timeout.ms": "40000"}, "replica.lag.time.max.ms"),
        (
            {"replica.selector.class": "com.example.Nearest"},
            "replica.selector.class: 'com.example.Nearest' is not known",
        ),
        ({"replica.selector.class": ""}, "it is org.apache.kafka.common.replica.RackAwareReplicaSelector, or not set"),
        ({"group.consumer.session.timeout.ms": "1"}, "group.consumer.session.timeout.ms"),
        (
            {"group.share.min.session.timeout.ms": "5000", "group.share.session.timeout.ms": "5000"},
            "group.share.heartbeat.interval.ms",
        ),
        ({"group.coordinator.rebalance.protocols": "consumer"}, "group.coordinator.rebalance.protocols"),
        ({"group.share.assignors": "a,b"}, "group.share.assignors"),
    ],
    ids=str,
)
def test_a_contradiction_names_its_key(static: dict[str, str], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(static, {})
    assert key in str(caught.value)


def test_kafkas_own_replica_selector_is_known_and_a_controller_alone_needs_none() -> None:
    name = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    assert load({"replica.selector.class": name}, {}).config.replica_selector_class == name
    alone = {"process.roles": "controller", "listeners": "CONTROLLER://127.0.0.1:0"}
    load({"replica.selector.class": "com.example.Nearest", **alone}, {})


@pytest.mark.parametrize("text", ["h:", "h:x", "h:-1", "a b:1", "h:\u0663", "h:" + "9" * 5000])
def test_an_override_of_connections_is_a_host_and_a_count(text: str) -> None:
    with pytest.raises(ConfigError, match="HOST:COUNT"):
        load({"max.connections.per.ip.overrides": text}, {})


def test_overrides_of_connections_are_read() -> None:
    config = load({"max.connections.per.ip.overrides": " h:5 ,, ::1 : 6 "}, {}).config
    assert connection_overrides(config) == {"h": 5, "::1": 6}
