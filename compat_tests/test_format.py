"""`ottla format` beside Kafka's storage tool: the same arguments, the same files; either starts on what the other left.

Times differ, and so do the ids that are new each time. Features that Ottla does not serve are switched off for Kafka.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from compat_tests.kafka_process import CLUSTER_ID, HOST, KafkaNode, free_ports
from compat_tests.kafka_tools.tool_jvm import ToolJvm, a_tool_jvm
from ottla.cluster.features import FEATURES as KNOWN
from ottla.server.running_node import FEATURES
from ottla.storage.meta_properties import parse_properties
from ottla.wire.records import iter_batches, iter_records
from ottla.wire.stored.control_records import VotersRecord
from tests.commands.command_line import CommandLine
from tests.server.node_process import a_node

pytestmark = pytest.mark.jvm

NOT_SERVED = [f"--feature={name}=0" for name in KNOWN if name not in FEATURES]
COMBINED = {
    "node.id": "1",
    "process.roles": "broker,controller",
    "listeners": "PLAINTEXT://127.0.0.1:9192,CONTROLLER://127.0.0.1:9193",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.bootstrap.servers": "127.0.0.1:9193",
}
ADVERTISED = {
    **COMBINED,
    "listeners": "PLAINTEXT://:9192,CONTROLLER://:9193",
    "advertised.listeners": "PLAINTEXT://localhost:9192,CONTROLLER://localhost:9293",
}
CONTROLLER = {**COMBINED, "process.roles": "controller", "listeners": "CONTROLLER://:9193"}
BROKER = {**COMBINED, "process.roles": "broker", "listeners": "PLAINTEXT://127.0.0.1:9192"}
STATIC = {key: value for key, value in COMBINED.items() if "bootstrap" not in key} | {
    "controller.quorum.voters": "1@127.0.0.1:9193,2@127.0.0.1:9194"
}
CONTROLLERS = "2@localhost:9194:MvDxzVmcRsaTz33bUuRU6A,1@127.0.0.1:9193:JEXY6aqzQY-32P5TStzaFg"
CASES = {
    "alone": (COMBINED, ["--standalone"]),
    "alone, advertised": (ADVERTISED, ["--standalone"]),
    "a controller alone, everywhere": (CONTROLLER, ["-s"]),
    "one of several": (COMBINED, ["--initial-controllers", CONTROLLERS]),
    "none of several": ({**COMBINED, "node.id": "3"}, ["-I", CONTROLLERS]),
    "joins": (COMBINED, ["--no-initial-controllers"]),
    "a broker": (BROKER, []),
    "configured voters": (STATIC, []),
    "an older release": (COMBINED, ["--release-version", "3.9", "--standalone"]),
    "a level": (COMBINED, ["--feature", "group.version=0", "-N"]),
    "nothing said": (COMBINED, []),
    "too much said": (STATIC, ["--standalone"]),
    "no controller": (BROKER, ["--standalone"]),
    "no such release": (BROKER, ["--release-version", "1.0"]),
    "no such level": (BROKER, ["--feature", "group.version=7"]),
    "no such feature": (BROKER, ["--feature", "no.such=1"]),
    "half a controller": (COMBINED, ["-I", "1@127.0.0.1:9193"]),
}


@pytest.fixture(scope="module")
def tools() -> Iterator[ToolJvm]:
    with a_tool_jvm() as tools:
        yield tools


def formatted(
    path: Path, settings: dict[str, str], words: Sequence[str], by: ToolJvm | None = None
) -> tuple[bool, object]:
    """Whether it was done, and the files of two directories; by Kafka's tool or, without it, by ours."""
    path.mkdir()
    config = path / "server.properties"
    texts = {**settings, "log.dirs": f"{path / 'a'},{path / 'b'}"}
    config.write_text("".join(f"{key}={value}\n" for key, value in texts.items()))
    whole = ["format", "--config", str(config), "--cluster-id", CLUSTER_ID, *words]
    if by is None:
        status = CommandLine("nobody:1")(*whole).status
    else:
        status = by.run("kafka.tools.StorageTool", [*whole, *NOT_SERVED]).status
    return status == 0, {
        str(file.relative_to(path)): content(file)
        for name in "ab"
        for file in (path / name).rglob("*")
        if file.is_file()
    }


def content(file: Path) -> object:
    data = file.read_bytes()
    if file.name == "meta.properties":
        meta = parse_properties(data.decode("latin-1"))
        return {**meta, "directory.id": meta["directory.id"] if meta["directory.id"] in CONTROLLERS else "new"}
    return [
        (batch.base_offset, batch.leader_epoch, batch.attributes, batch.producer_id, [*records(batch)])
        for batch in iter_batches(data)
    ]


def records(batch):  # type: ignore[no-untyped-def]
    """Without what is of its moment: the time in the header's record, and a new id among the voters."""
    for record in iter_records(batch, bytes_max=1 << 20):
        key = record.key or b""
        value = record.value or b""
        is_control = batch.is_control
        if is_control and key[2:] == b"\0\3":  # the snapshot's header: a version, and the time of the last record
            value = value[:2] + bytes(8) + value[10:]
        yield record.offset, key, voters(value) if is_control and key[2:] == b"\0\6" else value


def voters(value: bytes) -> object:
    record = VotersRecord.decode(value, 0)
    named = [one for one in record.voters if len(record.voters) > 1]
    return [(one.voter_id, one.endpoints, one.kraft_version_feature) for one in record.voters], [
        one.voter_directory_id for one in named
    ]


@pytest.mark.parametrize("name", CASES)
def test_the_same_arguments_leave_the_same_files(tools: ToolJvm, tmp_path: Path, name: str) -> None:
    settings, words = CASES[name]
    by_kafka = formatted(tmp_path / "kafka", settings, words, tools)
    assert formatted(tmp_path / "ottla", settings, words) == by_kafka
    is_mistake = name.startswith(("no such", "half", "no controller", "too much", "nothing said"))
    assert by_kafka[0] is not is_mistake, "two that refuse everything would agree"


def test_kafka_starts_on_what_ottla_formatted(tmp_path: Path) -> None:
    kafka = KafkaNode(tmp_path, is_standalone=True)
    kafka.prepare()
    CommandLine("nobody:1").ok("format", "-c", str(kafka.config_path), "-t", CLUSTER_ID, "--standalone")
    with kafka.running():
        (picture,) = CommandLine(kafka.bootstrap).ok("cluster", "info", "--json").rows
    assert (picture["clusterId"], picture["quorum"]["leader"]) == (CLUSTER_ID, 1)
    assert {one["name"]: one["level"] for one in picture["features"]}["kraft.version"] == 1


def test_ottla_starts_on_what_kafka_formatted(tools: ToolJvm, tmp_path: Path) -> None:
    port, controller_port = free_ports(2)
    settings = {
        **COMBINED,
        "listeners": f"PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controller_port}",
        "controller.quorum.bootstrap.servers": f"{HOST}:{controller_port}",
    }
    controllers = f"1@{HOST}:{controller_port}:JEXY6aqzQY-32P5TStzaFg"
    assert formatted(tmp_path / "kafka", settings, ["-I", controllers], tools)[0]
    with a_node(
        tmp_path / "kafka" / "a",
        "--config",
        str(tmp_path / "kafka" / "server.properties"),
        listeners=settings["listeners"],
    ) as node:
        (picture,) = CommandLine(node.address).ok("cluster", "info", "--json").rows
    assert (picture["clusterId"], picture["quorum"]["leader"]) == (CLUSTER_ID, 1)
