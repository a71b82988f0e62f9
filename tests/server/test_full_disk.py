"""A node whose disk is full: it says so to clients and to its owner, lives, reads, and goes on when there is space.

The disk is a small one in memory, in a mount namespace of the node's own, so that nothing stays mounted whatever
happens; it is reached through /proc. That takes root on Linux, for which reason these tests are part of `loop`.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ottla.client.blocking import Client
from ottla.client.settings import Settings
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.topics import CreateTopicsRequest
from tests.server.node_process import ANNOUNCEMENT, NodeProcess, a_process
from tests.server.test_node_process import TOPIC, a_client, all_values, batch, create_topic

DISK_BYTES = 32 << 20
MOUNT = 'mount -t tmpfs -o size=$1 none "$2" && shift 2 && exec "$@"'
IMPATIENT = Settings(retry_timeout_ms=100)


def missing() -> list[str]:
    lacking = [tool for tool in ("unshare", "mount") if shutil.which(tool) is None]
    return lacking if os.geteuid() == 0 else [*lacking, "root"]


pytestmark = [
    pytest.mark.loop,
    pytest.mark.skipif(bool(missing()), reason=f"loop: a disk of its own needs {', '.join(missing())}"),
]


@contextmanager
def on_a_small_disk(directory: Path, *words: str) -> Iterator[NodeProcess]:
    inside = (
        "unshare",
        "--mount",
        "--propagation",
        "private",
        "sh",
        "-c",
        MOUNT,
        "sh",
        str(DISK_BYTES),
        str(directory),
    )
    place = ("--log.dirs", str(directory / "logs"), "--listeners", "PLAINTEXT://127.0.0.1:0")
    with a_process(*place, *words, inside=inside) as node:
        node.line(ANNOUNCEMENT)
        yield node


class Filler:
    """A file that takes all the space of the node's disk."""

    def __init__(self, node: NodeProcess, directory: Path) -> None:
        self.path = Path(f"/proc/{node.pid}/root{directory}/filler")

    def __enter__(self) -> None:
        with open(self.path, "wb", buffering=0) as file:
            for size_bytes in (1 << 20, 4096):
                try:
                    while file.write(bytes(size_bytes)) == size_bytes:
                        pass
                except OSError:
                    continue

    def __exit__(self, *error: object) -> None:
        self.path.unlink(missing_ok=True)  # its disk goes with the node


def error_of_produce(client: Client, value: bytes) -> ErrorCode:
    try:
        client.produce(TOPIC, 0, batch(value))
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE


def error_of_creation(client: Client, name: str) -> ErrorCode:
    topic = CreateTopicsRequest.CreatableTopic(
        name=name, num_partitions=1, replication_factor=1, assignments=[], configs=[]
    )
    response = client.request(CreateTopicsRequest(topics=[topic], timeout_ms=5000))
    return ErrorCode(response.topics[0].error_code)


def test_a_full_disk_is_told_and_outlived(tmp_path: Path) -> None:
    with on_a_small_disk(tmp_path) as node, a_client(node) as client, Client(node.address, IMPATIENT) as impatient:
        create_topic(client)
        values = [b"%d" % number * 1000 for number in range(50)]
        for value in values:
            client.produce(TOPIC, 0, batch(value))
        with Filler(node, tmp_path):
            for _ in range(3):
                assert error_of_produce(impatient, bytes(100_000)) is ErrorCode.KAFKA_STORAGE_ERROR
            told = node.line(re.compile(rf".*{TOPIC}-0 cannot be written: (\S+): No space left on device"))
            assert told[1] == str(tmp_path / "logs" / f"{TOPIC}-0")
            assert error_of_creation(impatient, "other") is ErrorCode.KAFKA_STORAGE_ERROR
            assert all_values(node) == values  # and nothing of what was refused
        client.produce(TOPIC, 0, batch(b"there is space again"))
        node.line(re.compile(rf".*{TOPIC}-0 can be written again"))
        create_topic(client, "other")
        client.produce("other", 0, batch(b"a"))
        assert all_values(node) == [*values, b"there is space again"]
        assert sum("cannot be written" in line for line in node.printed) == 1
        assert node.stop() == 0, node.printed
        assert not any("Traceback" in line for line in node.printed), node.printed


def test_a_node_that_stops_on_a_full_disk_does_not_hang(tmp_path: Path) -> None:
    with on_a_small_disk(tmp_path) as node, a_client(node) as client:
        create_topic(client)
        client.produce(TOPIC, 0, batch(b"a"))
        with Filler(node, tmp_path):
            assert node.stop() == 0, node.printed
        assert not any("Traceback" in line for line in node.printed), node.printed
