"""Properties files and command lines become texts."""

from __future__ import annotations

import pytest

from ottla.config.properties import merged, parse_arguments, parse_properties
from ottla.config.values import ConfigError

FILE = rb"""# a comment
! another
broker.id=1
listeners = PLAINTEXT://:9092,\
            CONTROLLER://:9093
log.dirs: /data/a
num.partitions 3
empty=
sasl.jaas.config=org.example.Module required \
    username="a" \
    password="b=c:d";
unicode=\u00e4\u20ac
latin=""" + "ä".encode("latin-1")


def test_a_file_is_read_as_java_reads_it() -> None:
    assert parse_properties(FILE, "server.properties") == {
        "broker.id": "1",
        "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
        "log.dirs": "/data/a",
        "num.partitions": "3",
        "empty": "",
        "sasl.jaas.config": 'org.example.Module required username="a" password="b=c:d";',
        "unicode": "ä€",
        "latin": "ä",
    }


def test_a_file_that_java_would_not_read_is_an_error_that_names_it() -> None:
    with pytest.raises(ConfigError, match=r"server\.properties: .*\\uzzzz"):
        parse_properties(rb"a=\uzzzz", "server.properties")


def test_settings_on_a_command_line_have_two_forms_and_a_short_one() -> None:
    words = [
        "--node.id",
        "5",
        "--log.dirs=/a,/b",
        "--ottla.ephemeral",
        "--log.retention.ms",
        "-1",
        "--compression.type=",
    ]
    assert parse_arguments(words) == {
        "node.id": "5",
        "log.dirs": "/a,/b",
        "ottla.ephemeral": "true",
        "log.retention.ms": "-1",
        "compression.type": "",
    }
    assert parse_arguments(["--ottla.ephemeral"]) == {"ottla.ephemeral": "true"}


@pytest.mark.parametrize("words", [["node.id=5"], ["--"], ["--=5"], ["--a", "1", "2"]])
def test_a_word_that_is_no_setting_is_an_error(words: list[str]) -> None:
    with pytest.raises(ConfigError, match="--KEY VALUE"):
        parse_arguments(words)


def test_a_later_layer_wins_and_takes_the_nodes_id_under_either_name() -> None:
    file = {"broker.id": "1", "log.dirs": "/a"}
    assert merged(file, {"node.id": "2"}) == {"node.id": "2", "log.dirs": "/a"}
    assert merged(file, {"log.dirs": "/b"}) == {"broker.id": "1", "log.dirs": "/b"}
    assert merged() == {}
