"""The connector's jars, fetched by Maven and by Spark's own resolver: the same, and a session uses them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ottla.pipelines.connector import ENVIRONMENT, FETCHERS

pytestmark = pytest.mark.jvm

JARS = [
    "commons-pool2-2.12.0.jar",
    "kafka-clients-3.9.0.jar",
    "spark-sql-kafka-0-10_2.13-4.0.0.jar",
    "spark-token-provider-kafka-0-10_2.13-4.0.0.jar",
]


def environment(cache: Path) -> dict[str, str]:
    told = {name: value for name, value in os.environ.items() if name not in (ENVIRONMENT, "SPARK_HOME")}
    return told | {"XDG_CACHE_HOME": str(cache)}


@pytest.mark.parametrize("fetcher", FETCHERS)
def test_the_jars_that_fit_are_fetched(fetcher: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ottla", "spark", "jars", "--fetcher", fetcher]
    finished = subprocess.run(
        command, cwd=tmp_path, env=environment(tmp_path / "cache"), capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr
    found = [Path(line) for line in finished.stdout.splitlines()]
    assert [jar.name for jar in found] == JARS
    assert all(jar.is_relative_to(tmp_path / "cache") and jar.stat().st_size > 0 for jar in found)
