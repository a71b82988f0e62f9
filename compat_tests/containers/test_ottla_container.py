"""OttlaContainer, as its users have it: kafka-python on the host, settings, networks, and what goes wrong."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from testcontainers.core.network import Network

from compat_tests.containers.images import Images
from compat_tests.containers.story import create_topic, received, send
from ottla.testing import OttlaContainer
from tests.testing.own_pytest import run_pytest
from tests.testing.test_testing_page import BLOCK, IN_CONTAINERS, PAGE

CLUSTER_ID = "b3R0bGEtZG9ja2VyLTAwOA"


def test_a_client_of_the_host_produces_and_consumes(images: Images) -> None:
    with OttlaContainer(images.ottla) as ottla:
        at = ottla.get_bootstrap_server()
        create_topic(at, "orders")
        send(at, "orders", [b"apples", b"pears"])
        assert received(at, "orders", 2) == [b"apples", b"pears"]


def test_two_know_nothing_of_each_other(images: Images) -> None:
    with OttlaContainer(images.ottla) as one, OttlaContainer(images.ottla) as other:
        assert one.get_bootstrap_server() != other.get_bootstrap_server()
        create_topic(one.get_bootstrap_server(), "mine")
        assert listed_by(other) == []
        assert listed_by(one) == ["mine"]


def test_settings_and_cluster_id_arrive(images: Images) -> None:
    node = OttlaContainer(images.ottla).with_kraft().with_cluster_id(CLUSTER_ID).with_setting("node.id", 7)
    with node:
        said = b"".join(node.get_logs()).decode()
    assert f"cluster {CLUSTER_ID}, node 7 serves" in said


@pytest.mark.parametrize("aliases", [[], ["store"]], ids=["by its host name", "by its alias"])
def test_its_network_finds_it(images: Images, aliases: list[str]) -> None:
    with Network() as network:
        one = OttlaContainer(images.ottla).with_network(network)
        other = OttlaContainer(images.ottla).with_network(network)
        if aliases:
            one.with_network_aliases(*aliases)
        with one, other:
            create_topic(one.get_bootstrap_server(), "seen")
            assert listed_by(other, one.get_internal_bootstrap_server()) == ["seen"]


def test_one_that_does_not_start_says_why_and_is_gone(images: Images) -> None:
    node = OttlaContainer(images.ottla, name="ottla-that-fails").with_setting("num.partitions", "none")
    with pytest.raises(RuntimeError, match="exited") as raised, node:
        pass
    assert "num.partitions" in "".join(raised.value.__notes__)
    command = ("docker", "ps", "--all", "--quiet", "--filter", "name=ottla-that-fails")
    assert subprocess.run(command, capture_output=True, check=True).stdout == b""


def test_the_page_for_users_is_right(images: Images, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTTLA_IMAGE", images.ottla)
    block = dict(BLOCK.findall(PAGE.read_text(encoding="utf-8")))[IN_CONTAINERS]
    said, status = run_pytest(tmp_path, **{IN_CONTAINERS: block})
    assert (status, said.splitlines()[-1].split(" in ")[0]) == (0, "1 passed"), said


def listed_by(container: OttlaContainer, bootstrap: str = "localhost:19092") -> list[str]:
    """The topics of a broker, as a command in a container sees them that goes where the broker says."""
    listed = container.exec(["ottla", "topics", "list", "--bootstrap-server", bootstrap])
    assert listed.exit_code == 0, listed.output
    lines = listed.output.decode().splitlines()
    return [line.split()[0] for line in lines if not line.startswith(("TOPIC", "__"))]
