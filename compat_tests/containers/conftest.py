"""What the container tests share: an engine, and our images in it. Everything that runs is removed by who started it.

testcontainers reads its environment when it is imported, so that is set here, before any test is loaded: nothing is
pulled to clean up behind us, and published ports are asked for on loopback.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ["TESTCONTAINERS_RYUK_DISABLED"] = "true"
os.environ["TESTCONTAINERS_HOST_OVERRIDE"] = "127.0.0.1"
os.environ["TESTCONTAINERS_CONNECTION_MODE"] = "docker_host"  # where the tests run in a container themselves, too

from compat_tests.containers.engine import running_engine
from compat_tests.containers.images import Images

ROOT = Path(__file__).resolve().parent.parent.parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.docker)


@pytest.fixture(scope="session")
def engine() -> Iterator[None]:
    """An engine to which docker, docker-compose and testcontainers talk, each by DOCKER_HOST."""
    with running_engine() as address, pytest.MonkeyPatch.context() as patch:
        if address:
            patch.setenv("DOCKER_HOST", address)
        yield


@pytest.fixture(scope="session")
def images(engine: None) -> Images:
    """All our images, built now unless they are there."""
    command = [sys.executable, str(ROOT / "docker" / "build.py"), "--local", "ottla", "kafka", "spark"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return Images()
