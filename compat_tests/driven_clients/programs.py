"""The drivers as programs: which clients there are, what each can do, and how its driver is built and started.

A driver is built once for each state of its sources, in the cache of tests/jvm.py, by Go or npm, which fetch what
their lock files pin. A missing tool is a ToolMissing that names it. What a driver is asked is not known here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

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
    key or value was read, it tells null.
    """

    name: str
    command: Callable[[], list[str]]
    ends_for_none: bool = False
    nulls_for_empty: bool = False
    is_cooperative: bool = False
    has_static_members: bool = False


def go_driver(name: str) -> Callable[[], list[str]]:
    return lambda: [str(built("go", build_go) / "driver"), name]


def node_driver() -> list[str]:
    return [program("node"), str(built("node", install_packages) / "driver.js")]


CLIENTS = (
    Client("franz-go", go_driver("franz-go"), ends_for_none=True, is_cooperative=True, has_static_members=True),
    Client("sarama", go_driver("sarama"), is_cooperative=True, has_static_members=True),
    Client("kafka-go", go_driver("kafka-go"), nulls_for_empty=True),
    Client("kafkajs", node_driver, ends_for_none=True),
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
