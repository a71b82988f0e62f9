"""What Kafka's tools print of a cluster, read back into shapes that can be compared with what a client is told.

Partitions are told by one shape whoever tells of them: the tool that describes topics, the dump of the metadata log,
the metadata shell, and our own client.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ottla.client.blocking import Client
from ottla.client.topic_admin import describe_topics

NO_LEADER = -1
# In a PartitionChangeRecord: the leader stays as it is.
NO_LEADER_CHANGE = -2
# BrokerRegistrationChangeRecord, whose 0 is no change.
FENCED, UNFENCED = 1, -1


class PartitionView(NamedTuple):
    leader: int
    replicas: list[int]
    isr: list[int]


Topics = dict[str, dict[int, PartitionView]]


def told_topics(bootstrap: str) -> Topics:
    """As our own client is told."""
    with Client(bootstrap) as client:
        return {
            str(topic.name): {
                one.partition_index: PartitionView(one.leader_id, one.replica_nodes, one.isr_nodes)
                for one in topic.partitions
            }
            for topic in client.call(describe_topics)
        }


# TopicCommand --describe

TOPIC_ROW = re.compile(r"\tTopic: (\S+)\tPartition: (\d+)\tLeader: (\S+)\tReplicas: (\S*)\tIsr: (\S*)\t")


def described_topics(lines: Iterable[str]) -> Topics:
    topics: Topics = {}
    for line in lines:
        if row := TOPIC_ROW.match(line):
            leader = NO_LEADER if row[3] == "none" else int(row[3])
            topics.setdefault(row[1], {})[int(row[2])] = PartitionView(leader, ids(row[4]), ids(row[5]))
    return topics


def ids(text: str) -> list[int]:
    return [int(one) for one in text.split(",") if one.strip()]


# MetadataQuorumCommand describe --status


def status(lines: Iterable[str]) -> dict[str, str]:
    rows = (line.partition(":") for line in lines if line)
    return {name: text.strip() for name, _, text in rows}


# MetadataShell: cat of a partition

REGISTRATION = re.compile(r"replicas=\[(.*?)\].* isr=\[(.*?)\].* leader=(-?\d+),")


def shown_partition(lines: Iterable[str]) -> PartitionView | None:
    """None where the shell does not know of it yet."""
    found = REGISTRATION.search(" ".join(lines))
    return None if found is None else PartitionView(int(found[3]), ids(found[1]), ids(found[2]))


# DumpLogSegments --cluster-metadata-decoder

PAYLOAD = "| payload: "


@dataclass
class Replayed:
    """What the records of the metadata log, as Kafka's decoder shows them, come to."""

    topics: Topics = field(default_factory=dict)
    features: dict[str, int] = field(default_factory=dict)
    configs: dict[tuple[int, str], dict[str, str]] = field(default_factory=dict)
    # Whether each broker is fenced.
    brokers: dict[int, bool] = field(default_factory=dict)
    controllers: set[int] = field(default_factory=set)
    _names: dict[str, str] = field(default_factory=dict)

    def replay(self, lines: Iterable[str]) -> None:
        for line in lines:
            assert "isvalid: false" not in line, line
            if line.startswith(PAYLOAD):
                record = json.loads(line.removeprefix(PAYLOAD))
                if (take := TAKES.get(record["type"])) is not None:
                    take(self, record["data"])

    def topic(self, data: dict[str, Any]) -> None:
        self._names[data["topicId"]] = data["name"]
        self.topics[data["name"]] = {}

    def remove_topic(self, data: dict[str, Any]) -> None:
        del self.topics[self._names.pop(data["topicId"])]

    def partition(self, data: dict[str, Any]) -> None:
        view = PartitionView(data["leader"], data["replicas"], data["isr"])
        self.topics[self._names[data["topicId"]]][data["partitionId"]] = view

    def partition_change(self, data: dict[str, Any]) -> None:
        partitions = self.topics[self._names[data["topicId"]]]
        known = partitions[data["partitionId"]]
        leader = data.get("leader", NO_LEADER_CHANGE)
        partitions[data["partitionId"]] = PartitionView(
            known.leader if leader == NO_LEADER_CHANGE else leader,
            data.get("replicas") or known.replicas,
            known.isr if data.get("isr") is None else data["isr"],
        )

    def feature_level(self, data: dict[str, Any]) -> None:
        self.features[data["name"]] = data["featureLevel"]

    def config(self, data: dict[str, Any]) -> None:
        values = self.configs.setdefault((data["resourceType"], data["resourceName"]), {})
        values.pop(data["name"], None)
        if data["value"] is not None:
            values[data["name"]] = data["value"]

    def register_broker(self, data: dict[str, Any]) -> None:
        self.brokers[data["brokerId"]] = data["fenced"]

    def change_broker(self, data: dict[str, Any]) -> None:
        changes = {FENCED: True, UNFENCED: False}
        self.brokers[data["brokerId"]] = changes.get(data.get("fenced", 0), self.brokers[data["brokerId"]])

    def unregister_broker(self, data: dict[str, Any]) -> None:
        del self.brokers[data["brokerId"]]

    def register_controller(self, data: dict[str, Any]) -> None:
        self.controllers.add(data["controllerId"])


TAKES = {
    "TOPIC_RECORD": Replayed.topic,
    "REMOVE_TOPIC_RECORD": Replayed.remove_topic,
    "PARTITION_RECORD": Replayed.partition,
    "PARTITION_CHANGE_RECORD": Replayed.partition_change,
    "FEATURE_LEVEL_RECORD": Replayed.feature_level,
    "CONFIG_RECORD": Replayed.config,
    "REGISTER_BROKER_RECORD": Replayed.register_broker,
    "BROKER_REGISTRATION_CHANGE_RECORD": Replayed.change_broker,
    "UNREGISTER_BROKER_RECORD": Replayed.unregister_broker,
    "REGISTER_CONTROLLER_RECORD": Replayed.register_controller,
}
