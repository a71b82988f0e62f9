"""The network of the fault tests: who is reached, who is not, and that nothing is left of it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.faults.namespaces import CLIENTS, Network, a_network, missing

pytestmark = [
    pytest.mark.namespaces,
    pytest.mark.skipif(bool(missing()), reason=f"namespaces: a network of its own needs {', '.join(missing())}"),
]

SECONDS_MAX = 60
# Prints what comes in, a line for each datagram.
EAR = """
import socket
ear = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
ear.bind(("", 7))
print("listening", flush=True)
while True:
    data, sender = ear.recvfrom(100)
    print(data.decode(), flush=True)
    ear.sendto(b"heard " + data, sender)
"""


@pytest.fixture
def network() -> Iterator[Network]:
    with a_network(["1", "2"]) as made:
        yield made


@pytest.fixture
def ear(network: Network) -> Iterator[subprocess.Popen[str]]:
    """A listener in the namespace of 1."""
    command = [*network.inside("1"), sys.executable, "-c", EAR]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert line_of(process) == "listening"
            yield process
        finally:
            process.kill()


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def tell(network: Network, text: str) -> socket.socket:
    mouth = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    mouth.settimeout(SECONDS_MAX)
    mouth.sendto(text.encode(), (network.address("1"), 7))
    return mouth


def test_clients_reach_a_broker_and_hear_from_it(network: Network, ear: subprocess.Popen[str]) -> None:
    with tell(network, "a") as mouth:
        assert mouth.recv(100) == b"heard a"


def test_what_is_dropped_is_not_heard_of_and_no_error(network: Network, ear: subprocess.Popen[str]) -> None:
    network.drop((CLIENTS, "1"))
    tell(network, "a").close()
    network.heal()
    with tell(network, "b") as mouth:
        assert mouth.recv(100) == b"heard b"
    assert line_of(ear) == "b"


def test_one_way_is_open_while_the_other_is_not(network: Network, ear: subprocess.Popen[str]) -> None:
    network.drop(("1", CLIENTS))
    with tell(network, "a") as mouth:
        assert line_of(ear) == "a"
        mouth.setblocking(False)
        with pytest.raises(BlockingIOError):
            mouth.recv(100)
    network.heal(("1", CLIENTS))
    with tell(network, "b") as mouth:
        assert mouth.recv(100) == b"heard b"


def test_a_pair_is_dropped_once_and_healed_once(network: Network, ear: subprocess.Popen[str]) -> None:
    network.drop((CLIENTS, "1"), ("1", "2"))
    network.drop((CLIENTS, "1"))
    network.heal((CLIENTS, "1"), ("2", "1"))
    with tell(network, "a") as mouth:
        assert mouth.recv(100) == b"heard a"
    network.heal()


def test_the_test_is_back_where_it_was_when_the_block_has_ended() -> None:
    before = os.readlink("/proc/thread-self/ns/net")
    with a_network(["1"]) as made:
        holder = made._hosts["1"]
        assert os.readlink("/proc/thread-self/ns/net") != before
        with socket.socket() as one, pytest.raises(OSError, match="unreachable"):
            one.connect(("192.0.2.1", 9))
    assert os.readlink("/proc/thread-self/ns/net") == before
    assert not os.path.exists(holder.path)
