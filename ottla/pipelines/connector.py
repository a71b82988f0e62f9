"""The jars of Spark's Kafka connector: which ones fit the Spark that is installed, where they are kept, how they come.

They are what the environment says, or what the cache holds, or what Maven or Spark's own resolver fetches into it:
once, under a lock, whole or not at all. A jar that Spark brings itself is not among them. It does not know what they
are loaded for, and starts no session. Whatever is missing is a PipelineFailed that says what to do.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ottla.pipelines import PipelineFailed

ENVIRONMENT = "OTTLA_SPARK_JARS"
CONNECTOR = "spark-sql-kafka-0-10"
DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
OUTPUT_CHARACTERS_MAX = 2000

Fetch = Callable[["Spark", Path], None]


@dataclass(frozen=True)
class Spark:
    """A Spark that is installed: where, and of which versions it is."""

    home: Path
    version: str
    scala_version: str

    @property
    def coordinates(self) -> str:
        """What Maven calls the connector that fits."""
        return f"org.apache.spark:{CONNECTOR}_{self.scala_version}:{self.version}"

    @property
    def jars(self) -> Path:
        return self.home / "jars"


def connector_jars(*, fetcher: str | None = None) -> list[Path]:
    """The jars to give to Spark as `spark.jars`, fetched if they are not there yet."""
    spark = installed_spark()
    told = os.environ.get(ENVIRONMENT)
    if told:
        return jars_named(told, spark)
    directory = cache_directory(os.environ, Path.home()) / f"{CONNECTOR}_{spark.scala_version}-{spark.version}"
    if not directory.is_dir():
        fetch_once(spark, directory, FETCHERS[fetcher] if fetcher else first_fetcher())
    return sorted(directory.glob("*.jar"))


# -- which ------------------------------------------------------------------------------------------------------------


def installed_spark() -> Spark:
    """The Spark that PySpark would start: $SPARK_HOME, or the one inside of PySpark."""
    home = spark_home()
    for jar in sorted((home / "jars").glob("spark-core_*.jar")):
        if found := re.fullmatch(r"spark-core_([\d.]+)-(\d.*)", jar.stem):
            return Spark(home, found[2], found[1])
    raise PipelineFailed(f"{home} holds no Spark: jars/spark-core_*.jar is not there")


def spark_home() -> Path:
    told = os.environ.get("SPARK_HOME")
    if told:
        return Path(told)
    found = importlib.util.find_spec("pyspark")
    if found is None or not found.submodule_search_locations:
        raise PipelineFailed("Spark is not installed: pip install 'ottla[spark]'")
    return Path(found.submodule_search_locations[0])


def jars_named(told: str, spark: Spark) -> list[Path]:
    """The jars that $OTTLA_SPARK_JARS names: files, and directories of jars that Spark may lack; colons between."""
    found: list[Path] = []
    for name in filter(None, told.split(os.pathsep)):
        path = Path(name)
        within = not_brought_by(spark.jars.glob("*.jar"), sorted(path.glob("*.jar")))
        jars = [path] if path.is_file() else within
        if not jars:
            raise PipelineFailed(f"${ENVIRONMENT} names {name}, which is neither a jar nor a directory with jars")
        found += jars
    return found


def not_brought_by(spark_jars: Iterable[Path], fetched: Iterable[Path]) -> list[Path]:
    """The jars among those fetched that Spark does not have, in whatever version: two of a kind are a trap."""
    there = {artifact(jar.name) for jar in spark_jars}
    return [jar for jar in fetched if artifact(jar.name) not in there]


def artifact(jar_name: str) -> str:
    """What a jar is without its version: `slf4j-api` for slf4j-api-2.0.16.jar."""
    found = re.match(r"(.+?)-\d", jar_name)
    return found[1] if found else jar_name.removesuffix(".jar")


# -- where ------------------------------------------------------------------------------------------------------------


def cache_directory(environment: Mapping[str, str], home: Path) -> Path:
    """Where jars are kept: below $XDG_CACHE_HOME, which counts only where it is absolute, or ~/.cache."""
    told = environment.get("XDG_CACHE_HOME", "")
    return (Path(told) if os.path.isabs(told) else home / ".cache") / "ottla" / "spark"


def fetch_once(spark: Spark, directory: Path, fetch: Fetch) -> None:
    """Fill the directory by `fetch`; processes that want it at once wait for the first of them."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    with locked(directory.with_name(directory.name + ".lock")):
        if directory.is_dir():
            return
        with tempfile.TemporaryDirectory(dir=directory.parent, prefix=".fetching-") as scratch:
            fetched, fresh = Path(scratch) / "fetched", Path(scratch) / "fresh"
            fetched.mkdir()
            fresh.mkdir()
            fetch(spark, fetched)
            for jar in not_brought_by(spark.jars.glob("*.jar"), fetched.glob("*.jar")):
                jar.rename(fresh / jar.name)
            if not any(jar.name.startswith(CONNECTOR) for jar in fresh.iterdir()):
                raise PipelineFailed(f"{CONNECTOR} is not among what was fetched; {way_out(spark)}")
            fresh.rename(directory)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock between processes; the kernel lets go of it when the holder dies."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


# -- how --------------------------------------------------------------------------------------------------------------


def first_fetcher() -> Fetch:
    return by_maven if shutil.which("mvn") else by_spark


def by_maven(spark: Spark, directory: Path) -> None:
    """Let Maven copy the connector and all that it needs; mirrors and proxies are those of Maven's settings."""
    mvn = shutil.which("mvn")
    if mvn is None:
        raise PipelineFailed("mvn is not installed; `ottla spark jars --fetcher spark` does without it")
    group, name, version = spark.coordinates.split(":")
    pom = directory.parent / "pom.xml"
    pom.write_text(
        "<project><modelVersion>4.0.0</modelVersion>"
        "<groupId>ottla</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging>"
        f"<dependencies><dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>"
        f"<version>{version}</version></dependency></dependencies></project>\n",
        encoding="utf-8",
    )
    run(
        spark,
        *(mvn, "-q", "-B", "-f", str(pom), f"{DEPENDENCY_PLUGIN}:copy-dependencies"),
        *(f"-DoutputDirectory={directory}", "-DincludeScope=runtime"),
    )


def by_spark(spark: Spark, directory: Path) -> None:
    """Let Spark's resolver fetch, as `--packages` does, into a place of its own; the program it starts is empty."""
    place = directory.parent / "ivy"
    program = directory.parent / "nothing.py"
    program.write_text("", encoding="utf-8")
    run(
        spark,
        *(str(spark.home / "bin" / "spark-submit"), "--master", "local[1]", "--packages", spark.coordinates),
        *("--conf", f"spark.jars.ivy={place}", "--conf", f"spark.pyspark.python={sys.executable}", str(program)),
    )
    for jar in (place / "jars").glob("*.jar"):
        jar.rename(directory / jar.name.partition("_")[2])  # GROUP_ARTIFACT-VERSION.jar


FETCHERS: dict[str, Fetch] = {"maven": by_maven, "spark": by_spark}


def run(spark: Spark, *command: str) -> None:
    try:
        finished = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError as error:
        raise PipelineFailed(f"{command[0]} cannot be run: {error}") from error
    if finished.returncode != 0:
        output = (finished.stdout + finished.stderr).strip()[-OUTPUT_CHARACTERS_MAX:]
        raise PipelineFailed(f"{output}\n{Path(command[0]).name} could not fetch {spark.coordinates}; {way_out(spark)}")


def way_out(spark: Spark) -> str:
    return (
        "where there is no network, run `ottla spark jars` on a machine that has one and the same Spark "
        f"({spark.version}), copy the jars that it lists, and name their directory in ${ENVIRONMENT}"
    )
