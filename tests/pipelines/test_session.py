"""The options of a session fit where it runs and what the user said. Sessions themselves are in compat_tests/spark."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError

from ottla.pipelines.connector import ENVIRONMENT
from ottla.pipelines.session import (
    end_session,
    is_local,
    quiet_options,
    session_options,
    with_connector,
    without_litter,
)

JARS = [Path("/jars/a.jar"), Path("/jars/b.jar")]


@pytest.mark.parametrize(
    ("master", "expected"),
    [
        ("local", True),
        ("local[4]", True),
        ("local[*,2]", True),
        ("local-cluster[2,1,1024]", False),
        ("spark://127.0.0.1:7077", False),
        ("yarn", False),
        ("k8s://https://local", False),
    ],
)
def test_a_master_is_of_this_process_alone_or_not(master: str, expected: bool) -> None:
    assert is_local(master) == expected


def test_a_session_has_the_jars_and_this_python() -> None:
    assert session_options(JARS, "spark://there:7077", python="/bin/python") == {
        "spark.jars": "/jars/a.jar,/jars/b.jar",
        "spark.pyspark.python": "/bin/python",
        "spark.pyspark.driver.python": "/bin/python",
    }


def test_a_local_session_listens_on_the_loopback_alone() -> None:
    options = session_options(JARS, "local[2]")
    assert (options["spark.driver.host"], options["spark.driver.bindAddress"]) == ("127.0.0.1", "127.0.0.1")


def test_all_that_a_session_keeps_is_in_its_scratch_directory(tmp_path: Path) -> None:
    options = quiet_options(tmp_path)
    assert Path(options["spark.local.dir"]).is_relative_to(tmp_path)
    assert Path(options["spark.sql.warehouse.dir"]).is_relative_to(tmp_path)


@pytest.fixture
def connector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A Spark, and a connector for it, that the environment names."""
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.13-4.0.0.jar").touch()
    jar = tmp_path / "spark-sql-kafka-0-10_2.13-4.0.0.jar"
    jar.touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    monkeypatch.setenv(ENVIRONMENT, str(jar))
    return str(jar)


def test_the_connector_stands_beside_jars_of_the_user(connector: str) -> None:
    assert with_connector({"spark.jars": "mine.jar", "x": "y"}) == {"spark.jars": f"{connector},mine.jar", "x": "y"}
    assert with_connector({"spark.jars": ""}) == {"spark.jars": connector}


def test_whoever_brings_the_connector_gets_no_other(connector: str) -> None:
    for own in (
        {"spark.jars": "spark-sql-kafka-0-10_2.13-4.0.1.jar"},
        {"spark.jars.packages": "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.1"},
    ):
        assert with_connector(own) == own


def test_an_empty_directory_that_came_up_meanwhile_is_removed(tmp_path: Path) -> None:
    litter = tmp_path / "artifacts"
    with without_litter(litter):
        litter.mkdir()
    assert not litter.exists()


def test_a_directory_that_somebody_uses_stays(tmp_path: Path) -> None:
    before, filled = tmp_path / "before", tmp_path / "filled"
    before.mkdir()
    with without_litter(before), without_litter(filled):
        filled.mkdir()
        (filled / "file").touch()
    assert before.exists()
    assert filled.exists()


@pytest.mark.parametrize("error", [ConnectionRefusedError(), Py4JNetworkError("Answer from Java side is empty")])
def test_a_session_whose_java_is_gone_can_be_ended(error: Exception) -> None:
    end_session(session_that_fails_with(error))


def test_what_else_goes_wrong_at_the_end_is_told() -> None:
    with pytest.raises(ZeroDivisionError):
        end_session(session_that_fails_with(ZeroDivisionError()))


def session_that_fails_with(error: Exception) -> Any:
    def stop() -> None:
        raise error

    return SimpleNamespace(stop=stop)
