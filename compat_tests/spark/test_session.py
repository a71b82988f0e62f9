"""A session as it is opened for pipelines: it ends whole, leaves nothing behind, and stands beside one that is there.

Sessions that begin and end are in processes of their own: the one of the tests goes on.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from compat_tests.spark.fixtures import spark_environment
from ottla.pipelines.session import open_session

pytestmark = pytest.mark.jvm

TWO_LIVES = """
import os, pathlib
from ottla.pipelines.session import open_session

def children():
    return pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()

for memory in ("600m", "700m"):
    with open_session("life", "local[1]", {"spark.driver.memory": memory}) as session:
        heap = session._jvm.java.lang.Runtime.getRuntime().maxMemory() >> 20
        print(session.range(3).count(), session.conf.get("spark.app.name"), 500 < heap < int(memory[:3]) + 1)
        session.read.format("kafka").option("kafka.bootstrap.servers", "x:1").option("subscribe", "t").load()
    print(children())
"""
BAD_MASTER = """
from ottla.pipelines import PipelineFailed
from ottla.pipelines.session import open_session

try:
    with open_session("never", "nowhere:1"):
        pass
except PipelineFailed as error:
    print("told:", str(error).splitlines()[0])
"""


def run(program: str, directory: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=directory,
        env=dict(os.environ) | spark_environment() | {"TMPDIR": str(directory), **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_session_ends_with_its_java_and_leaves_nothing_behind(tmp_path: Path) -> None:
    finished = run(TWO_LIVES, tmp_path)
    assert finished.stdout.splitlines() == ["3 life True", "[]"] * 2, finished.stderr
    left = [path.name for path in tmp_path.iterdir() if not path.name.startswith("hsperfdata")]
    assert left == []


def test_a_master_that_is_none_is_told(tmp_path: Path) -> None:
    finished = run(BAD_MASTER, tmp_path)
    assert finished.stdout.startswith("told: Spark does not start"), finished.stderr


def test_a_machine_without_java_is_told(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("bash", "dirname", "env"):
        (tmp_path / "bin" / name).symlink_to(Path("/usr/bin") / name)
    finished = run(BAD_MASTER, tmp_path, PATH=str(tmp_path / "bin"), JAVA_HOME="")
    assert finished.stdout.startswith("told: Spark does not start"), finished.stderr
    assert "needs Java 17" in finished.stdout


def test_a_session_that_is_there_is_used_and_left_as_it_is(spark: SparkSession) -> None:
    before = spark.conf.get("spark.sql.shuffle.partitions")
    with open_session("guest", "local[1]", {"spark.sql.shuffle.partitions": "7", "spark.driver.memory": "9g"}) as guest:
        assert guest.sparkContext is spark.sparkContext
        assert guest.conf.get("spark.sql.shuffle.partitions") == "7"
    assert spark.conf.get("spark.sql.shuffle.partitions") == before
    assert spark.range(2).count() == 2
