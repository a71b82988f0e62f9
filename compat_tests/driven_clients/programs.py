"""The drivers as programs: which clients there are, what each can do, and how its driver is built and started.

A driver is built once for each state of its sources, in the cache of tests/jvm.py, by Go or npm, which fetch what
their lock files pin. A missing tool is a ToolMissing that names it. What a driver is asked is not known here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from compat_tests.clients.records import CODECS
from compat_tests.driven_clients.driver import CONSUMER, COOPERATIVE, EAGER
from tests import jvm

HERE = Path(__file__).resolve().parent
DOWNLOAD_TRIES_MAX = 2
DEBIAN_PACKAGES = {"go": "golang-go", "node": "nodejs", "npm": "npm"}


class ToolMissing(Exception):
    """A program that builds or runs a driver is not installed."""


@dataclass(frozen=True)
class Client:
    """A client library.

    `ends_for_none`: asked for a time after all records, it tells the end and not -1. `nulls_for_empty`: where an empty
    key or value was read, it tells null. `codecs` are those that it has on the Node that Debian has.
    `is_for_groups_only`: its other stories are in compat_tests/clients. `protocols` are those by which its members
    share. `tells_what_fenced_it`: a member that another took the place of says so. `leaves_for_a_while`: a static
    member of the new protocol says that it comes back. `leaves_for_good`: even a static member leaves when it goes.
    `lets_go_late`: a member tells records of partitions that it has given up, if it was just fetching them. The others
    are what its admin can do to groups, and whether it knows more of those of the new protocol than their names.
    """

    name: str
    command: Callable[[], list[str]]
    ends_for_none: bool = False
    nulls_for_empty: bool = False
    codecs: tuple[str, ...] = CODECS
    is_for_groups_only: bool = False
    protocols: tuple[str, ...] = (EAGER,)
    has_static_members: bool = False
    tells_what_fenced_it: bool = True
    leaves_for_a_while: bool = True
    leaves_for_good: bool = False
    lets_go_late: bool = False
    describes_new_groups: bool = True
    deletes_groups: bool = True
    sets_offsets: bool = True
    deletes_offsets: bool = True


def go_driver(name: str) -> Callable[[], list[str]]:
    return lambda: [str(built("go", build_go) / "driver"), name]


def python_driver(name: str) -> Callable[[], list[str]]:
    return lambda: [sys.executable, "-m", "compat_tests.driven_clients.python.driver", name]


def node_driver(name: str) -> Callable[[], list[str]]:
    return lambda: [program("node"), str(built("node", install_packages) / "driver.js"), name]


CLIENTS = (
    Client(
        "franz-go",
        go_driver("franz-go"),
        ends_for_none=True,
        protocols=(EAGER, COOPERATIVE, CONSUMER),
        has_static_members=True,
        leaves_for_a_while=False,
    ),
    Client("sarama", go_driver("sarama"), protocols=(EAGER, COOPERATIVE), has_static_members=True),
    Client("kafka-go", go_driver("kafka-go"), nulls_for_empty=True),
    Client("kafkajs", node_driver("kafkajs"), ends_for_none=True, deletes_offsets=False),
    Client(
        "@platformatic/kafka",
        node_driver("@platformatic/kafka"),
        codecs=("none", "gzip", "snappy", "lz4"),
        protocols=(EAGER, CONSUMER),
        has_static_members=True,
        leaves_for_a_while=False,
        leaves_for_good=True,
        lets_go_late=True,
        describes_new_groups=False,
    ),
    Client(
        "kafka-python",
        python_driver("kafka-python"),
        is_for_groups_only=True,
        protocols=(EAGER, COOPERATIVE),
        has_static_members=True,
        tells_what_fenced_it=False,
    ),
    Client(
        "confluent-kafka",
        python_driver("confluent-kafka"),
        is_for_groups_only=True,
        protocols=(EAGER, COOPERATIVE, CONSUMER),
        has_static_members=True,
        deletes_offsets=False,
    ),
    Client(
        "aiokafka",
        python_driver("aiokafka"),
        is_for_groups_only=True,
        has_static_members=True,
        tells_what_fenced_it=False,
        deletes_groups=False,
        sets_offsets=False,
        deletes_offsets=False,
    ),
)


def built(language: str, build: Callable[[Path, Path], None]) -> Path:
    """The directory with a driver that was made of these sources, whenever that was."""
    sources = sorted(path for path in (HERE / language).iterdir() if path.is_file())
    content = b"\0".join(path.name.encode() + b"\0" + path.read_bytes() for path in sources)
    target = jvm.cache_dir() / "drivers" / f"{language}-{jvm.digest(content)}"
    jvm.made_once(target, lambda directory: build(HERE / language, directory))
    return target


def build_go(sources: Path, directory: Path) -> None:
    # Without C nothing but Go is needed, and without symbols it links faster.
    command = (program("go"), "build", "-buildvcs=false", "-ldflags=-s", "-o", str(directory / "driver"), ".")
    run(command, sources, {"CGO_ENABLED": "0"})


def install_packages(sources: Path, directory: Path) -> None:
    for path in sources.iterdir():
        if path.is_file():
            shutil.copy(path, directory)
    run((program("npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund"), directory, {})


def run(command: Sequence[str], directory: Path, environment: Mapping[str, str]) -> None:
    """Run what downloads; a registry that answers at the second try is common, and no news."""
    for _ in range(DOWNLOAD_TRIES_MAX):
        finished = subprocess.run(
            command,
            cwd=directory,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if finished.returncode == 0:
            return
    raise AssertionError(f"failed, {DOWNLOAD_TRIES_MAX} tries: {' '.join(command)}\n{finished.stdout[-4000:]}")


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise ToolMissing(f"{name} is not installed (Debian: {DEBIAN_PACKAGES[name]})")
    return found
