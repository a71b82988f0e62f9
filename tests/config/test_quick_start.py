"""With nothing set a node is a cluster of its own; what is set is left alone."""

from __future__ import annotations

import pytest

from ottla.config.broker import BrokerConfig
from ottla.config.describe import ConfigSource, describe_broker
from ottla.config.loading import load
from ottla.config.quick_start import CONTROLLER_ENDPOINT, completed, data_directory, filled_in

HOME = {"HOME": "/h"}


def test_with_nothing_set_a_node_is_broker_and_controller() -> None:
    config, warnings = load({}, HOME)
    assert warnings == []
    assert (config.node_id, config.broker_id) == (1, 1)
    assert (config.is_broker, config.is_controller) == (True, True)
    assert [str(listener) for listener in config.broker_listeners] == ["PLAINTEXT://:9092"]
    assert [str(listener) for listener in config.controller_listeners] == [CONTROLLER_ENDPOINT]
    assert config.log_directories == ("/h/.local/share/ottla/node-1",)
    assert config.metadata_directory == "/h/.local/share/ottla/node-1"
    assert config.controller_quorum_voters == ()


def test_what_is_filled_in_counts_as_a_default() -> None:
    config = load({"broker.id": "7"}, HOME).config
    assert config.node_id == 7
    assert not config.is_set(BrokerConfig.log_dirs)
    assert config.is_set(BrokerConfig.node_id)
    assert config.is_set(BrokerConfig.broker_id)
    sources = {entry.name: (entry.value, entry.source) for entry in describe_broker(config)}
    assert sources["log.dirs"] == ("/h/.local/share/ottla/node-7", ConfigSource.DEFAULT_CONFIG)
    assert sources["process.roles"] == ("broker,controller", ConfigSource.DEFAULT_CONFIG)
    assert sources["broker.id"] == ("7", ConfigSource.STATIC_BROKER_CONFIG)


@pytest.mark.parametrize(
    ("static", "listeners"),
    [
        ({"listeners": "PLAINTEXT://:9095"}, f"PLAINTEXT://:9095,{CONTROLLER_ENDPOINT}"),
        ({"listeners": "PLAINTEXT://:1, controller://:2"}, "PLAINTEXT://:1, controller://:2"),
        ({"listeners": "PLAINTEXT://:1", "controller.listener.names": "C"}, "PLAINTEXT://:1"),
        ({"listeners": "PLAINTEXT://:1", "process.roles": "broker"}, "PLAINTEXT://:1"),
        ({"listeners": "PLAINTEXT://:1", "process.roles": "controller"}, "PLAINTEXT://:1"),
    ],
)
def test_listeners_get_one_for_the_controller_only_where_none_was_thought_of(
    static: dict[str, str], listeners: str
) -> None:
    assert completed(static)["listeners"] == listeners
    assert "listeners" not in filled_in(static, {})


def test_listeners_that_are_not_set_stay_kafkas_for_a_broker_alone() -> None:
    assert "listeners" not in filled_in({"process.roles": "broker"}, {})
    assert completed({"process.roles": "broker"}) == {"process.roles": "broker"}


@pytest.mark.parametrize("name", ["node.id", "broker.id"])
def test_a_node_that_is_given_its_id_by_one_name_is_given_it_by_both(name: str) -> None:
    static = {name: "7", "process.roles": "broker"}
    assert completed(static) == {"node.id": "7", "broker.id": "7", "process.roles": "broker"}
    assert not filled_in(static, {}).keys() & {"node.id", "broker.id"}


def test_a_log_directory_that_is_set_is_enough() -> None:
    assert "log.dirs" not in filled_in({"log.dir": "/a"}, HOME)
    assert load({"log.dir": "/a"}, HOME).config.log_directories == ("/a",)


@pytest.mark.parametrize(
    ("environment", "directory"),
    [
        ({"XDG_DATA_HOME": "/x", "HOME": "/h"}, "/x/ottla"),
        ({"HOME": "/h"}, "/h/.local/share/ottla"),
        ({}, "ottla-data"),
    ],
)
def test_data_goes_where_a_users_data_goes(environment: dict[str, str], directory: str) -> None:
    assert data_directory(environment) == directory
