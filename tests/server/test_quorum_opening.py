"""Who makes a quorum of its own at the first start, and who waits to be told of one."""

from __future__ import annotations

import pytest

from ottla.cluster.bootstrap import Endpoint, feature_records
from ottla.config.loading import load
from ottla.server.formatting import write_first_records
from ottla.server.quorum_opening import is_own_address, is_quorum_elsewhere, open_quorum, open_store
from tests.server.metadata_world import CLUSTER_ID, DIRECTORY_ID, FEATURES, HOME
from tests.storage.fake_disk import FakeDisk

OWN = [Endpoint("CONTROLLER", "localhost", 9093)]
NODE = {
    "node.id": "1",
    "log.dirs": HOME,
    "listeners": "PLAINTEXT://:9092,CONTROLLER://localhost:9093",
    "controller.listener.names": "CONTROLLER",
    "process.roles": "broker,controller",
}
BOOTSTRAP, VOTERS = "controller.quorum.bootstrap.servers", "controller.quorum.voters"


@pytest.mark.parametrize(
    ("settings", "is_elsewhere"),
    [
        ({}, False),
        ({BOOTSTRAP: "localhost:9093"}, False),
        ({BOOTSTRAP: "another.name:9093"}, False),
        ({BOOTSTRAP: "another.machine:9093"}, True),
        ({BOOTSTRAP: "localhost:9094"}, True),
        ({BOOTSTRAP: "one:9093,two:9093"}, True),
        ({VOTERS: "1@localhost:9093"}, True),
        ({VOTERS: "1@localhost:9093,2@localhost:9094"}, True),
    ],
)
def test_who_is_alone_begins_and_who_names_others_waits(settings: dict[str, str], is_elsewhere: bool) -> None:
    assert is_quorum_elsewhere(load(NODE | settings, {}).config, OWN, "another.name".__eq__) is is_elsewhere


def test_this_machine_is_known_by_its_addresses() -> None:
    assert is_own_address("127.0.0.1")
    assert not is_own_address("192.0.2.1"), "an address for documentation is nobody's (RFC 5737)"
    assert not is_own_address("nobody.invalid"), "nor is a name that cannot be (RFC 2606)"


def test_who_was_formatted_without_voters_waits_for_them() -> None:
    """Even where the only bootstrap server could be itself; one that names no server at all is alone."""
    for settings, voters in (({BOOTSTRAP: "localhost:9093"}, []), ({}, [1])):
        disk = FakeDisk()
        disk.make_directory(HOME)
        write_first_records(disk, [HOME], feature_records(FEATURES), 1)
        config = load(NODE | settings, {}).config
        store = open_store(disk, config, FEATURES, DIRECTORY_ID, OWN, 1)
        quorum = open_quorum(store, config, CLUSTER_ID, DIRECTORY_ID, OWN, lambda: 1)
        assert quorum.raft.voters.ids == voters
        store.abandon()


@pytest.mark.parametrize(
    ("settings", "voters", "bootstrap_count"),
    [({}, [1], 0), ({VOTERS: "1@localhost:9093,2@other:9093"}, [1, 2], 0), ({BOOTSTRAP: "a:1,b:2"}, [], 2)],
)
def test_the_first_start_names_the_voters_it_may_name(
    settings: dict[str, str], voters: list[int], bootstrap_count: int
) -> None:
    disk = FakeDisk()
    disk.make_directory(HOME)
    config = load(NODE | settings, {}).config
    store = open_store(disk, config, FEATURES, DIRECTORY_ID, OWN, 1)
    quorum = open_quorum(store, config, CLUSTER_ID, DIRECTORY_ID, OWN, lambda: 1)
    assert quorum.raft.voters.ids == voters
    assert quorum.raft.kraft_version == (1 if voters == [1] else 0)
    assert len(quorum._config.bootstrap_servers) == bootstrap_count
    store.abandon()
