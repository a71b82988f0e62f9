"""Kafka's own jars for the tests: provisioned by Maven, read for definitions, compiled against, started.

It knows coordinates (from `[tool.ottla.pins]` in pyproject.toml), a cache directory and three programs (mvn, javac,
java). It does not know what any test wants to ask Kafka. Everything is made once, under a file lock, and renamed into
place whole, so parallel test workers share it. A missing program is a JvmUnavailable that names it, never a skip.

Class paths are `DIR/*` strings: they may be joined with ":" and other directories.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MAVEN_TRIES_MAX = 2

# Where the records that Kafka stores are defined: jar (without version) and folder inside it.
STORED_DEFINITIONS = (
    ("kafka-metadata", "common/metadata/"),
    ("kafka-group-coordinator", "common/message/"),
    ("kafka-transaction-coordinator", "common/message/"),
    ("kafka-share-coordinator", "common/message/"),
    ("kafka-raft", "common/message/"),
)

Definition = dict[str, Any]


class JvmUnavailable(Exception):
    """A program or an artifact that these tests stand on is not to be had; the message names it."""


# -- class paths ------------------------------------------------------------------------------------------------------


def kafka_clients_classpath() -> str:
    """The newest kafka-clients (4.4), with what its JsonConverter classes need."""
    return f"{jars('kafka-clients')}/*"


def kafka_classpath() -> str:
    """A whole Apache Kafka (4.3): broker, tools, metadata shell, and the clients of that version."""
    return f"{jars('kafka')}/*"


@functools.cache
def jars(set_name: str) -> Path:
    """The directory that holds every jar of a set named in `[tool.ottla.pins.maven]`, fetched if need be."""
    coordinates = maven_pins()["sets"][set_name]
    pom = pom_for(coordinates)
    target = cache_dir() / "jars" / f"{set_name}-{digest(pom.encode())}"
    made_once(target, lambda directory: fetch_jars(pom, directory))
    return target


def maven_pins() -> Mapping[str, Any]:
    """The Maven table of pyproject.toml: the plug-in and the sets of coordinates, the only place versions are named."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        pins: Mapping[str, Any] = tomllib.load(file)["tool"]["ottla"]["pins"]["maven"]
    return pins


def pom_for(coordinates: Sequence[str]) -> str:
    """A pom that depends on each `group:artifact:version` and builds nothing."""
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version></dependency>"
        for group, artifact, version in (coordinate.split(":") for coordinate in coordinates)
    )
    return (
        "<project><modelVersion>4.0.0</modelVersion>"
        "<groupId>ottla</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging>"
        f"<dependencies>{dependencies}</dependencies></project>\n"
    )


def fetch_jars(pom: str, directory: Path) -> None:
    """Let Maven resolve the pom and copy its whole runtime closure into the directory."""
    pom_path = directory / "pom.xml"
    pom_path.write_text(pom, encoding="utf-8")
    command = (
        *(program("mvn"), "-q", "-B", "-f", str(pom_path)),
        maven_pins()["dependency_plugin"] + ":copy-dependencies",
        *(f"-DoutputDirectory={directory}", "-DincludeScope=runtime"),
    )
    for _ in range(MAVEN_TRIES_MAX):  # a repository that answers at the second try is common, and no news
        finished = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if finished.returncode == 0 and any(directory.glob("*.jar")):
            return
    output = (finished.stdout + finished.stderr)[-4000:]
    raise JvmUnavailable(f"Maven could not provide the jars, {MAVEN_TRIES_MAX} tries: {' '.join(command)}\n{output}")


# -- Kafka's message definitions --------------------------------------------------------------------------------------


def kafka_clients_definitions() -> dict[str, Definition]:
    """Every request, response and header of Kafka 4.4, and its control records, by message name."""
    return message_definitions(one_jar("kafka-clients", "kafka-clients"), "common/message/")


def kafka_stored_definitions() -> dict[str, Definition]:
    """Every record that Kafka 4.3 stores: metadata, groups, transactions, share state, quorum state."""
    found: dict[str, Definition] = {}
    for artifact, folder in STORED_DEFINITIONS:
        definitions = message_definitions(one_jar("kafka", artifact), folder)
        assert definitions, f"{artifact} holds no definitions in {folder}"
        assert not definitions.keys() & found.keys(), f"{artifact} repeats a name"
        found |= definitions
    return found


def message_definitions(jar: Path, folder: str) -> dict[str, Definition]:
    """The JSON definitions that lie in a folder of a jar, by the name each gives itself."""
    with zipfile.ZipFile(jar) as archive:
        names = sorted(name for name in archive.namelist() if name.startswith(folder) and name.endswith(".json"))
        definitions = [json.loads(without_comments(archive.read(name).decode("utf-8"))) for name in names]
    return {definition["name"]: definition for definition in definitions}


def one_jar(set_name: str, artifact: str) -> Path:
    """The single jar of an artifact in a set: `kafka-raft` finds kafka-raft-4.3.1.jar and not its neighbours."""
    found = [
        path for path in jars(set_name).glob("*.jar") if re.fullmatch(rf"{re.escape(artifact)}-\d[\w.]*", path.stem)
    ]
    assert len(found) == 1, f"expected one jar of {artifact} in {set_name}: {found}"
    return found[0]


_STRING_OR_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*')


def without_comments(text: str) -> str:
    """JSON as Kafka writes it, less its // comments; what stands in a string stays."""
    return _STRING_OR_COMMENT.sub(lambda match: match.group(1) or "", text)


# -- programs ---------------------------------------------------------------------------------------------------------


def compile_java(source: Path | Sequence[Path], classpath: str) -> Path:
    """Compile one source or several into a directory of classes that is remembered by their content."""
    sources = [source] if isinstance(source, Path) else list(source)
    content = b"\0".join([classpath.encode(), *(path.name.encode() + b"\0" + path.read_bytes() for path in sources)])
    target = cache_dir() / "classes" / f"{sources[0].stem}-{digest(content)}"

    def compile_into(directory: Path) -> None:
        command = (program("javac"), "-nowarn", "-encoding", "UTF-8", "-cp", classpath, "-d", str(directory))
        finished = subprocess.run((*command, *map(str, sources)), capture_output=True, text=True, check=False)
        assert finished.returncode == 0, f"javac failed on {[path.name for path in sources]}:\n{finished.stderr}"

    made_once(target, compile_into)
    return target


def java(classpath: str, main_class: str, *args: str, jvm_options: Sequence[str] = ()) -> subprocess.Popen[str]:
    """Start a Java program with pipes for its input and output, in text; whoever starts it stops it.

    Its errors go where ours go: a third pipe that nobody reads would stop it once full.
    """
    command = (program("java"), "-Xmx512m", "-XX:+UseSerialGC", *jvm_options, "-cp", classpath, main_class, *args)
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")


def program(name: str) -> str:
    """The path of a program, or JvmUnavailable."""
    found = shutil.which(name)
    if found is None:
        raise JvmUnavailable(f"{name} is not installed (Debian: openjdk-17-jdk-headless, maven)")
    return found


# -- the cache --------------------------------------------------------------------------------------------------------


def cache_dir() -> Path:
    """Where jars and classes are kept between runs: $OTTLA_CACHE, or `.cache` in the repository."""
    directory = Path(os.environ.get("OTTLA_CACHE") or ROOT / ".cache").absolute()
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def made_once(target: Path, make: Callable[[Path], None]) -> None:
    """Have `make` fill a fresh directory, then rename it to the target: it is there whole or not at all."""
    if target.is_dir():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with locked(target.with_name(target.name + ".lock")):
        if target.is_dir():
            return
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".making-") as scratch:
            fresh = Path(scratch) / "made"
            fresh.mkdir()
            make(fresh)
            fresh.rename(target)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock between processes; the kernel lets go of it when the holder dies."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def digest(content: bytes) -> str:
    """A short name for content."""
    return hashlib.sha256(content).hexdigest()[:12]
