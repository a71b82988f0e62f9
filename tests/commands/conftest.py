"""One node for the tests of all commands that ask a cluster; each test has topics and groups of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.commands.command_line import CommandLine
from tests.commands.three_nodes import Nodes, three_nodes
from tests.server.node_process import a_node


@pytest.fixture(scope="session")
def ottla() -> Iterator[CommandLine]:
    with a_node(None, "--group.initial.rebalance.delay.ms", "0", "--offsets.topic.num.partitions", "3") as node:
        yield CommandLine(node.address)


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A name that no other test uses; there is no such topic."""
    return re.sub(r"[^a-zA-Z0-9]+", "-", request.node.nodeid.rpartition("/")[2])[-200:]


@pytest.fixture
def orders(ottla: CommandLine, topic: str) -> str:
    """A topic of three partitions with a record in each: a in 1, b in 2, f in 0."""
    ottla.ok("topics", "create", topic, "--partitions", "3")
    ottla.ok("produce", topic, "--key-separator", ":", stdin=b"a:1\nb:2\nf:3\n")
    return topic


@pytest.fixture(scope="session")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """Nodes 1 to 3, up and in sync; whoever stops one starts it again."""
    with three_nodes(tmp_path_factory.mktemp("three-nodes")) as nodes:
        yield nodes
