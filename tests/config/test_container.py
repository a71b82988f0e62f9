"""Settings in a container: ours, and beside the class by which Apache Kafka's image reads the same variables."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ottla.config.container import DATA_DIRECTORY, container_settings, key_of, variable_settings
from ottla.config.loading import load
from ottla.config.properties import parse_properties
from tests import jvm

VARIABLES = {
    "KAFKA_LOG_RETENTION_HOURS": "7",
    "KAFKA_LISTENER_NAME_MY__SIDE_SSL_KEY": "x",
    "KAFKA_A___B": "dash",
    "KAFKA_A____B": "four",
    "KAFKA_A_____B": "five",
    "KAFKA_A______B": "six",
    "KAFKA_KAFKA_METRICS_POLLING_INTERVAL_SECS": "9",
    "KAFKA_lower_case": "kept",
    "KAFKA_EMPTY": "",
    "KAFKA_BLANKS": "  two words  ",
    "KAFKA_ESCAPED": r"a\tb\\c \u0041",
    "KAFKA_CONTINUED": "one\\\n  two",
    "KAFKA_SEVERAL": "1\nnum.io.threads=5",
    "KAFKA_LETTERS": "zażółć",
    "KAFKA_EQUALS": "a=b:c",
    "KAFKA_HEAP_OPTS": "-Xmx1g",
    "KAFKA_JMX_PORT": "9999",
    "KAFKA_LOG4J_LOGGERS": "kafka=WARN",
    "NOT_KAFKA": "no",
    "XKAFKA_NO": "no",
}


def test_underscores_are_dots_dashes_and_underscores() -> None:
    assert key_of("KAFKA_LOG_RETENTION_HOURS") == "log.retention.hours"
    assert key_of("KAFKA_MY__LISTENER_A___B") == "my_listener.a-b"


def test_the_jvm_s_variables_set_nothing() -> None:
    assert variable_settings({"KAFKA_HEAP_OPTS": "-Xmx1g", "KAFKA_OPTS": "-ea", "PATH": "/bin"}) == {}


def test_cluster_id_is_a_setting_unless_empty() -> None:
    assert variable_settings({"CLUSTER_ID": "b3R0bGEtY29tcGF0LTAwMQ"}) == {"cluster.id": "b3R0bGEtY29tcGF0LTAwMQ"}
    assert variable_settings({"CLUSTER_ID": ""}) == {}


def test_with_nothing_set_there_is_a_listener_for_the_host_and_one_for_the_network() -> None:
    config, warnings = load(container_settings({}, "box", {}), {})
    assert warnings == []
    assert config.log_directories == (DATA_DIRECTORY,)
    told = {(listener.name, listener.host, listener.port) for listener in config.advertised_broker_listeners}
    assert told == {("PLAINTEXT_HOST", "localhost", 9092), ("PLAINTEXT", "box", 19092)}
    assert {listener.host for listener in config.broker_listeners} == {"0.0.0.0"}
    assert config.inter_broker_listener == "PLAINTEXT"


def test_who_says_where_to_listen_has_the_say() -> None:
    settings = container_settings({"KAFKA_LISTENERS": "PLAINTEXT://:7777"}, "box", {})
    assert settings == {"listeners": "PLAINTEXT://:7777", "log.dirs": DATA_DIRECTORY}


def test_who_says_only_where_it_is_found_listens_everywhere_on_these_ports() -> None:
    advertised = "PLAINTEXT://example.org:9092,INTERNAL://box:7000"
    settings = container_settings({"KAFKA_ADVERTISED_LISTENERS": advertised, "KAFKA_LISTENERS": ""}, "box", {})
    assert settings["listeners"] == "PLAINTEXT://0.0.0.0:9092,INTERNAL://0.0.0.0:7000"


def test_variables_win_over_the_file_and_both_over_the_container() -> None:
    in_file = {"log.dirs": "/data", "num.partitions": "2", "broker.id": "4"}
    settings = container_settings({"KAFKA_NUM_PARTITIONS": "3", "KAFKA_NODE_ID": "5"}, "box", in_file)
    assert settings["num.partitions"] == "3"
    assert settings["log.dirs"] == "/data"
    assert settings["node.id"] == "5"
    assert "broker.id" not in settings


@pytest.mark.jvm
def test_kafka_s_image_reads_the_same_out_of_variables(tmp_path: Path) -> None:
    """Kafka's class writes server.properties before it formats, which fails here: there is no node to format."""
    for name in ("default", "mounted", "final"):
        (tmp_path / name).mkdir()
    for name in ("server.properties", "log4j2.yaml", "tools-log4j2.yaml"):
        text = (Path(__file__).parents[2] / "docker" / "kafka" / name).read_text("utf-8")
        (tmp_path / "default" / name).write_text(text, encoding="utf-8")
    words = [f"--{name}-configs-dir={tmp_path / name}" for name in ("default", "mounted", "final")]
    command = [jvm.program("java"), "-Dsun.jnu.encoding=UTF-8", "-cp", jvm.kafka_classpath()]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KAFKA_")}
    environment = {**kept, **VARIABLES, "CLUSTER_ID": "b3R0bGEtY29tcGF0LTAwMQ", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        [*command, "kafka.docker.KafkaDockerWrapper", "setup", *words],
        env=environment,
        capture_output=True,
        check=False,
    )
    written = (tmp_path / "final" / "server.properties").read_bytes()
    assert written, done
    assert variable_settings(VARIABLES) == parse_properties(written, "Kafka's")
