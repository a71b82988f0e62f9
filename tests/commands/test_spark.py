"""`ottla spark` lists jars and prints options in forms that can be pasted, and says what is missing."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from ottla.commands.spark import FETCHERS
from ottla.pipelines import connector
from tests.commands.command_line import CommandLine

CONNECTOR = "spark-sql-kafka-0-10_2.13-4.0.0.jar"


@pytest.fixture
def ottla() -> CommandLine:
    return CommandLine("nobody:1")


@pytest.fixture(autouse=True)
def jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A Spark of which nothing is there but its version, and a connector that the environment names."""
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.13-4.0.0.jar").touch()
    (tmp_path / CONNECTOR).touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    monkeypatch.setenv(connector.ENVIRONMENT, str(tmp_path / CONNECTOR))
    return str(tmp_path / CONNECTOR)


def test_the_jars_are_listed(ottla: CommandLine, jar: str) -> None:
    assert ottla.ok("spark", "jars").lines == [jar]
    assert ottla.ok("spark", "jars", "--json").rows == [
        {
            "spark": "4.0.0",
            "scala": "2.13",
            "coordinates": "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0",
            "jars": [jar],
        }
    ]


def test_the_options_are_python_that_runs(ottla: CommandLine, jar: str) -> None:
    code = ottla.ok("spark", "session", "--master", "local[3]").out
    lines = code.splitlines()
    compile(code, "pasted", "exec")
    assert f'    .config("spark.jars", "{jar}")' in lines
    assert '    SparkSession.builder.master("local[3]")' in lines


def test_the_options_are_arguments_of_spark_submit(ottla: CommandLine, jar: str) -> None:
    out = ottla.ok("spark", "session", "--form", "submit").out
    words = shlex.split(out.replace("\\\n", ""))  # which a shell does, and shlex does not
    assert words[:2] == ["--master", "local[*]"]
    assert f"spark.jars={jar}" in words
    assert words[2::2] == ["--conf"] * (len(words) // 2 - 1)


def test_the_options_are_a_file_of_defaults(ottla: CommandLine, jar: str) -> None:
    lines = ottla.ok("spark", "session", "--form", "conf", "--master", "spark://there:7077").lines
    assert lines[:2] == ["spark.master spark://there:7077", f"spark.jars {jar}"]
    assert [line for line in lines if "driver.host" in line] == []


def test_the_options_are_json(ottla: CommandLine, jar: str) -> None:
    told = json.loads(ottla.ok("spark", "session", "--form", "json").out)
    assert (told["spark.jars"], told["spark.pyspark.python"]) == (jar, sys.executable)


@pytest.mark.parametrize("command", ["jars", "session"])
def test_what_is_missing_is_told_without_a_traceback(
    ottla: CommandLine, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(connector.ENVIRONMENT, "nowhere")
    told = ottla("spark", command)
    assert (told.status, told.out) == (1, "")
    assert told.err.startswith("ottla: $OTTLA_SPARK_JARS names nowhere")


def test_every_fetcher_that_can_be_chosen_is_one() -> None:
    assert set(FETCHERS) == set(connector.FETCHERS)
