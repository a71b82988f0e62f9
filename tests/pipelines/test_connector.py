"""Which jars fit, where they are kept, and what is said when they cannot be had. Maven and Spark are scripts here;
the real ones fetch in compat_tests/spark."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from ottla.pipelines import PipelineFailed
from ottla.pipelines.connector import (
    ENVIRONMENT,
    artifact,
    cache_directory,
    connector_jars,
    installed_spark,
    not_brought_by,
)

CONNECTOR = "spark-sql-kafka-0-10_2.13-4.0.0.jar"
CLIENTS = "kafka-clients-3.9.0.jar"
SHELL = "#!/bin/sh\nset -e\n"
# Leaves the jars where copy-dependencies would, and a mark that it ran.
MAVEN = f"""{SHELL}for word; do case $word in -DoutputDirectory=*) directory=${{word#*=}};; esac; done
touch "$directory/{CONNECTOR}" "$directory/{CLIENTS}" "$directory/slf4j-api-1.7.36.jar"
echo ran >> "$0.runs"
"""
# Leaves the jars where Spark's resolver would.
SUBMIT = f"""{SHELL}for word; do case $word in spark.jars.ivy=*) directory=${{word#*=}};; esac; done
mkdir -p "$directory/jars"
touch "$directory/jars/org.apache.spark_{CONNECTOR}" "$directory/jars/org.apache.kafka_{CLIENTS}"
"""
OFFLINE = f"{SHELL}echo 'repository.example: Name or service not known' >&2\nexit 1\n"


def program(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script)
    path.chmod(0o755)


@pytest.fixture
def spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Spark 4.0.0 that has a jar that the connector wants as well, and no cache yet."""
    home = tmp_path / "spark"
    (home / "jars").mkdir(parents=True)
    for name in ("spark-core_2.13-4.0.0.jar", "slf4j-api-2.0.16.jar"):
        (home / "jars" / name).touch()
    monkeypatch.setenv("SPARK_HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    return home


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the scripts lie that stand for programs; a real Maven is not found."""
    directory = tmp_path / "bin"
    directory.mkdir()
    for name in ("touch", "mkdir"):
        real = next(Path(place, name) for place in os.environ["PATH"].split(os.pathsep) if Path(place, name).exists())
        (directory / name).symlink_to(real)
    monkeypatch.setenv("PATH", str(directory))
    return directory


def names(jars: list[Path]) -> list[str]:
    return sorted(jar.name for jar in jars)


def test_the_coordinates_are_those_of_the_spark_that_is_installed(spark: Path) -> None:
    assert installed_spark().coordinates == "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0"


def test_without_spark_home_it_is_the_spark_inside_of_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import version

    monkeypatch.delenv("SPARK_HOME", raising=False)
    assert installed_spark().version == version("pyspark")


def test_without_pyspark_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(PipelineFailed, match=r"pip install 'ottla\[spark\]'"):
        installed_spark()


def test_a_spark_home_without_spark_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    with pytest.raises(PipelineFailed, match=str(tmp_path)):
        installed_spark()


def test_maven_fetches_once_what_spark_does_not_bring(spark: Path, programs: Path, tmp_path: Path) -> None:
    program(programs / "mvn", MAVEN)
    first = connector_jars()
    assert names(first) == [CLIENTS, CONNECTOR]
    assert all(jar.is_relative_to(tmp_path / "cache" / "ottla") for jar in first)
    assert connector_jars() == first
    assert (programs / "mvn.runs").read_text() == "ran\n"


def test_without_maven_spark_fetches(spark: Path, programs: Path) -> None:
    program(spark / "bin" / "spark-submit", SUBMIT)
    assert names(connector_jars()) == [CLIENTS, CONNECTOR]


def test_the_fetcher_may_be_chosen(spark: Path, programs: Path) -> None:
    program(programs / "mvn", OFFLINE)
    program(spark / "bin" / "spark-submit", SUBMIT)
    assert names(connector_jars(fetcher="spark")) == [CLIENTS, CONNECTOR]


@pytest.mark.parametrize("fetcher", ["maven", "spark"])
def test_offline_it_is_said_what_to_do_and_nothing_is_kept(
    spark: Path, programs: Path, tmp_path: Path, fetcher: str
) -> None:
    program(programs / "mvn", OFFLINE)
    program(spark / "bin" / "spark-submit", OFFLINE)
    with pytest.raises(PipelineFailed) as told:
        connector_jars(fetcher=fetcher)
    for word in ("Name or service not known", "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0", f"${ENVIRONMENT}"):
        assert word in str(told.value)
    assert list((tmp_path / "cache").rglob("*.jar")) == []
    program(programs / "mvn", MAVEN)
    assert names(connector_jars()) == [CLIENTS, CONNECTOR]


def test_a_fetcher_that_fetched_something_else_is_not_believed(spark: Path, programs: Path) -> None:
    program(programs / "mvn", MAVEN.replace(CONNECTOR, "other-1.0.jar"))
    with pytest.raises(PipelineFailed, match="is not among what was fetched"):
        connector_jars()


def test_maven_that_is_asked_for_and_not_there_is_named(spark: Path, programs: Path) -> None:
    with pytest.raises(PipelineFailed, match="mvn is not installed"):
        connector_jars(fetcher="maven")


def test_a_spark_that_cannot_be_run_is_named(spark: Path, programs: Path) -> None:
    with pytest.raises(PipelineFailed, match="spark-submit cannot be run"):
        connector_jars()


def test_the_environment_names_jars_and_directories(
    spark: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, single = tmp_path / "mine", tmp_path / "slf4j-api-1.7.36.jar"
    directory.mkdir()
    for name in (CONNECTOR, CLIENTS, "slf4j-api-1.7.36.jar", "README"):
        (directory / name).touch()
    single.touch()
    monkeypatch.setenv(ENVIRONMENT, f"{directory}:{single}")
    assert connector_jars() == [directory / CLIENTS, directory / CONNECTOR, single]


def test_the_environment_names_nothing_that_is_there(
    spark: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "nowhere"))
    with pytest.raises(PipelineFailed, match="nowhere, which is neither a jar nor a directory with jars"):
        connector_jars()


def test_the_cache_is_where_the_desktop_keeps_caches() -> None:
    home = Path("/people/alice")
    assert cache_directory({}, home) == home / ".cache/ottla/spark"
    assert cache_directory({"XDG_CACHE_HOME": "/caches"}, home) == Path("/caches/ottla/spark")
    assert cache_directory({"XDG_CACHE_HOME": "relative"}, home) == home / ".cache/ottla/spark"


@pytest.mark.parametrize(
    ("jar", "expected"),
    [
        ("slf4j-api-2.0.16.jar", "slf4j-api"),
        ("spark-tags_2.13-4.0.0.jar", "spark-tags_2.13"),
        ("zstd-jni-1.5.6-9.jar", "zstd-jni"),
        ("nameless.jar", "nameless"),
    ],
)
def test_a_jar_is_known_without_its_version(jar: str, expected: str) -> None:
    assert artifact(jar) == expected


def test_what_spark_brings_in_another_version_is_left_out() -> None:
    fetched = [Path("a-1.0.jar"), Path("b-1.0.jar")]
    assert not_brought_by([Path("jars/b-2.0.jar")], fetched) == [Path("a-1.0.jar")]
