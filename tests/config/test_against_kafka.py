"""Every key beside Apache Kafka 4.3's own: names, types, defaults, limits, sources, alterations.

Kafka's classes run in java/ConfigHarness.java. Where Ottla differs on purpose, the difference stands here with its
reason, and a difference that is not listed fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from ottla.config.alter import (
    Alteration,
    Change,
    ResourceType,
    check_broker_changes,
    check_changes,
    incremental_changes,
    legacy_changes,
)
from ottla.config.broker import BrokerConfig, Layers
from ottla.config.describe import (
    RUN_TIME_ONLY,
    Described,
    describe_broker,
    describe_client_metrics,
    describe_cluster_default,
    describe_group,
    describe_topic,
)
from ottla.config.group import ClientMetricsConfig, GroupConfig
from ottla.config.keys import REQUIRED, Key, KeySet
from ottla.config.loading import load
from ottla.config.topic import TopicConfig, factor, log_config
from ottla.config.values import INT_MAX, LONG_MAX, SHORT_MAX, ConfigError, ConfigType, spell
from ottla.storage.log_config import LogConfig
from ottla.wire.errors import KafkaError
from tests.config.kafka import STATIC, Kafka, running

pytestmark = pytest.mark.jvm

SETS: dict[str, type[KeySet]] = {
    "broker": BrokerConfig,
    "topic": TopicConfig,
    "group": GroupConfig,
    "client_metrics": ClientMetricsConfig,
}
# Kafka's default is a temporary directory, which loses everything when the machine starts anew: see quick_start.
OTHER_DEFAULTS = {"log.dir"}


@pytest.fixture(scope="module")
def kafka() -> Iterator[Kafka]:
    with running() as harness:
        yield harness


def refused(attempt: Callable[[], object]) -> str:
    """Why we refuse, or ""."""
    try:
        attempt()
    except (ConfigError, KafkaError) as error:
        return str(error)
    return ""


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    names = ours.keys() | theirs.keys()
    return {name: (ours.get(name), theirs.get(name)) for name in names if ours.get(name) != theirs.get(name)}


def is_ours(name: str) -> bool:
    return name.startswith("ottla.") or name == "cluster.id"


def facts(key: Key[Any]) -> dict[str, Any]:
    return {
        "type": key.config_type.name,
        "has_default": key.default is not REQUIRED,
        "default": key.default_text,
        "importance": key.importance.name,
        "internal": key.internal,
        "update": key.update.value,
        "sensitive": key.sensitive,
    }


# -- declarations -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SETS)
def test_every_key_is_declared_as_kafka_declares_it(kafka: Kafka, name: str) -> None:
    theirs = kafka.ask("keys", set=name)
    if name == "broker":
        quotas = kafka.ask("keys", set="quota")
        assert set(quotas) == set(RUN_TIME_ONLY)
        theirs |= quotas
    ours = {key: facts(declared) for key, declared in SETS[name].keys.items() if not is_ours(key)}
    if name != "broker":
        theirs = {key: known | {"update": "read-only"} for key, known in theirs.items()}  # only brokers have modes
    different = differences(ours, theirs)
    assert set(different) == (OTHER_DEFAULTS if name == "broker" else set()), different


def test_synonyms_of_topic_and_group_keys_are_kafkas(kafka: Kafka) -> None:
    theirs = kafka.ask("synonyms")
    topics = {
        name: [[synonym, factor(synonym)] for synonym in key.synonyms]
        for name, key in TopicConfig.keys.items()
        if key.synonyms
    }
    assert topics == theirs["topic"]
    groups = {name: key.synonyms[0] if key.synonyms else None for name, key in GroupConfig.keys.items()}
    assert groups == theirs["group"]


# -- values -----------------------------------------------------------------------------------------------------------

WORDS = ("", " ", "x", "true", "TRUE", "False", "*", "a,b", "a,,b", "a,a", " a , b ", ",", "null", "1:2", "1:2,3:4")
WORDS += ("none", "gzip", "GZIP", "producer", "delete", "compact", "delete,compact", "CreateTime", "createtime")
WORDS += (
    "broker",
    "broker,controller",
    "required",
    "PLAINTEXT",
    "latest",
    "earliest",
    "by_duration",
    "by_duration:P1D",
)
WORDS += (
    "by_duration:PT1H",
    "by_duration:PT",
    "by_duration:x",
    "by_duration:-PT1H",
    "by_duration:PT1.5S",
    "by_duration:p1dt2h",
)
WORDS += (
    "1@h:1",
    "1@h",
    "@h:1",
    "x@h:1",
    "1@[::1]:9093",
    "1@h:99999",
    "1@0.0.0.0:1",
    "1@h:1,2@i:2",
    "h:1",
    "[::1]:1",
    "h",
)
WORDS += ("classic", "classic,consumer", "UPGRADE", "upgrade", "RS256", "rs256", "read_committed", "h:1,i:2", "1@h:1@2")
NUMBERS = (-(2**63) - 1, -(2**63), -(2**31) - 1, -(2**31), -(2**15) - 1, -131073, -131072, -3, -2, -1, 0, 1, 2, 3, 4, 5)
NUMBERS += (9, 10, 11, 17, 18, 22, 23, 25, 26, 99, 100, 101, 500, 501, 999, 1000, 1001, 1023, 1024, 1999, 2000, 2001)
NUMBERS += (3600, 3601, 9999, 10_000, 10_001, 15_000, 29_999, 30_000, 30_001, 86_400, 86_401, 524_287, 524_288)
NUMBERS += (2**20 - 1, 2**20, 3_600_000, 3_600_001, 2**23 - 1, 2**23, SHORT_MAX, SHORT_MAX + 1, INT_MAX, INT_MAX + 1)
NUMBERS += (LONG_MAX, LONG_MAX + 1)
SPELLINGS = ("+1", "1.0", "1e3", "0x10", "1_000", "1L", " 7 ", "007", "-0", "0.5", "1.0001", "-0.1", "NaN", "1.5d")
SPELLINGS += ("0.500001", "1e400", ".5", "5.", "00000000000000000000001", "--1", "+", "inf", "0.2", "0.51", "1E10")
TEXTS = (*WORDS, *map(str, NUMBERS), *SPELLINGS)

# Java classes are not loaded here, so that any name of one is taken.
CLASS_NAMES_ARE_NOT_LOADED = ConfigType.CLASS
# A hexadecimal double is read by nobody but Java.
NOT_READ = {(ConfigType.DOUBLE, "0x10")}


def ours(key: Key[Any], text: str) -> str | None:
    try:
        return spell(key.config_type, key.read(text))
    except ConfigError:
        return None


@pytest.mark.parametrize("name", SETS)
def test_every_key_takes_and_refuses_what_kafka_does(kafka: Kafka, name: str) -> None:
    different = []
    for key in SETS[name].keys.values():
        if is_ours(key.name) or key.config_type is CLASS_NAMES_ARE_NOT_LOADED:
            continue
        known_to = "quota" if key.name in RUN_TIME_ONLY else name
        for text in TEXTS:
            theirs = kafka.ask("parse", set=known_to, name=key.name, value=text).get("value")
            if ours(key, text) != theirs and (key.config_type, text) not in NOT_READ:
                different.append((key.name, text, ours(key, text), theirs))
    assert different == []


# -- whole configurations ---------------------------------------------------------------------------------------------

BOTH = {"process.roles": "broker,controller"}
BROKER = {
    "process.roles": "broker",
    "listeners": "PLAINTEXT://:9092",
    "controller.quorum.bootstrap.servers": "c:9093",
}
CONTROLLER = {"process.roles": "controller", "listeners": "CONTROLLER://:9093"}
CONFIGURATIONS: list[dict[str, str]] = [
    {},
    BROKER,
    CONTROLLER,
    # who and where
    {"broker.id": "1"},
    {"broker.id": "2"},
    {"node.id": "-1"},
    {"process.roles": "broker,broker"},
    {"process.roles": "observer"},
    {"controller.quorum.voters": "1@localhost:9093"},
    {"controller.quorum.voters": "2@localhost:9093"},
    {"controller.quorum.voters": "1@there:9993", "listeners": "PLAINTEXT://:9092,CONTROLLER://0.0.0.0:9093"},
    {"controller.quorum.voters": "1@0.0.0.0:9093"},
    {"listeners": "PLAINTEXT://:9092,CONTROLLER://0.0.0.0:9093"},
    {
        "controller.quorum.voters": "1@there:9993",
        "controller.listener.names": "C1,C2",
        "listeners": "PLAINTEXT://:9092,C1://:9093,C2://:9094",
    },
    {"controller.quorum.voters": "1@localhost:9093,2@other:9093", "controller.quorum.bootstrap.servers": ""},
    BROKER | {"controller.quorum.voters": "1@c:9093"},
    BROKER | {"controller.quorum.voters": "2@c:9093"},
    BROKER | {"controller.quorum.bootstrap.servers": ""},
    BROKER | {"controller.quorum.auto.join.enable": "true"},
    BROKER | {"listeners": "PLAINTEXT://:9092,CONTROLLER://:9093"},
    BROKER | {"controller.listener.names": "C1,C2"},
    BROKER | {"controller.listener.names": "SSL"},
    BROKER | {"controller.listener.names": "C1", "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT"},
    CONTROLLER | {"listeners": "CONTROLLER://:9093,PLAINTEXT://:9092"},
    CONTROLLER | {"listeners": "PLAINTEXT://:9092"},
    CONTROLLER | {"advertised.listeners": "CONTROLLER://c.example:9093"},
    CONTROLLER | {"inter.broker.listener.name": "CONTROLLER"},
    # listeners
    {"listeners": "PLAINTEXT://:9092"},
    {"listeners": "CONTROLLER://:9093"},
    {"listeners": "plaintext://localhost:0,CONTROLLER://127.0.0.1:0"},
    {"listeners": "PLAINTEXT://[::1]:9092,CONTROLLER://[::1]:9093"},
    {"listeners": "PLAINTEXT://::1:9092,CONTROLLER://:9093"},
    {"listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://[::1]:9092"},
    {"listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.2:9092"},
    {"listeners": "PLAINTEXT://h:9092,CONTROLLER://i:9092"},
    {"listeners": "PLAINTEXT://:9092,PLAINTEXT://:9094,CONTROLLER://:9093"},
    {"listeners": "PLAINTEXT://:9092,CONTROLLER://:9093,EXTERNAL://:9094"},
    {"listeners": "PLAINTEXT:9092,CONTROLLER://:9093"},
    {"listeners": "PLAINTEXT://:port,CONTROLLER://:9093"},
    {"listeners": "PLAINTEXT://a b:9092,CONTROLLER://:9093"},
    {"listeners": "PLAINTEXT"},
    {"listeners": ""},
    {"listeners": "SSL://:9092,CONTROLLER://:9093"},
    {"listeners": "SSL://:9092,CONTROLLER://:9093", "security.inter.broker.protocol": "SSL"},
    {
        "listeners": "INTERNAL://:9092,EXTERNAL://0.0.0.0:9094,CONTROLLER://:9093",
        "advertised.listeners": "INTERNAL://in:1,EXTERNAL://out.example:443",
        "listener.security.protocol.map": "INTERNAL:PLAINTEXT,external:PLAINTEXT , CONTROLLER:plaintext",
        "inter.broker.listener.name": "internal",
    },
    {
        "listeners": "INTERNAL://:9092,CONTROLLER://:9093",
        "listener.security.protocol.map": "INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
    },
    {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT"},
    {"listener.security.protocol.map": "PLAINTEXT:TELNET,CONTROLLER:PLAINTEXT"},
    {"advertised.listeners": "PLAINTEXT://h:1"},
    {"advertised.listeners": "PLAINTEXT://h:1,CONTROLLER://c:2"},
    {"advertised.listeners": "PLAINTEXT://0.0.0.0:1"},
    {"advertised.listeners": "OTHER://h:1"},
    {"advertised.listeners": "SSL://h:1"},
    {"advertised.listeners": "CONTROLLER://h:1"},
    {"listeners": "PLAINTEXT://0.0.0.0:9092,CONTROLLER://:9093"},
    {"inter.broker.listener.name": "PLAINTEXT"},
    {"inter.broker.listener.name": "PLAINTEXT", "security.inter.broker.protocol": "PLAINTEXT"},
    {"inter.broker.listener.name": "NOWHERE"},
    {"inter.broker.listener.name": "CONTROLLER"},
    {"security.inter.broker.protocol": "SSL"},
    {"early.start.listeners": "PLAINTEXT"},
    {"early.start.listeners": "NOWHERE"},
    {
        "listeners": "SASL_PLAINTEXT://:9092,CONTROLLER://:9093",
        "listener.security.protocol.map": "SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "security.inter.broker.protocol": "SASL_PLAINTEXT",
    },
    {
        "listeners": "SASL_PLAINTEXT://:9092,CONTROLLER://:9093",
        "listener.security.protocol.map": "SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "security.inter.broker.protocol": "SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
    },
    {
        "listeners": "SASL_PLAINTEXT://:9092,CONTROLLER://:9093",
        "listener.security.protocol.map": "SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "security.inter.broker.protocol": "SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.sasl.enabled.mechanisms": "PLAIN,GSSAPI",
    },
    # logs
    {"log.dirs": "/a, /b"},
    {"log.dirs": ""},
    {"log.dir": "/c"},
    {"metadata.log.dir": "/m"},
    {"cordoned.log.dirs": "/data/a"},
    {"cordoned.log.dirs": "/elsewhere"},
    {"cordoned.log.dirs": "*"},
    {"cordoned.log.dirs": "*,/data/a"},
    {"log.roll.ms": "0"},
    {"log.roll.ms": "1"},
    {"log.roll.jitter.ms": "-1"},
    {"log.retention.ms": "0"},
    {"log.retention.ms": "-1"},
    {"log.retention.ms": "-7"},
    {"log.retention.hours": "-1"},
    {"log.retention.minutes": "0"},
    {"log.cleaner.dedupe.buffer.size": str(1 << 20)},
    {"log.cleaner.dedupe.buffer.size": str((1 << 20) + 1)},
    {"log.cleaner.dedupe.buffer.size": str(1 << 22), "log.cleaner.threads": "4"},
    {"log.cleaner.min.compaction.lag.ms": "5", "log.cleaner.max.compaction.lag.ms": "4"},
    {"replica.fetch.wait.max.ms": "30001"},
    {"replica.fetch.wait.max.ms": "30001", "replica.socket.timeout.ms": "40000"},
    # connections
    {"queued.max.request.bytes": "1"},
    {"queued.max.request.bytes": "0"},
    {"queued.max.request.bytes": "104857600"},
    {"max.connections.per.ip": "0"},
    {"max.connections.per.ip": "0", "max.connections.per.ip.overrides": "127.0.0.1:5,::1:6"},
    {"max.connections.per.ip.overrides": "127.0.0.1"},
    {"max.connections.per.ip.overrides": "a b:5"},
    {"max.connections.per.ip.overrides": "h:x"},
    {"connections.max.idle.ms": "100"},
    {"connections.max.idle.ms": "101"},
    {"connections.max.idle.ms": "-1"},
    # groups
    {"group.coordinator.rebalance.protocols": "consumer"},
    {"group.coordinator.rebalance.protocols": "classic"},
    {"group.share.assignors": "simple,x"},
    {"group.share.max.size": "300", "group.share.max.share.sessions": "299"},
    {"group.streams.num.standby.replicas": "3"},
    {"group.share.record.lock.duration.ms": "60001"},
    {"group.share.record.lock.duration.ms": "14999"},
    {"group.share.delivery.count.limit": "2", "group.share.min.delivery.count.limit": "3"},
    {"group.share.partition.max.record.locks": "9999"},
    *(
        {f"group.{kind}.{what}": text}
        for kind in ("consumer", "share", "streams")
        for what, text in (
            ("session.timeout.ms", "44999"),
            ("session.timeout.ms", "60000"),
            ("session.timeout.ms", "60001"),
            ("heartbeat.interval.ms", "4999"),
            ("heartbeat.interval.ms", "15001"),
            ("max.session.timeout.ms", "44999"),
            ("min.heartbeat.interval.ms", "16000"),
            ("assignment.interval.ms", "15001"),
            ("min.assignment.interval.ms", "15001"),
        )
    ),
    *(
        {
            f"group.{kind}.heartbeat.interval.ms": "15000",
            f"group.{kind}.min.session.timeout.ms": "10000",
            f"group.{kind}.session.timeout.ms": session,
        }
        for kind in ("consumer", "share", "streams")
        for session in ("15000", "15001")
    ),
]


def endpoints(listeners: Any) -> list[list[Any]]:
    return [[listener.name, listener.host, listener.port, listener.protocol.name] for listener in listeners]


@pytest.mark.parametrize("given", CONFIGURATIONS, ids=str)
def test_a_whole_configuration_is_taken_or_refused_as_kafka_does(kafka: Kafka, given: dict[str, str]) -> None:
    static = STATIC | given
    if "log.dir" in given:
        del static["log.dirs"]
    theirs = kafka.ask("load", static=static)
    refusal = refused(lambda: load(static, {}))
    assert ("error" in theirs) == bool(refusal), f"Kafka: {theirs}, Ottla: {refusal or 'taken'}"
    if refusal:
        return
    config = load(static, {}).config
    assert endpoints(config.all_listeners) == theirs["listeners"]
    assert endpoints(config.advertised_broker_listeners) == theirs["advertised"]
    assert endpoints(config.advertised_controller_listeners) == theirs["controllers"]
    assert config.inter_broker_listener == theirs["inter_broker"]
    assert list(config.log_directories) == theirs["log_dirs"]
    assert config.metadata_directory == theirs["metadata_log_dir"]


# -- DescribeConfigs --------------------------------------------------------------------------------------------------

LAYERS: list[tuple[dict[str, str], dict[str, str], dict[str, str]]] = [
    ({}, {}, {}),
    ({"log.roll.hours": "1", "log.retention.minutes": "5", "min.insync.replicas": "2"}, {}, {}),
    (
        {
            "log.retention.minutes": "5",
            "log.retention.ms": "7",
            "compression.type": "zstd",
            "log.flush.interval.ms": "9",
        },
        {"log.retention.ms": "100", "log.roll.jitter.ms": "3", "message.max.bytes": "5000"},
        {"log.retention.ms": "99", "log.cleanup.policy": "compact,delete", "log.cleaner.min.cleanable.ratio": "0.0001"},
    ),
    (
        {
            "my.plugin.setting": "s3cret",
            "ssl.keystore.password": "secret",
            "listener.name.plaintext.ssl.keystore.password": "secret",
            "listener.name.plaintext.ssl.keystore.type": "PEM",
            "listener.name.plaintext.plain.sasl.jaas.config": "x required;",
            "log.flush.scheduler.interval.ms": "11",
            "unstable.api.versions.enable": "true",
        },
        {"another.plugin.setting": "1", "follower.replication.throttled.rate": "98"},
        {"leader.replication.throttled.rate": "99", "listener.name.plaintext.ssl.truststore.type": "PKCS12"},
    ),
    (
        {"log.retention.minutes": "5", "log.flush.scheduler.interval.ms": "4", "log.roll.hours": "3"},
        {"log.retention.ms": "9", "log.flush.interval.ms": "3"},
        {"log.roll.ms": "8"},
    ),
    ({"group.consumer.session.timeout.ms": "50000"}, {"group.consumer.assignment.interval.ms": "7"}, {}),
]
TOPIC_OVERRIDES: list[dict[str, str]] = [
    {},
    {"retention.ms": "5", "cleanup.policy": " compact , delete", "min.cleanable.dirty.ratio": "0.00001"},
    {"internal.segment.bytes": "1000", "leader.replication.throttled.replicas": "*", "preallocate": "TRUE"},
    {"compression.type": "zstd", "compression.zstd.level": "5", "compression.gzip.level": "4"},
    {"compression.type": "lz4", "compression.lz4.level": "2"},
    {"cleanup.policy": "compact", "max.compaction.lag.ms": "7000", "segment.jitter.ms": "5"},
]
GROUP_OVERRIDES: list[dict[str, str]] = [
    {},
    {"consumer.heartbeat.interval.ms": "6000", "share.isolation.level": "read_committed"},
    {"streams.session.timeout.ms": "99999", "share.auto.offset.reset": "by_duration:PT1H"},
]


def shown(described: list[Described]) -> dict[str, Any]:
    return {
        entry.name: {
            "value": entry.value,
            "source": int(entry.source),
            "type": int(entry.config_type),
            "read_only": entry.read_only,
            "sensitive": entry.sensitive,
            "documented": entry.documentation is not None,
            "synonyms": [[synonym.name, synonym.value, int(synonym.source)] for synonym in entry.synonyms],
        }
        for entry in described
        if not is_ours(entry.name)
    }


def layered(static: Mapping[str, str], cluster: Mapping[str, str], broker: Mapping[str, str]) -> BrokerConfig:
    both = {**static, "broker.id": static["node.id"]}  # Kafka writes the one under the name of the other as well
    return BrokerConfig(Layers(broker=broker, cluster=cluster, static=both))


@pytest.mark.parametrize("layers", LAYERS, ids=str)
def test_a_broker_is_described_as_kafka_describes_it(kafka: Kafka, layers: tuple[dict[str, str], ...]) -> None:
    static, cluster, broker = STATIC | layers[0], layers[1], layers[2]
    question = {"static": static, "cluster": cluster, "broker": broker, "type": "BROKER"}
    config = layered(static, cluster, broker)
    found = differences(shown(describe_broker(config)), kafka.ask("describe", name="1", **question))
    # The default itself differs, see above; and the rates at run time have a sentence of documentation here.
    assert found.keys() <= {"log.dir", *RUN_TIME_ONLY}, found
    for name in found.keys() - {"log.dir"}:
        mine, theirs = found[name]
        assert mine | {"documented": False} == theirs
    found = differences(shown(describe_cluster_default(config)), kafka.ask("describe", name="", **question))
    assert found.keys() <= set(RUN_TIME_ONLY), found


@pytest.mark.parametrize("overrides", TOPIC_OVERRIDES, ids=str)
@pytest.mark.parametrize("layers", LAYERS, ids=str)
def test_a_topic_is_described_and_logged_as_kafka_does(
    kafka: Kafka, layers: tuple[dict[str, str], ...], overrides: dict[str, str]
) -> None:
    static, cluster, broker = STATIC | layers[0], layers[1], layers[2]
    question = {"static": static, "cluster": cluster, "broker": broker, "overrides": overrides}
    config = layered(static, cluster, broker)
    theirs = kafka.ask("describe", type="TOPIC", name="t", **question)
    assert differences(shown(describe_topic(overrides, config)), theirs) == {}
    values = log_config(overrides, config)
    names = [*(name for name in LogConfig.__dataclass_fields__ if name != "producer_id_expiration_ms"), "roll_ms"]
    assert {name: getattr(values, name) for name in names} == kafka.ask("topic", **question)


@pytest.mark.parametrize("overrides", GROUP_OVERRIDES, ids=str)
@pytest.mark.parametrize("layers", LAYERS, ids=str)
def test_a_group_is_described_as_kafka_describes_it(
    kafka: Kafka, layers: tuple[dict[str, str], ...], overrides: dict[str, str]
) -> None:
    static, cluster, broker = STATIC | layers[0], layers[1], layers[2]
    question = {"static": static, "cluster": cluster, "broker": broker, "overrides": overrides}
    theirs = kafka.ask("describe", type="GROUP", name="g", **question)
    assert differences(shown(describe_group(overrides, layered(static, cluster, broker))), theirs) == {}


@pytest.mark.parametrize("overrides", [{}, {"interval.ms": "6000"}, {"match": "client_id=x", "metrics": "*"}], ids=str)
def test_a_telemetry_subscription_is_described_as_kafka_describes_it(kafka: Kafka, overrides: dict[str, str]) -> None:
    theirs = kafka.ask("describe", type="CLIENT_METRICS", name="s", static=STATIC, overrides=overrides)
    assert differences(shown(describe_client_metrics(overrides)), theirs) == {}


# -- alterations ------------------------------------------------------------------------------------------------------

SET, DELETE, APPEND, SUBTRACT = range(4)
ALTERATIONS: list[tuple[str, str, dict[str, str], list[tuple[str, int, str | None]]]] = [
    ("TOPIC", "t", {}, [("cleanup.policy", APPEND, "compact")]),
    ("TOPIC", "t", {}, [("cleanup.policy", APPEND, "delete")]),
    ("TOPIC", "t", {}, [("cleanup.policy", APPEND, "nonsense")]),
    ("TOPIC", "t", {"cleanup.policy": "compact"}, [("cleanup.policy", SUBTRACT, "compact")]),
    ("TOPIC", "t", {"cleanup.policy": "compact"}, [("cleanup.policy", SUBTRACT, "delete")]),
    ("TOPIC", "t", {"cleanup.policy": "compact,delete"}, [("cleanup.policy", APPEND, "compact")]),
    ("TOPIC", "t", {}, [("cleanup.policy", SUBTRACT, "delete")]),
    ("TOPIC", "t", {}, [("leader.replication.throttled.replicas", APPEND, "1:2,3:4")]),
    ("TOPIC", "t", {"retention.ms": "5"}, [("retention.ms", DELETE, None)]),
    ("TOPIC", "t", {"retention.ms": "5"}, [("retention.ms", SET, "5")]),
    ("TOPIC", "t", {"retention.ms": "5"}, [("retention.ms", SET, "6"), ("segment.ms", SET, "7")]),
    ("TOPIC", "t", {}, [("retention.ms", DELETE, None)]),
    ("TOPIC", "t", {}, [("retention.ms", SET, "-2")]),
    ("TOPIC", "t", {}, [("retention.ms", SET, "x")]),
    ("TOPIC", "t", {}, [("retention.ms", SET, "1" * 32768)]),
    ("TOPIC", "t", {}, [("retention.ms", APPEND, "5")]),
    ("TOPIC", "t", {}, [("retention.ms", SUBTRACT, "5")]),
    ("TOPIC", "t", {}, [("nonsense", SET, "5")]),
    ("TOPIC", "t", {}, [("nonsense", DELETE, None)]),
    ("TOPIC", "t", {}, [("nonsense", APPEND, "5")]),
    ("TOPIC", "", {}, [("retention.ms", SET, "5")]),
    ("TOPIC", "t", {}, [("min.compaction.lag.ms", SET, "5"), ("max.compaction.lag.ms", SET, "4")]),
    ("TOPIC", "t", {}, [("remote.storage.enable", SET, "true")]),
    ("TOPIC", "t", {"remote.storage.enable": "true"}, [("remote.storage.enable", SET, "false")]),
    (
        "TOPIC",
        "t",
        {"remote.storage.enable": "true"},
        [("remote.storage.enable", SET, "false"), ("remote.log.delete.on.disable", SET, "true")],
    ),
    ("BROKER", "1", {"log.retention.ms": "5"}, [("log.retention.ms", SET, "5")]),
    ("BROKER", "1", {}, [("log.cleanup.policy", APPEND, "compact")]),
    ("BROKER", "1", {}, [("anything.else", SET, "5")]),
    ("BROKER", "", {"a": "b"}, [("a", DELETE, None)]),
    ("BROKER", "", {}, [("a", DELETE, None)]),
    ("BROKER", "x", {}, [("a", SET, "b")]),
    ("BROKER", "-1", {}, [("a", SET, "b")]),
    ("GROUP", "g", {}, [("consumer.session.timeout.ms", SET, "44999")]),
    ("GROUP", "g", {}, [("consumer.session.timeout.ms", SET, "45000")]),
    ("GROUP", "g", {}, [("consumer.session.timeout.ms", SET, "60001")]),
    ("GROUP", "g", {}, [("consumer.session.timeout.ms", SET, "x")]),
    ("GROUP", "g", {}, [("consumer.heartbeat.interval.ms", SET, "15000")]),
    ("GROUP", "g", {}, [("share.heartbeat.interval.ms", SET, "4999")]),
    ("GROUP", "g", {}, [("share.record.lock.duration.ms", SET, "60001")]),
    ("GROUP", "g", {}, [("share.delivery.count.limit", SET, "11")]),
    ("GROUP", "g", {}, [("share.partition.max.record.locks", SET, "4001")]),
    ("GROUP", "g", {}, [("share.auto.offset.reset", SET, "sometime")]),
    ("GROUP", "g", {}, [("streams.num.standby.replicas", SET, "3")]),
    ("GROUP", "g", {}, [("streams.assignment.interval.ms", SET, "15001")]),
    ("GROUP", "g", {}, [("streams.initial.rebalance.delay.ms", SET, "99999")]),
    ("GROUP", "g", {}, [("nonsense", SET, "5")]),
    ("GROUP", "", {}, [("consumer.session.timeout.ms", SET, "45000")]),
    ("CLIENT_METRICS", "s", {}, [("interval.ms", SET, "100"), ("metrics", SET, "a,b")]),
    ("CLIENT_METRICS", "s", {}, [("interval.ms", SET, "x")]),
    ("CLIENT_METRICS", "s", {}, [("match", SET, "client_id=a.*,client_source_port=9.")]),
    ("CLIENT_METRICS", "s", {}, [("match", SET, "shoe_size=9")]),
    ("CLIENT_METRICS", "s", {}, [("match", SET, "client_id=[")]),
    ("CLIENT_METRICS", "s", {}, [("match", SET, "client_id")]),
    ("CLIENT_METRICS", "s", {}, [("match", APPEND, "client_id=x")]),
    ("CLIENT_METRICS", "s", {}, [("nonsense", SET, "5")]),
    ("CLIENT_METRICS", "", {}, [("interval.ms", SET, "500")]),
]


@pytest.mark.parametrize(("kind", "resource", "current", "operations"), ALTERATIONS, ids=lambda value: str(value)[:60])
def test_incremental_alterations_write_what_kafka_writes(
    kafka: Kafka, kind: str, resource: str, current: dict[str, str], operations: list[tuple[str, int, str | None]]
) -> None:
    question = {"static": STATIC, "type": kind, "name": resource, "current": current, "operations": operations}
    theirs = kafka.ask("alter", **question)
    config = load(STATIC, {}).config
    changes: list[Change] = []

    def alter() -> None:
        changes.extend(incremental_changes(ResourceType[kind], current, [Alteration(*row) for row in operations]))
        check_changes(ResourceType[kind], resource, current, changes, config)

    refusal = refused(alter)
    if refusal:
        assert refusal.partition(":")[0] == theirs.get("error"), (refusal, theirs)
    else:
        assert theirs == {"records": {change.name: change.value for change in changes}}


LEGACY: list[tuple[str, str, dict[str, str], dict[str, str]]] = [
    ("TOPIC", "t", {"retention.ms": "6", "segment.ms": "5"}, {"segment.ms": "5", "flush.ms": "7"}),
    ("TOPIC", "t", {"retention.ms": "6"}, {}),
    ("TOPIC", "t", {"retention.ms": "6"}, {"nonsense": "7"}),
    ("BROKER", "1", {"log.retention.ms": "6", "a": "5"}, {"a": "5"}),
]


@pytest.mark.parametrize(("kind", "resource", "current", "wanted"), LEGACY, ids=str)
def test_legacy_alterations_write_what_kafka_writes(
    kafka: Kafka, kind: str, resource: str, current: dict[str, str], wanted: dict[str, str]
) -> None:
    theirs = kafka.ask("alter", static=STATIC, type=kind, name=resource, current=current, wanted=wanted)
    changes = legacy_changes(ResourceType[kind], current, list(wanted.items()))
    refusal = refused(lambda: check_changes(ResourceType[kind], resource, current, changes, load(STATIC, {}).config))
    if refusal:
        assert refusal.partition(":")[0] == theirs.get("error"), (refusal, theirs)
    else:
        assert theirs == {"records": {change.name: change.value for change in changes}}


DYNAMIC: list[tuple[bool, dict[str, str]]] = [
    *(
        (True, {name: "x"})
        for name in ("log.retention.ms", "compression.type", "transaction.partition.verification.enable")
    ),
    *((each, {"node.id": "5"}) for each in (True, False)),
    *((each, {"advertised.listeners": "PLAINTEXT://h:1"}) for each in (True, False)),
    *((each, {"log.retention.ms": "5", "any.other": "x"}) for each in (True, False)),
    *((each, {"ssl.keystore.type": "PEM"}) for each in (True, False)),
    *((each, {"ssl.cipher.suites": "x"}) for each in (True, False)),
    *((each, {"sasl.jaas.config": "x"}) for each in (True, False)),
    *((each, {"listener.name.plaintext.ssl.keystore.type": "PEM"}) for each in (True, False)),
    *((each, {"listener.name.plaintext.max.connections": "5"}) for each in (True, False)),
    *((each, {"listener.name.plaintext.max.connections": "x"}) for each in (True, False)),
    *((each, {"listeners": "PLAINTEXT://:9099,CONTROLLER://:9093"}) for each in (True, False)),
    *((each, {"cordoned.log.dirs": "*"}) for each in (True, False)),
    *((each, {"leader.replication.throttled.rate": "-1"}) for each in (True, False)),
    *((each, {"leader.replication.throttled.rate": "1"}) for each in (True, False)),
    (True, {"cordoned.log.dirs": "/elsewhere"}),
    (True, {"listeners": "PLAINTEXT://:9099"}),
    (True, {"log.roll.ms": "0"}),
    (True, {"log.cleaner.dedupe.buffer.size": "5"}),
    (True, {"max.connections.per.ip": "0"}),
    (True, {"group.consumer.assignment.interval.ms": "999999"}),
    (True, {"min.insync.replicas": "0"}),
    (False, {"min.insync.replicas": "2"}),
]


@pytest.mark.parametrize(("per_broker", "texts"), DYNAMIC, ids=str)
def test_a_broker_takes_the_dynamic_values_that_kafka_takes(
    kafka: Kafka, per_broker: bool, texts: dict[str, str]
) -> None:
    theirs = kafka.ask("dynamic", static=STATIC, texts=texts, per_broker=per_broker)
    changes = legacy_changes(ResourceType.BROKER, {}, list(texts.items()))
    config = load(STATIC, {}).config
    refusal = refused(lambda: check_broker_changes(config, {}, changes, per_broker=per_broker))
    assert ("error" in theirs) == bool(refusal), f"Kafka: {theirs}, Ottla: {refusal or 'taken'}"
