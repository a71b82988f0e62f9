"""DescribeConfigs: sources, synonyms, secrets. What Kafka itself shows is compared in test_against_kafka.py."""

from __future__ import annotations

from ottla.config.broker import BrokerConfig, Layers
from ottla.config.describe import (
    ConfigSource,
    Described,
    Synonym,
    chosen,
    describe_broker,
    describe_client_metrics,
    describe_cluster_default,
    describe_group,
    describe_topic,
)
from ottla.config.values import ConfigType

STATIC = {"node.id": "1", "broker.id": "1", "process.roles": "broker", "controller.listener.names": "C"}


def layered(broker: dict[str, str], cluster: dict[str, str], static: dict[str, str]) -> BrokerConfig:
    return BrokerConfig(Layers(broker=broker, cluster=cluster, static=STATIC | static))


def by_name(described: list[Described]) -> dict[str, Described]:
    return {entry.name: entry for entry in described}


def test_a_topic_key_shows_every_value_behind_it() -> None:
    config = layered({"log.retention.ms": "2"}, {"log.retention.ms": "3"}, {"log.retention.ms": "4"})
    entry = by_name(describe_topic({"retention.ms": "1"}, config))["retention.ms"]
    assert (entry.value, entry.source, entry.config_type) == ("1", ConfigSource.DYNAMIC_TOPIC_CONFIG, ConfigType.LONG)
    assert (entry.read_only, entry.sensitive) == (False, False)
    assert entry.documentation
    assert entry.synonyms == (
        Synonym("retention.ms", "1", ConfigSource.DYNAMIC_TOPIC_CONFIG),
        Synonym("log.retention.ms", "2", ConfigSource.DYNAMIC_BROKER_CONFIG),
        Synonym("log.retention.ms", "3", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
        Synonym("log.retention.ms", "4", ConfigSource.STATIC_BROKER_CONFIG),
        Synonym("log.retention.hours", "168", ConfigSource.DEFAULT_CONFIG),
    )


def test_a_topic_key_without_synonyms_has_a_default() -> None:
    described = by_name(describe_topic({}, layered({}, {}, {})))
    assert described["remote.storage.enable"].source is ConfigSource.DEFAULT_CONFIG
    assert described["remote.storage.enable"].synonyms == ()
    assert "internal.segment.bytes" not in described


def test_secrets_and_what_nobody_knows_have_no_value() -> None:
    described = describe_broker(layered({}, {}, {"ssl.key.password": "hunter2", "my.token": "hunter2"}))
    assert not any("hunter2" in str(entry) for entry in described)
    entries = by_name(described)
    assert (entries["ssl.key.password"].sensitive, entries["my.token"].sensitive) == (True, True)
    assert (entries["my.token"].config_type, entries["my.token"].documentation) == (0, None)


def test_a_value_for_one_listener_is_shown_before_the_plain_one() -> None:
    name = "listener.name.plaintext.ssl.keystore.type"
    entry = by_name(describe_broker(layered({}, {}, {name: "PEM"})))[name]
    assert (entry.value, entry.config_type, entry.read_only) == ("PEM", ConfigType.STRING, True)
    assert [synonym.value for synonym in entry.synonyms] == ["PEM", "JKS"]


def test_a_broker_key_says_whether_it_can_change() -> None:
    described = by_name(describe_broker(layered({}, {}, {})))
    assert described["node.id"].read_only
    assert not described["log.retention.ms"].read_only
    assert "leader.replication.throttled.rate" not in described


def test_the_cluster_shows_what_was_set_for_it_alone() -> None:
    config = layered({"log.retention.ms": "2"}, {"log.retention.ms": "3"}, {"log.retention.ms": "4"})
    (entry,) = describe_cluster_default(config)
    assert entry.synonyms == (Synonym("log.retention.ms", "3", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),)


def test_a_group_shows_its_own_its_brokers_and_kafkas_values() -> None:
    config = layered({}, {}, {"group.consumer.session.timeout.ms": "50000"})
    described = by_name(describe_group({"share.isolation.level": "read_committed"}, config))
    assert described["share.isolation.level"].source is ConfigSource.DYNAMIC_GROUP_CONFIG
    assert described["consumer.session.timeout.ms"].source is ConfigSource.STATIC_BROKER_CONFIG
    assert described["share.auto.offset.reset"].source is ConfigSource.DEFAULT_CONFIG


def test_a_subscription_shows_every_key() -> None:
    described = by_name(describe_client_metrics({"interval.ms": "500"}))
    assert described["interval.ms"].source is ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG
    assert (described["match"].value, described["match"].source) == ("", ConfigSource.DEFAULT_CONFIG)


def test_names_choose_and_no_names_choose_everything() -> None:
    described = describe_client_metrics({})
    assert chosen(described, None) == chosen(described, []) == described
    assert [entry.name for entry in chosen(described, ["match", "unknown"])] == ["match"]
