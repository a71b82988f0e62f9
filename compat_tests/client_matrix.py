"""The clients whose own tests run on Ottla and on Apache Kafka: names, versions, folders, as each is declared."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from compat_tests.clients.aiokafka_face import Aiokafka
from compat_tests.clients.confluent_face import Confluent
from compat_tests.clients.kafka_python_face import KafkaPython
from compat_tests.clients.kcat_face import Kcat
from compat_tests.driven_clients import programs
from compat_tests.java_clients.scenarios import CLIENTS as JAVA_CLIENTS
from tests import jvm
from tools.requirements import requirements

FACES = "compat_tests/clients"
DRIVEN = "compat_tests/driven_clients"
JAVA = "compat_tests/java_clients"
TOOLS = "compat_tests/kafka_tools"
NO_GROUPS = "-"


class TestedClient(NamedTuple):
    """A client, and where its stories of records, topics and configs are, and those of groups if it has any."""

    name: str
    version: str
    records: str
    groups: str


def tested_clients() -> list[TestedClient]:
    versions = {**python_versions(), **go_versions(), **node_versions()}
    return [
        *(TestedClient(one.name, versions[one.name], FACES, DRIVEN) for one in (KafkaPython, Confluent, Aiokafka)),
        TestedClient(Kcat.name, "Debian's", FACES, NO_GROUPS),
        *(
            TestedClient(client.name, versions[client.name], DRIVEN, DRIVEN)
            for client in programs.CLIENTS
            if not client.is_for_groups_only
        ),
        *(TestedClient(f"java {one.name}", kafka_version(one.jars), JAVA, JAVA) for one in JAVA_CLIENTS),
        TestedClient("Kafka's tools", kafka_version("kafka"), TOOLS, TOOLS),
    ]


def python_versions() -> dict[str, str]:
    return dict(pin.split(";")[0].strip().split("==") for pin in requirements("dev"))


def go_versions() -> dict[str, str]:
    """Modules by the last part of their names."""
    required = (programs.HERE / "go" / "go.mod").read_text(encoding="utf-8")
    return dict(re.findall(r"/([\w-]+) v(\S+)$", required, re.MULTILINE))


def node_versions() -> dict[str, str]:
    declared: dict[str, str] = json.loads((programs.HERE / "node" / "package.json").read_bytes())["dependencies"]
    return declared


def kafka_version(jars: str) -> str:
    """The release of Kafka in a set of jars."""
    coordinates = [coordinate.split(":") for coordinate in jvm.maven_pins()["sets"][jars]]
    (version,) = {version for group, _, version in coordinates if group == "org.apache.kafka"}
    return version


CLIENTS: tuple[str, ...] = tuple(client.name for client in tested_clients())
