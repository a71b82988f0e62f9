"""What administrators ask beyond topics and configs: elections, moves, directories, quorum, features, producers."""

from __future__ import annotations

from typing import Any

from compat_tests.scenarios.batches import batch, idempotent
from compat_tests.scenarios.scenario import Area
from compat_tests.scenarios.stage import TIMEOUT_MS, Stage
from ottla.wire.messages.controller import UnregisterBrokerRequest
from ottla.wire.messages.features import UpdateFeaturesRequest
from ottla.wire.messages.log_dirs import AlterReplicaLogDirsRequest, DescribeLogDirsRequest
from ottla.wire.messages.partition_admin import (
    AlterPartitionReassignmentsRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
)
from ottla.wire.messages.quorum import AddRaftVoterRequest, DescribeQuorumRequest, RemoveRaftVoterRequest
from ottla.wire.messages.telemetry import GetTelemetrySubscriptionsRequest, PushTelemetryRequest
from ottla.wire.messages.transaction_admin import (
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    ListTransactionsRequest,
)
from ottla.wire.messages.transactions import InitProducerIdRequest
from ottla.wire.primitives import uuid_text

AREA = Area("administration")
PREFERRED, UNCLEAN = 0, 1


# Leaders and replicas


@AREA.at(ElectLeadersRequest, {"preferred": PREFERRED, "unclean": UNCLEAN, "a kind that is none": 9})
def leaders_elected(stage: Stage, version: int, kind: int) -> None:
    topics = [
        {"topic": stage.topic(partitions=2), "partitions": [0, 1, 7]},
        {"topic": "no-such-topic", "partitions": [0]},
    ]
    fields = {"election_type": kind, "topic_partitions": topics, "timeout_ms": TIMEOUT_MS}
    stage.ask(ElectLeadersRequest, version, fields)


@AREA.at(ElectLeadersRequest)
def leaders_elected_everywhere(stage: Stage, version: int) -> None:
    """Others play on the same broker, so only one's own is looked at."""
    topic = stage.topic()
    found = stage.quietly(ElectLeadersRequest, version, {"topic_partitions": None, "timeout_ms": TIMEOUT_MS})
    found.replica_election_results = [one for one in found.replica_election_results if one.topic == topic]
    stage.saw(ElectLeadersRequest, version, found)


MOVES = {
    "to where it is": ["here"],
    "nowhere": [],
    "to a stranger": [77],
    "twice to one": ["here", "here"],
    "a negative one": [-1],
    "a move taken back": None,
}


@AREA.at(AlterPartitionReassignmentsRequest, MOVES)
def replicas_moved(stage: Stage, version: int, brokers: list[Any] | None) -> None:
    replicas = brokers and [stage.place.node_id if one == "here" else one for one in brokers]
    replicas = brokers if not brokers else replicas
    topic = {"name": stage.topic(), "partitions": [{"partition_index": 0, "replicas": replicas}]}
    stage.ask(AlterPartitionReassignmentsRequest, version, {"topics": [topic], "timeout_ms": TIMEOUT_MS})
    asked = [{"name": topic["name"], "partition_indexes": [0]}]
    stage.ask(ListPartitionReassignmentsRequest, 0, {"topics": asked, "timeout_ms": TIMEOUT_MS})


@AREA.at(AlterPartitionReassignmentsRequest)
def unknown_replicas_are_not_moved(stage: Stage, version: int) -> None:
    partitions = [{"partition_index": index, "replicas": [stage.place.node_id]} for index in (0, 7)]
    topics = [{"name": name, "partitions": partitions} for name in (stage.topic(), "no-such-topic")]
    stage.ask(AlterPartitionReassignmentsRequest, version, {"topics": topics, "timeout_ms": TIMEOUT_MS})


@AREA.cases({"all": None, "none": [], "unknown": [{"name": "no-such-topic", "partition_indexes": [0]}]})
def moves_listed(stage: Stage, topics: Any) -> None:
    stage.ask(ListPartitionReassignmentsRequest, 0, {"topics": topics, "timeout_ms": TIMEOUT_MS})


# Directories


@AREA.at(DescribeLogDirsRequest, {"its own": None, "unknown": "no-such-topic"})
def directories(stage: Stage, version: int, name: str | None) -> None:
    """An empty log takes no space; how much a record takes is the same everywhere too."""
    topic = stage.topic(partitions=2)
    stage.produce(topic, batch(b"a", b"b"))
    asked = [{"topic": name or topic, "partitions": [0, 1, 7]}]
    fields = {"topics": asked}
    found = stage.quietly(DescribeLogDirsRequest, version, fields)
    for directory in found.results:
        directory.log_dir = "<directory>"
        for one in directory.topics:
            one.partitions.sort(key=lambda partition: partition.partition_index)
    stage.saw(DescribeLogDirsRequest, version, found)


@AREA.at(AlterReplicaLogDirsRequest, {"nowhere": "no/such/directory", "root": "/no-such-directory"})
def replicas_moved_between_directories(stage: Stage, version: int, path: str) -> None:
    topics = [{"name": stage.topic(), "partitions": [0, 7]}]
    stage.ask(AlterReplicaLogDirsRequest, version, {"dirs": [{"path": path, "topics": topics}]})


@AREA.at(AlterReplicaLogDirsRequest)
def replicas_that_stay_in_their_directory(stage: Stage, version: int) -> None:
    topic = stage.topic()
    (home,) = stage.quietly(DescribeLogDirsRequest, 4, {"topics": [{"topic": topic, "partitions": [0]}]}).results
    topics = [{"name": topic, "partitions": [0]}]
    stage.ask(AlterReplicaLogDirsRequest, version, {"dirs": [{"path": home.log_dir, "topics": topics}]})


# The quorum and its features


def quorum_question(topic: str, partition: int) -> dict[str, Any]:
    return {"topics": [{"topic_name": topic, "partitions": [{"partition_index": partition}]}]}


@AREA.at(DescribeQuorumRequest)
def the_quorum(stage: Stage, version: int) -> None:
    """Where the log ends and in which epoch is each cluster's own history."""
    found = stage.quietly(DescribeQuorumRequest, version, quorum_question("__cluster_metadata", 0))
    (partition,) = found.topics[0].partitions
    stage.note("led", [partition.leader_epoch > 0, partition.high_watermark > 0])
    partition.leader_epoch, partition.high_watermark = 0, 0
    for voter in (*partition.current_voters, *partition.observers):
        voter.log_end_offset = 0
        if voter.replica_directory_id != bytes(16):
            stage.names.text(uuid_text(voter.replica_directory_id), "directory")
    stage.saw(DescribeQuorumRequest, version, found)


@AREA.at(DescribeQuorumRequest, {"another topic": ("elsewhere", 0), "another partition": ("__cluster_metadata", 1)})
def no_quorum(stage: Stage, version: int, case: tuple[str, int]) -> None:
    stage.ask(DescribeQuorumRequest, version, quorum_question(*case))


ELSEWHERE = {"name": "CONTROLLER", "host": "localhost", "port": 1}
NOT_ADDED: dict[str, dict[str, Any]] = {
    "in another cluster": {"cluster_id": "elsewhere"},
    "that is there": {},
    "that is there elsewhere": {"voter_directory_id": bytes(range(16))},
    "without a directory": {"voter_directory_id": bytes(16)},
    "without a listener": {"voter_id": 77, "listeners": []},
    "of another listener": {"voter_id": 77, "listeners": [{**ELSEWHERE, "name": "OTHER"}]},
    "below zero": {"voter_id": -1},
}
NOT_REMOVED: dict[str, dict[str, Any]] = {
    "in another cluster": {"cluster_id": "elsewhere"},
    "that is not there": {"voter_id": 77},
    "that is there elsewhere": {"voter_directory_id": bytes(range(16))},
    "without a directory": {"voter_directory_id": bytes(16)},
}


def the_voter(stage: Stage) -> dict[str, Any]:
    """The only one, as it would be named to be added or removed."""
    found = stage.quietly(DescribeQuorumRequest, 2, quorum_question("__cluster_metadata", 0))
    (voter,) = found.topics[0].partitions[0].current_voters
    return {
        "cluster_id": stage.place.cluster_id,
        "voter_id": voter.replica_id,
        "voter_directory_id": voter.replica_directory_id,
    }


@AREA.at(AddRaftVoterRequest, NOT_ADDED)
def no_voter_is_added(stage: Stage, version: int, wrong: dict[str, Any]) -> None:
    fields = {**the_voter(stage), "timeout_ms": TIMEOUT_MS, "listeners": [ELSEWHERE], **wrong}
    stage.ask(AddRaftVoterRequest, version, fields)
    the_quorum(stage, 2)


@AREA.at(RemoveRaftVoterRequest, NOT_REMOVED)
def no_voter_is_removed(stage: Stage, version: int, wrong: dict[str, Any]) -> None:
    stage.ask(RemoveRaftVoterRequest, version, {**the_voter(stage), **wrong})
    the_quorum(stage, 2)


FEATURES = {
    "unknown": ("no.such.feature", 1, 1),
    "beyond": ("metadata.version", 32000, 1),
    "what it is": ("metadata.version", 30, 1),
    "a wrong kind of change": ("metadata.version", 30, 9),
    "a downgrade that is none": ("metadata.version", 29, 1),
    "negative": ("metadata.version", -1, 1),
}


@AREA.at(UpdateFeaturesRequest, FEATURES)
def features(stage: Stage, version: int, case: tuple[str, int, int]) -> None:
    name, level, upgrade = case
    update = {"feature": name, "max_version_level": level, "upgrade_type": upgrade, "allow_downgrade": False}
    stage.ask(
        UpdateFeaturesRequest, version, {"feature_updates": [update], "timeout_ms": TIMEOUT_MS, "validate_only": True}
    )


@AREA.at(UpdateFeaturesRequest)
def no_features(stage: Stage, version: int) -> None:
    stage.ask(UpdateFeaturesRequest, version, {"feature_updates": [], "timeout_ms": TIMEOUT_MS})


@AREA.cases({"unknown": 77, "negative": -1})
def a_broker_unregistered(stage: Stage, broker_id: int) -> None:
    stage.ask(UnregisterBrokerRequest, 0, {"broker_id": broker_id})


# Producers


def ask_for_id(stage: Stage, version: int, fields: dict[str, Any]) -> None:
    """A broker that has just started has none to give yet."""
    stage.until(
        "ids are handed out", lambda: not stage.quietly(InitProducerIdRequest, 0, {"transactional_id": None}).error_code
    )
    stage.ask(InitProducerIdRequest, version, fields, meet=lambda one: stage.names.new_producer(one.producer_id))


@AREA.at(InitProducerIdRequest)
def a_producer_id(stage: Stage, version: int) -> None:
    for _ in range(2):
        ask_for_id(stage, version, {"transactional_id": None})


@AREA.at(
    InitProducerIdRequest,
    {"an id without an epoch": (7, -1), "an epoch without an id": (-1, 7), "both": (7, 7)},
    versions=(3, 4, 5),
)
def a_producer_id_for_one_that_has(stage: Stage, version: int, case: tuple[int, int]) -> None:
    producer_id, epoch = case
    fields = {"transactional_id": None, "producer_id": producer_id, "producer_epoch": epoch}
    ask_for_id(stage, version, fields)


@AREA.at(InitProducerIdRequest)
def a_producer_id_for_an_empty_transaction(stage: Stage, version: int) -> None:
    stage.ask(InitProducerIdRequest, version, {"transactional_id": "", "transaction_timeout_ms": 1000})


@AREA.one
def producers_of_partitions(stage: Stage) -> None:
    topic = stage.topic(partitions=2)
    stage.produce(topic, idempotent(b"a", b"b", producer_id=7001, epoch=3))
    stage.produce(topic, batch(b"c"))
    topics = [{"name": topic, "partition_indexes": [0, 1, 7]}, {"name": "no-such-topic", "partition_indexes": [0]}]
    stage.ask(DescribeProducersRequest, 0, {"topics": topics})
    stage.ask(DescribeProducersRequest, 0, {"topics": [{"name": topic, "partition_indexes": [0]}]})


# Transactions, which nobody has begun


@AREA.at(ListTransactionsRequest)
def no_transactions(stage: Stage, version: int) -> None:
    stage.ask(ListTransactionsRequest, version, {})
    fields = {"state_filters": ["Ongoing", "nonsense"], "producer_id_filters": [5], "duration_filter": 1000}
    stage.ask(ListTransactionsRequest, version, fields)


@AREA.at(ListTransactionsRequest, {"expression": "a(b", "good": "a.*"}, versions=(2,))
def transactions_by_an(stage: Stage, version: int, pattern: str) -> None:
    stage.ask(ListTransactionsRequest, version, {"transactional_id_pattern": pattern})


@AREA.cases({"unknown": "nobody", "empty": ""})
def a_transaction(stage: Stage, name: str) -> None:
    stage.ask(DescribeTransactionsRequest, 0, {"transactional_ids": [name]})


# Metrics of clients


@AREA.one
def telemetry(stage: Stage) -> None:
    stage.ask(GetTelemetrySubscriptionsRequest, 0, {"client_instance_id": bytes(range(16))})
    pushed = {"client_instance_id": bytes(range(16)), "subscription_id": 1, "compression_type": 0, "metrics": b""}
    stage.ask(PushTelemetryRequest, 0, pushed)
