"""Logs that Ottla's cleaner has compacted, handed to Apache Kafka: its tools find no fault, and its broker goes on.

Kafka formats the directory, Ottla serves and compacts a topic in it, then Kafka starts on it again.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from compat_tests import kafka_topics
from compat_tests.kafka_process import HOST, KafkaNode
from ottla.client.blocking import Client
from tests.server import compacted_topic
from tests.server.compacted_topic import CLEANED, TOPIC, Read, assert_nothing_is_lost
from tests.server.node_process import a_process
from tests.storage.cleaner.test_against_kafka import dump

pytestmark = pytest.mark.jvm

BATCH_COUNT = 300
SECONDS_MAX = 60


class Handed(NamedTuple):
    """A directory that Ottla has left, and where its one topic ends."""

    node: KafkaNode
    end: int
    cleaned_to: int

    @property
    def log_directory(self) -> Path:
        return self.node.log_dir / f"{TOPIC}-0"


@pytest.fixture(scope="module")
def handed(tmp_path_factory: pytest.TempPathFactory) -> Handed:
    node = KafkaNode(tmp_path_factory.mktemp("cleaned"))
    node.format()
    with a_process(
        *("--config", str(node.config_path), "--log.dirs", str(node.log_dir)),
        *("--listeners", f"PLAINTEXT://{HOST}:0,CONTROLLER://{HOST}:0", "--log.cleaner.backoff.ms", "10"),
    ) as ottla:
        with Client(ottla.address) as client:
            compacted_topic.create(client, **{"index.interval.bytes": "100"})
            end = compacted_topic.fill(client, BATCH_COUNT)
        ottla.line(CLEANED)
        assert ottla.stop() == 0, ottla.printed
    line = (node.log_dir / "cleaner-offset-checkpoint").read_text().splitlines()[2]
    return Handed(node, end, int(line.split()[2]))


def test_the_tool_finds_no_fault_with_any_file(handed: Handed) -> None:
    directory = handed.log_directory
    logs = sorted(path.name for path in directory.glob("*.log"))
    indexes = sorted(path.name for path in directory.glob("*.*index") if path.stat().st_size)
    assert len(logs) > 1
    assert "isvalid: true" in dump(str(directory), logs, "--deep-iteration")
    assert dump(str(directory), indexes, "--index-sanity-check").count("passed sanity check") == len(indexes)
    dump(str(directory), indexes, "--verify-index-only")


def test_kafka_reads_the_last_of_every_key_and_goes_on_cleaning(handed: Handed) -> None:
    with handed.node.running() as node:
        (found,) = kafka_topics.read_by_kafka_python(node.bootstrap, (TOPIC,), is_committed=True).values()
        assert_nothing_is_lost([Read(one.offset, one.key or b"", one.value or b"") for one in found], handed.end)
        assert len([one for one in found if one.offset < handed.cleaned_to]) <= compacted_topic.KEY_COUNT
        with Client(node.bootstrap) as client:
            end = compacted_topic.fill(client, BATCH_COUNT, handed.end)
        begun = node.wait_for(rf"Building offset map for log {TOPIC}-0 .* offset range \[(\d+), ", SECONDS_MAX)
        assert int(begun[1]) == handed.cleaned_to, "it begins where Ottla's checkpoint says that Ottla has stopped"
        (found,) = kafka_topics.read_by_kafka_python(node.bootstrap, (TOPIC,), is_committed=True).values()
        assert_nothing_is_lost([Read(one.offset, one.key or b"", one.value or b"") for one in found], end)
