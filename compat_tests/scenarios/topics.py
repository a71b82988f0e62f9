"""Topics made, grown and removed, records deleted from the front of a log, and every way to be refused."""

from __future__ import annotations

from typing import Any

from compat_tests.scenarios.batches import batch
from compat_tests.scenarios.scenario import Area
from compat_tests.scenarios.stage import TIMEOUT_MS, Stage
from ottla.wire.messages.metadata import MetadataRequest
from ottla.wire.messages.topics import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteRecordsRequest,
    DeleteTopicsRequest,
)
from ottla.wire.primitives import uuid_text

AREA = Area("topics")
NODE = "the node"
UNKNOWN_ID = bytes(range(16))


def creatable(stage: Stage, case: dict[str, Any]) -> dict[str, Any]:
    topic: dict[str, Any] = {"name": stage.name, "num_partitions": 1, "replication_factor": 1, **case}
    topic["assignments"] = [
        {"partition_index": index, "broker_ids": [stage.place.node_id if one == NODE else one for one in brokers]}
        for index, brokers in case.get("assignments", {}).items()
    ]
    topic["configs"] = [{"name": key, "value": value} for key, value in case.get("configs", {}).items()]
    return topic


def create(stage: Stage, version: int, *topics: dict[str, Any], **more: Any) -> Any:
    def meet(response: Any) -> None:
        for topic in response.topics:
            if topic.topic_id != bytes(16):
                stage.names.text(uuid_text(topic.topic_id), "an id")

    return stage.ask(CreateTopicsRequest, version, {"topics": topics, "timeout_ms": TIMEOUT_MS, **more}, meet=meet)


def look(stage: Stage, *names: str) -> None:
    """What became of topics, once the broker knows."""
    fields = {"topics": [{"name": name} for name in names], "allow_auto_topic_creation": False}
    found = stage.quietly(MetadataRequest, 7, fields)
    stage.note("afterwards", [[topic.name, topic.error_code, len(topic.partitions)] for topic in found.topics])


GOOD = {
    "one partition": {},
    "four": {"num_partitions": 4},
    "by default": {"num_partitions": -1, "replication_factor": -1},
    "assigned": {"num_partitions": -1, "replication_factor": -1, "assignments": {0: [NODE], 1: [NODE]}},
    "configured": {"configs": {"cleanup.policy": "compact", "retention.ms": "1000", "segment.bytes": "1048576"}},
}
BAD = {
    "no partitions": {"num_partitions": 0},
    "fewer than none": {"num_partitions": -2},
    "no replicas": {"replication_factor": 0},
    "fewer replicas than none": {"replication_factor": -2},
    "too many replicas": {"replication_factor": 2},
    "an empty name": {"name": ""},
    "a dot": {"name": "."},
    "two dots": {"name": ".."},
    "a name of blanks": {"name": "a b"},
    "a slash": {"name": "a/b"},
    "a long name": {"name": "n" * 250},
    "umlauts": {"name": "gr\u00fc\u00dfe"},
    "the metadata log": {"name": "__cluster_metadata"},
    "unknown config": {"configs": {"no.such.key": "1"}},
    "wrong number": {"configs": {"retention.ms": "soon"}},
    "below the range": {"configs": {"segment.bytes": "1"}},
    "wrong word": {"configs": {"cleanup.policy": "keep"}},
    "no value": {"configs": {"retention.ms": None}},
    "assigned to nobody": {"num_partitions": -1, "replication_factor": -1, "assignments": {0: []}},
    "assigned to a stranger": {"num_partitions": -1, "replication_factor": -1, "assignments": {0: [77]}},
    "assigned twice": {"num_partitions": -1, "replication_factor": -1, "assignments": {0: [NODE, NODE]}},
    "assigned with a gap": {"num_partitions": -1, "replication_factor": -1, "assignments": {0: [NODE], 2: [NODE]}},
    "assigned and counted": {"assignments": {0: [NODE]}},
}


@AREA.at(CreateTopicsRequest, GOOD)
def made(stage: Stage, version: int, case: dict[str, Any]) -> None:
    create(stage, version, creatable(stage, case), validate_only=True)
    response = create_and_name(stage, version, case)
    stage.saw(CreateTopicsRequest, version, response)
    create(stage, version, creatable(stage, case))
    look(stage, stage.name)


def create_and_name(stage: Stage, version: int, case: dict[str, Any]) -> Any:
    fields = {"topics": [creatable(stage, case)], "timeout_ms": TIMEOUT_MS}
    response = stage.quietly(CreateTopicsRequest, version, fields)
    stage.wait_for_topic(stage.name)
    return response


@AREA.at(CreateTopicsRequest, BAD, versions=(7,))
def refused(stage: Stage, version: int, case: dict[str, Any]) -> None:
    create(stage, version, creatable(stage, case))


@AREA.at(CreateTopicsRequest, {"partitions": BAD["no partitions"], "config": BAD["wrong word"]}, versions=(2, 5))
def refused_before(stage: Stage, version: int, case: dict[str, Any]) -> None:
    create(stage, version, creatable(stage, case))


@AREA.at(CreateTopicsRequest)
def the_same_name_twice_in_a_request(stage: Stage, version: int) -> None:
    create(stage, version, creatable(stage, {}), creatable(stage, {}))
    look(stage, stage.name)


@AREA.one
def one_good_and_one_bad(stage: Stage) -> None:
    bad, good = creatable(stage, {"name": "a b"}), creatable(stage, {})
    response = stage.quietly(CreateTopicsRequest, 7, {"topics": [bad, good], "timeout_ms": TIMEOUT_MS})
    stage.wait_for_topic(stage.name)
    stage.saw(CreateTopicsRequest, 7, response)


@AREA.one
def names_that_metrics_cannot_tell_apart(stage: Stage) -> None:
    stage.topic(".a")
    create(stage, 7, creatable(stage, {"name": f"{stage.name}_a"}))


# Removing


def removal(stage: Stage, version: int, *topics: dict[str, Any]) -> Any:
    fields: dict[str, Any] = {"timeout_ms": TIMEOUT_MS}
    if version < 6:
        fields["topic_names"] = [topic["name"] for topic in topics]
    else:
        fields["topics"] = topics
    return stage.ask(DeleteTopicsRequest, version, fields)


@AREA.at(DeleteTopicsRequest)
def removed(stage: Stage, version: int) -> None:
    topic = stage.topic()
    removal(stage, version, {"name": topic})
    fields = {"topics": [{"name": topic}], "allow_auto_topic_creation": False}
    stage.until("it is gone", lambda: bool(stage.quietly(MetadataRequest, 7, fields).topics[0].error_code))
    removal(stage, version, {"name": topic})


@AREA.at(DeleteTopicsRequest, {"unknown": "no-such-topic", "empty": "", "no name": "a b"})
def not_removed(stage: Stage, version: int, name: str) -> None:
    removal(stage, version, {"name": name})


@AREA.at(DeleteTopicsRequest)
def removed_twice_in_a_request(stage: Stage, version: int) -> None:
    topic = stage.topic()
    removal(stage, version, {"name": topic}, {"name": topic})


@AREA.one
def removed_by_its_id(stage: Stage) -> None:
    topic_id = stage.topic_id(stage.topic())
    removal(stage, 6, {"topic_id": topic_id})


@AREA.one
def removed_by_its_name_and_its_id_at_once(stage: Stage) -> None:
    topic = stage.topic()
    removal(stage, 6, {"name": topic}, {"topic_id": stage.topic_id(topic)})


@AREA.cases({"nobody's": UNKNOWN_ID, "zero": bytes(16)})
def not_removed_by_an_id(stage: Stage, topic_id: bytes) -> None:
    removal(stage, 6, {"topic_id": topic_id})


@AREA.one
def not_removed_by_name_and_id_in_one(stage: Stage) -> None:
    topic = stage.topic()
    removal(stage, 6, {"name": topic, "topic_id": stage.topic_id(topic)})


# Growing


GROWTH = {
    "by one": (3, None),
    "assigned": (3, [[NODE]]),
    "to what it has": (2, None),
    "to less": (1, None),
    "to none": (0, None),
    "below none": (-1, None),
    "assigned to a stranger": (3, [[77]]),
    "assigned to nobody": (3, [[]]),
    "assigned too often": (3, [[NODE], [NODE]]),
    "assigned too rarely": (4, [[NODE]]),
    "assigned twice": (3, [[NODE, NODE]]),
}


@AREA.at(CreatePartitionsRequest, GROWTH)
def grown(stage: Stage, version: int, case: tuple[int, list[list[Any]] | None]) -> None:
    count, assigned = case
    assignments = assigned and [
        {"broker_ids": [stage.place.node_id if one == NODE else one for one in brokers]} for brokers in assigned
    ]
    topic = {"name": stage.topic(partitions=2), "count": count, "assignments": assignments}
    for only_checked in (True, False):
        fields = {"topics": [topic], "timeout_ms": TIMEOUT_MS, "validate_only": only_checked}
        stage.ask(CreatePartitionsRequest, version, fields)


@AREA.at(CreatePartitionsRequest)
def unknown_ones_do_not_grow(stage: Stage, version: int) -> None:
    topics = [{"name": name, "count": 3, "assignments": None} for name in ("no-such-topic", "", "twice", "twice")]
    stage.ask(CreatePartitionsRequest, version, {"topics": topics, "timeout_ms": TIMEOUT_MS})


# Deleting records


@AREA.at(DeleteRecordsRequest, {"some": 2, "all": -1, "none": 0, "up to the end": 4, "too many": 5, "negative": -2})
def records_deleted(stage: Stage, version: int, offset: int) -> None:
    topic = stage.topic()
    stage.produce(topic, batch(b"a", b"b", b"c"), batch(b"d"))
    fields = {"timeout_ms": TIMEOUT_MS, "topics": [deletion(topic, 0, offset)]}
    stage.ask(DeleteRecordsRequest, version, fields)
    fields["topics"] = [deletion(topic, 0, 1)]
    stage.ask(DeleteRecordsRequest, version, fields)


@AREA.at(DeleteRecordsRequest)
def records_of_unknown_partitions(stage: Stage, version: int) -> None:
    topics = [deletion("no-such-topic", 0, 1), deletion(stage.topic(), 7, 1)]
    stage.ask(DeleteRecordsRequest, version, {"timeout_ms": TIMEOUT_MS, "topics": topics})


@AREA.one
def records_of_a_compacted_topic_stay(stage: Stage) -> None:
    topic = stage.topic(configs={"cleanup.policy": "compact"})
    stage.produce(topic, batch((b"k", b"v")))
    stage.ask(DeleteRecordsRequest, 2, {"timeout_ms": TIMEOUT_MS, "topics": [deletion(topic, 0, 1)]})


def deletion(topic: str, partition: int, offset: int) -> dict[str, Any]:
    return {"name": topic, "partitions": [{"partition_index": partition, "offset": offset}]}
