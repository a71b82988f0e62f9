"""Every pipeline runs on a Spark cluster of two workers as it does on one machine: by `--master`, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compat_tests.pipelines.filled_topics import create, fill
from compat_tests.pipelines.standalone_cluster import HOST, standalone_cluster
from compat_tests.spark.fixtures import spark_environment
from ottla.commands.pipeline import NAMES
from ottla.testing import Broker

pytestmark = pytest.mark.jvm

GUARD_SECONDS = 900
RECORD_COUNT = 60
BRIEF_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
# Executors that fit twice into such small workers; the machine's own name need not lead to it.
CONF = {
    "spark.driver.host": HOST,
    "spark.driver.bindAddress": HOST,
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.executor.instances": "2",
    "spark.cores.max": "2",
    "spark.sql.shuffle.partitions": "2",
    # Short lives are not worth the best compiler.
    "spark.driver.defaultJavaOptions": BRIEF_JAVA,
    "spark.executor.extraJavaOptions": BRIEF_JAVA,
}


class Cluster:
    """Commands that run on the cluster, each a process of its own; what they print is JSON."""

    def __init__(self, url: str, apps: list[Path], scratch: Path) -> None:
        self.url = url
        self.apps = apps
        self.scratch = scratch
        self.ran: list[str] = []

    def run(self, name: str, *words: str) -> list[dict[str, Any]]:
        settings = [word for key, value in CONF.items() for word in ("--conf", f"{key}={value}")]
        done = subprocess.run(
            [sys.executable, "-m", "ottla", "pipeline", name, *words, "--master", self.url, *settings, "--json"],
            cwd=self.scratch,
            env={**os.environ, **spark_environment(), "TMPDIR": str(self.scratch)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=GUARD_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        self.ran.append(name)
        return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with standalone_cluster(tmp_path / "cluster") as (url, apps):
        yield Cluster(url, apps, scratch)


def test_every_pipeline_runs_on_two_workers(cluster: Cluster, tmp_path: Path) -> None:
    archive = str(tmp_path / "archive")
    with Broker() as source, Broker() as target:
        create(source.bootstrap_servers, "orders")
        fill(source.bootstrap_servers, "orders", range(RECORD_COUNT))
        here, there = source.bootstrap_servers, target.bootstrap_servers
        told = cluster.run("archive", "orders", "-b", here, "-o", archive, "--once", "--compact")
        assert told[-1]["total"]["records"] == RECORD_COUNT
        (told_of,) = cluster.run("stats", "orders", "-b", here)
        assert told_of["records"] == RECORD_COUNT
        cluster.run("mirror", "orders", "--from", here, "--to", there, "--once")
        cluster.run("verify", "orders", "--from", here, "--to", there)
        cluster.run("replay", "-b", there, "--input", archive, "--rename", "orders=again")
        cluster.run("verify", "--from-archive", archive, "--to", there, "--rename", "orders=again")
    assert set(cluster.ran) == set(NAMES)
    for apps in cluster.apps:
        assert len(list(apps.glob("app-*"))) == len(cluster.ran), "each ran on both workers"
