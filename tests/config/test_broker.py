"""A broker's configuration: layers, listeners, and what several keys say together."""

from __future__ import annotations

from ottla.config.broker import BrokerConfig, Layers, is_known, plain_name
from ottla.config.listeners import SecurityProtocol
from ottla.config.loading import load
from ottla.config.values import Password


def config(**given: str) -> BrokerConfig:
    return load({name.replace("_", "."): text for name, text in given.items()}, {}).config


def test_the_strongest_layer_counts() -> None:
    layers = Layers(
        broker={"log.retention.bytes": "4"},
        cluster={"log.retention.bytes": "3", "message.max.bytes": "30"},
        static={"log.retention.bytes": "2", "message.max.bytes": "20", "num.partitions": "2"},
        filled={"log.retention.bytes": "1", "num.partitions": "1", "node.id": "1"},
    )
    made = BrokerConfig(layers)
    assert (made.log_retention_bytes, made.message_max_bytes, made.num_partitions, made.node_id) == (4, 30, 2, 1)
    assert made.is_set(BrokerConfig.num_partitions)
    assert not made.is_set(BrokerConfig.node_id)


def test_a_dynamic_value_takes_the_place_of_the_other_names_of_its_value() -> None:
    static = config(log_retention_minutes="5")
    changed = static.overlaid({"log.retention.ms": "7"}, {})
    assert (static.log_retention_minutes, static.log_retention_ms) == (5, None)
    assert (changed.log_retention_minutes, changed.log_retention_ms) == (None, 7)


def test_an_overlay_leaves_the_old_configuration_as_it_was() -> None:
    before = config()
    after = before.overlaid({"log.segment.bytes": "2000000"}, {})
    assert (before.log_segment_bytes, after.log_segment_bytes) == (1 << 30, 2_000_000)


def test_a_listener_has_values_of_its_own() -> None:
    static = {
        "ssl.keystore.password": "general",
        "listener.name.external.ssl.keystore.password": "special",
        "listener.name.external.sasl.jaas.config": "all",
        "listener.name.external.scram-sha-256.sasl.jaas.config": "scram",
        "listener.name.external.unknown": "x",
    }
    made = load(static, {}).config
    external = made.for_listener("EXTERNAL")
    assert made.ssl_keystore_password == Password("general")
    assert external.ssl_keystore_password == Password("special")
    assert external.sasl_jaas_config == Password("all")
    assert made.for_listener("EXTERNAL", "SCRAM-SHA-256").sasl_jaas_config == Password("scram")
    assert made.for_listener("OTHER") is made


def test_names_for_one_listener_are_known_by_the_key_behind_them() -> None:
    assert plain_name("listener.name.a.ssl.keystore.type") == "ssl.keystore.type"
    assert plain_name("listener.name.a.plain.sasl.jaas.config") == "sasl.jaas.config"
    assert plain_name("listener.name.a") == "listener.name.a"
    assert plain_name("log.dirs") == "log.dirs"
    assert is_known("listener.name.a.max.connections")
    assert not is_known("listener.name.a.nonsense")


def test_listeners_are_sorted_by_who_uses_them() -> None:
    made = config(
        listeners="INTERNAL://:9092,EXTERNAL://0.0.0.0:9094,CONTROLLER://:9093",
        advertised_listeners="INTERNAL://in:1,EXTERNAL://out:2",
        listener_security_protocol_map="INTERNAL:PLAINTEXT,EXTERNAL:SSL,CONTROLLER:PLAINTEXT",
        inter_broker_listener_name="internal",
        controller_listener_names="CONTROLLER",
    )
    assert [listener.name for listener in made.all_listeners] == ["INTERNAL", "EXTERNAL", "CONTROLLER"]
    assert [listener.name for listener in made.broker_listeners] == ["INTERNAL", "EXTERNAL"]
    assert [listener.name for listener in made.controller_listeners] == ["CONTROLLER"]
    assert [str(listener) for listener in made.advertised_broker_listeners] == ["INTERNAL://in:1", "EXTERNAL://out:2"]
    assert [str(listener) for listener in made.advertised_controller_listeners] == ["CONTROLLER://:9093"]
    assert made.inter_broker_listener == "INTERNAL"
    assert made.security_protocols["EXTERNAL"] is SecurityProtocol.SSL


def test_a_controller_is_found_where_it_says_or_where_the_voters_do() -> None:
    everywhere = {"listeners": "PLAINTEXT://:9092,CONTROLLER://0.0.0.0:9093"}
    advertised = everywhere | {"advertised.listeners": "PLAINTEXT://h:1,CONTROLLER://c:2"}
    voting = everywhere | {"controller.quorum.voters": "1@v:3"}
    own = {"listeners": "PLAINTEXT://:9092,CONTROLLER://here:9093", "controller.quorum.voters": "1@v:3"}
    broker = {"process.roles": "broker", "controller.quorum.voters": "2@v:3"}
    found = [
        [str(listener) for listener in load(given, {}).config.advertised_controller_listeners]
        for given in (everywhere, advertised, voting, own, broker)
    ]
    assert found == [["CONTROLLER://:9093"], ["CONTROLLER://c:2"], ["CONTROLLER://v:3"], ["CONTROLLER://here:9093"], []]


def test_directories_are_those_of_log_dirs_or_log_dir() -> None:
    made = config(log_dirs="/a,/b", metadata_log_dir="/m", cordoned_log_dirs="/b")
    assert (made.log_directories, made.metadata_directory) == (("/a", "/b"), "/m")
    assert made.cordoned_directories == ("/b",)
    assert config(log_dir="/c", cordoned_log_dirs="*").cordoned_directories == ("/c",)
    assert config().cordoned_directories == ()
