"""A real node among hostile clients: it lives, its memory stays small, and honest clients notice nothing.

Ten thousand connections with damaged requests on each of two listeners, five thousand idle ones and two hundred that
ask and do not read, all at once, while somebody produces. Memory is the kernel's word for the largest it ever was.
"""

from __future__ import annotations

import errno
import logging
import resource
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from ottla.client.blocking import Client
from ottla.server.descriptors import raise_limit
from ottla.wire.messages.fetch import FetchRequest
from ottla.wire.messages.metadata import MetadataRequest
from tests.server.hostile_requests import HostileRequests
from tests.server.node_process import NodeProcess, a_node
from tests.server.test_node_process import MAPPED, SETTINGS, TOPIC, all_values, batch, create_topic
from tests.server.world import FETCH, fetching
from tests.server.world import Client as Encoder

log = logging.getLogger(__name__)

SEED = 20
# Nobody hits upon it: whoever may ask for anything may have a broker unregistered, too, if he knows its number.
NODE_ID = "1234567"
HOSTILE_COUNT = 10_000
IDLE_COUNT = 5_000
SLOW_COUNT = 200
MEMORY_BYTES_MAX = 150 << 20
# What this process and the node need besides connections.
OTHER_DESCRIPTORS = 1_000
SECONDS_MAX = 60


@contextmanager
def a_busy_node(directory: Path, *words: str) -> Iterator[NodeProcess]:
    """With two listeners and a topic that holds some data."""
    raise_limit()  # the node inherits this, and raises its own as well
    listeners = "PLAINTEXT://127.0.0.1:0,OTHER://127.0.0.1:0"
    words = (*MAPPED, "--node.id", NODE_ID, "--ottla.log.level", "ERROR", *words)
    with a_node(directory, *words, listeners=listeners) as node:
        with Client(node.address, SETTINGS) as client:
            create_topic(client)
            create_topic(client, "data")
            for _ in range(20):
                client.produce("data", 0, batch(bytes(900_000)))
        yield node


def memory_bytes(node: NodeProcess, which: str = "VmHWM") -> int:
    """The resident memory of the node: the most it ever had, or what it has now."""
    with open(f"/proc/{node.pid}/status") as status:
        (line,) = [line for line in status if line.startswith(which)]
    return int(line.split()[1]) << 10


def connect(address: str) -> socket.socket:
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=SECONDS_MAX)


class Honest:
    """Somebody who produces one record after the other, each acknowledged before the next, until told to stop."""

    def __init__(self, node: NodeProcess) -> None:
        self.count = 0
        self.error: BaseException | None = None
        self._address = node.address
        self._is_over = threading.Event()
        self._progress = threading.Condition()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Honest:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._is_over.set()
        self._thread.join(SECONDS_MAX)

    def _run(self) -> None:
        try:
            with Client(self._address, SETTINGS) as client:
                while not self._is_over.is_set():
                    client.produce(TOPIC, 0, batch(b"%d" % self.count))
                    with self._progress:
                        self.count += 1
                        self._progress.notify()
        except BaseException as error:
            with self._progress:
                self.error = error
                self._progress.notify()

    def goes_on(self) -> None:
        """Wait until ten more were acknowledged."""
        with self._progress:
            wanted = self.count + 10
            assert self._progress.wait_for(lambda: self.error or self.count >= wanted, SECONDS_MAX), self.count
        assert self.error is None, self.error


def attack(address: str, first: int, count: int) -> None:
    """One connection after the other; each is read to its end, so that none is overtaken."""
    requests = HostileRequests(SEED)
    for number in range(first, first + count):
        try:
            with connect(address) as connected:
                connected.sendall(requests.make(number))
                connected.shutdown(socket.SHUT_WR)
                while connected.recv(1 << 16):
                    pass
        except OSError as error:
            # It was cut off in the middle of what it had to say, or before it could say that this was all.
            if not isinstance(error, ConnectionError) and error.errno != errno.ENOTCONN:
                raise


def ask_and_do_not_read(address: str) -> socket.socket:
    """A client that asks for everything there is, many times over."""
    encoder = Encoder.__new__(Encoder)
    encoder.correlation_id = 0
    asked: tuple[FetchRequest | MetadataRequest, int]
    data = b""
    for number in range(200):
        asked = (fetching(topic="data"), FETCH) if number % 2 else (MetadataRequest(topics=None), 12)
        data += Encoder.encode(encoder, *asked)
    connected = connect(address)
    connected.setblocking(False)
    connected.send(data)
    return connected


def test_hostile_clients_cost_little_and_honest_ones_go_on(tmp_path: Path) -> None:
    with ExitStack() as stack:
        node = stack.enter_context(a_busy_node(tmp_path))
        honest = stack.enter_context(Honest(node))
        honest.goes_on()
        idle_bytes = memory_bytes(node, "VmRSS")

        room = resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2 - OTHER_DESCRIPTORS
        if room < IDLE_COUNT:
            pytest.skip(f"{room} descriptors are left for connections, {IDLE_COUNT} are needed (ulimit -Hn)")
        for number in range(IDLE_COUNT):
            stack.enter_context(connect(node.addresses[number % 2]))
        honest.goes_on()
        with_idle_bytes = memory_bytes(node)
        for number in range(SLOW_COUNT):
            stack.enter_context(ask_and_do_not_read(node.addresses[number % 2]))
        honest.goes_on()
        with_slow_bytes = memory_bytes(node)
        attackers = [
            threading.Thread(target=attack, args=(address, number * HOSTILE_COUNT, HOSTILE_COUNT))
            for number, address in enumerate(node.addresses)
        ]
        for attacker in attackers:
            attacker.start()
        honest.goes_on()
        for attacker in attackers:
            attacker.join()
        honest.goes_on()
        grown = [round((size - idle_bytes) / 2**20) for size in (with_idle_bytes, with_slow_bytes, memory_bytes(node))]
        log.info("MB above %d: idle, slow, all: %s; %d honest requests", idle_bytes >> 20, grown, honest.count)
        assert memory_bytes(node) - idle_bytes < MEMORY_BYTES_MAX, grown
        honest.__exit__()
        assert honest.error is None
        assert all_values(node) == [b"%d" % number for number in range(honest.count)]
        assert node.stop() == 0, node.printed[-5:]
        assert not any("Traceback" in line for line in node.printed), node.printed[:20]


def test_large_requests_that_never_end_do_not_fill_the_memory(tmp_path: Path) -> None:
    """Thirty clients announce 100 MB each, and send 15 MB: three times what is allowed in all."""
    with ExitStack() as stack:
        node = stack.enter_context(a_busy_node(tmp_path))
        honest = stack.enter_context(Honest(node))
        honest.goes_on()
        idle_bytes = memory_bytes(node, "VmRSS")
        part = bytes(1 << 20)
        for _ in range(30):
            connected = stack.enter_context(connect(node.address))
            with suppress(ConnectionError):  # it may be the one that has to go
                connected.sendall(struct.pack(">i", 100 << 20))
                for _ in range(15):
                    connected.sendall(part)
            honest.goes_on()
        log.info("MB above %d: %d", idle_bytes >> 20, (memory_bytes(node) - idle_bytes) >> 20)
        assert memory_bytes(node) - idle_bytes < MEMORY_BYTES_MAX
        honest.__exit__()
        assert honest.error is None
        with Client(node.addresses[1], SETTINGS) as client:
            assert client.produce(TOPIC, 0, batch(bytes(900_000))).base_offset == honest.count  # type: ignore[union-attr]
