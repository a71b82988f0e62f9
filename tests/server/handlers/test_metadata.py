"""Metadata: which topics, by name and by id, who leads them, and topics that come to be by being asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from ottla.server.handlers.authorized_operations import CLUSTER_OPERATIONS, NOT_ASKED, TOPIC_OPERATIONS
from ottla.server.handlers.metadata import CREATED_MAX
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.metadata import MetadataRequest, MetadataResponse
from ottla.wire.primitives import ZERO_UUID
from tests.server.handler_world import INTERNAL, LEADER_EPOCH, World, a_world

Topic = MetadataRequest.MetadataRequestTopic
NO_ID = ZERO_UUID
UNKNOWN_ID = b"\x07" * 16


def ask(
    world: World, names: Sequence[str] | None, version: int = 13, *, create: bool = True, listener: str = "PLAINTEXT"
) -> MetadataResponse:
    topics = None if names is None else [Topic(name=name) for name in names]
    may_forbid = version >= 4
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=create or not may_forbid)
    response: MetadataResponse = world.ask(request, version, listener=listener)
    return response


def names(response: MetadataResponse) -> list[str | None]:
    return [topic.name for topic in response.topics]


def errors(response: MetadataResponse) -> dict[str | None, int]:
    return {topic.name: topic.error_code for topic in response.topics}


@pytest.mark.parametrize("version", range(14))
def test_a_topic_is_described_in_every_version(world: World, version: int) -> None:
    topic_id = world.topic("a", 2)
    response = ask(world, ["a"], version)
    (topic,) = response.topics
    assert (topic.name, topic.error_code) == ("a", ErrorCode.NONE)
    assert topic.topic_id == (topic_id if version >= 10 else NO_ID)
    assert [(each.partition_index, each.leader_id) for each in topic.partitions] == [(0, 1), (1, 1)]
    assert topic.partitions[0].leader_epoch == (LEADER_EPOCH if version >= 7 else -1)
    assert [(each.node_id, each.host, each.port) for each in response.brokers] == [(1, "host-1", 9092)]
    assert response.cluster_id == ("cluster" if version >= 2 else None)
    assert response.controller_id == (1 if version >= 1 else -1)


def test_an_empty_list_means_all_in_version_0_and_none_later(world: World) -> None:
    world.topic("a")
    assert names(ask(world, [], 0)) == ["a"]
    assert names(ask(world, [], 1)) == []
    assert names(ask(world, None, 1)) == ["a"]
    assert names(ask(world, None)) == ["a"]


def test_a_topic_that_is_named_twice_is_told_once(world: World) -> None:
    world.topic("a")
    assert names(ask(world, ["a", "a"])) == ["a"]


def test_topics_come_as_they_were_asked_for_and_unknown_names_behind_them(world: World) -> None:
    world.topic("a")
    world.topic("b")
    assert names(ask(world, ["x", "b", "y", "a"], create=False)) == ["b", "a", "x", "y"]


def test_brokers_are_told_with_the_endpoint_of_the_listener_and_their_rack(world: World) -> None:
    world.register(2, rack="north")
    world.register(3, listeners=["PLAINTEXT"])
    world.register(4, fenced=True)
    on_plain = ask(world, [])
    assert [(each.node_id, each.port, each.rack) for each in on_plain.brokers] == [
        (1, 9092, None),
        (2, 9092, "north"),
        (3, 9092, None),
    ]
    assert [(each.node_id, each.port) for each in ask(world, [], listener=INTERNAL).brokers] == [(1, 9093), (2, 9093)]


def test_any_live_broker_is_named_as_controller(world: World) -> None:
    world.register(2)
    world.register(1, fenced=True)
    assert ask(world, []).controller_id == 2
    world.register(2, fenced=True)
    assert ask(world, []).controller_id == -1


# Topics by id


def test_topics_are_found_by_id_from_version_12_on(world: World) -> None:
    topic_id = world.topic("a")
    by_id = MetadataRequest(topics=[Topic(topic_id=topic_id, name=None), Topic(topic_id=UNKNOWN_ID, name=None)])
    unknown, known = world.ask(by_id, 12).topics
    assert (known.name, known.topic_id, known.error_code) == ("a", topic_id, ErrorCode.NONE)
    assert (unknown.name, unknown.topic_id, unknown.error_code) == (None, UNKNOWN_ID, ErrorCode.UNKNOWN_TOPIC_ID)


def test_a_request_with_ids_is_one_by_ids_alone(world: World) -> None:
    topic_id = world.topic("a")
    world.topic("b")
    both = MetadataRequest(topics=[Topic(topic_id=topic_id, name=None), Topic(name="b")])
    assert names(world.ask(both)) == ["a"]


@pytest.mark.parametrize("version", [10, 11])
@pytest.mark.parametrize("topic", [Topic(topic_id=UNKNOWN_ID, name="a"), Topic(name=None)])
def test_ids_and_missing_names_are_refused_before_version_12(world: World, topic: Topic, version: int) -> None:
    (answer,) = world.ask(MetadataRequest(topics=[topic]), version).topics
    assert answer.error_code == ErrorCode.INVALID_REQUEST


def test_a_topic_with_neither_name_nor_id_is_refused(world: World) -> None:
    response = world.ask(MetadataRequest(topics=[Topic(name=None)]))
    assert (response.error_code, response.topics[0].error_code) == (
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    )


# Leaders


def test_a_partition_without_a_leader_says_so(world: World) -> None:
    world.topic("a", leader=-1)
    (partition,) = ask(world, ["a"]).topics[0].partitions
    assert (partition.error_code, partition.leader_id) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)


@pytest.mark.parametrize(("version", "code"), [(5, ErrorCode.LEADER_NOT_AVAILABLE), (6, ErrorCode.LISTENER_NOT_FOUND)])
def test_a_leader_that_is_not_on_the_listener_is_told_apart_from_version_6_on(
    world: World, version: int, code: ErrorCode
) -> None:
    world.register(2, listeners=["PLAINTEXT"])
    world.topic("a", replicas=[2, 1], leader=2)
    (partition,) = ask(world, ["a"], version, listener=INTERNAL).topics[0].partitions
    assert (partition.error_code, partition.leader_id) == (code, -1)
    assert partition.offline_replicas == [2]


def test_version_0_leaves_out_replicas_that_are_not_there_and_says_so(world: World) -> None:
    world.topic("a", replicas=[1, 2], isr=[1])
    (old,) = ask(world, ["a"], 0).topics[0].partitions
    assert (old.error_code, old.replica_nodes) == (ErrorCode.REPLICA_NOT_AVAILABLE, [1])
    (new,) = ask(world, ["a"]).topics[0].partitions
    assert (new.error_code, new.replica_nodes, new.offline_replicas) == (ErrorCode.NONE, [1, 2], [2])


def test_version_0_misses_in_sync_replicas_too(world: World) -> None:
    world.topic("a", replicas=[1, 2], isr=[1, 2])
    (partition,) = ask(world, ["a"], 0).topics[0].partitions
    assert (partition.error_code, partition.isr_nodes) == (ErrorCode.REPLICA_NOT_AVAILABLE, [1])


def test_a_replica_in_a_lost_directory_is_offline(world: World) -> None:
    directory = b"d" * 16
    world.register(2, log_dirs=[b"e" * 16])
    world.topic("a", replicas=[1, 2], directories=[directory, directory])
    assert ask(world, ["a"]).topics[0].partitions[0].offline_replicas == [2]


# Authorized operations


def test_authorized_operations_are_told_to_those_who_ask(world: World) -> None:
    world.topic("a")
    asked = MetadataRequest(
        topics=None, include_topic_authorized_operations=True, include_cluster_authorized_operations=True
    )
    response = world.ask(asked, 10)
    assert response.cluster_authorized_operations == CLUSTER_OPERATIONS
    assert response.topics[0].topic_authorized_operations == TOPIC_OPERATIONS
    response = ask(world, None, 10)
    assert response.cluster_authorized_operations == NOT_ASKED
    assert response.topics[0].topic_authorized_operations == NOT_ASKED


def test_nobody_may_do_anything_with_a_topic_that_has_no_name(world: World) -> None:
    asked = MetadataRequest(topics=[Topic(topic_id=UNKNOWN_ID, name=None)], include_topic_authorized_operations=True)
    assert world.ask(asked).topics[0].topic_authorized_operations == NOT_ASKED


# Topics that come to be


@pytest.mark.parametrize("version", [0, 3, 4, 13])
def test_a_topic_that_is_asked_for_is_made_and_told_without_an_error(world: World, version: int) -> None:
    (topic,) = ask(world, ["new"], version).topics
    assert (topic.name, topic.error_code) == ("new", ErrorCode.NONE)
    assert [each.leader_id for each in topic.partitions] == [1]
    assert world.partition("new").log.end_offset == 0


def test_a_client_may_forbid_that_topics_are_made(world: World) -> None:
    assert errors(ask(world, ["new"], create=False)) == {"new": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert not world.broker.image.topics.by_name


@pytest.mark.parametrize("world", [{"auto.create.topics.enable": "false"}], indirect=True)
def test_the_configuration_may_forbid_that_topics_are_made(world: World) -> None:
    assert errors(ask(world, ["new"])) == {"new": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


@pytest.mark.parametrize("name", ["../../etc", "a/b", "..", ".", "", "a" * 250, "a\0b", "a b"])
@pytest.mark.parametrize("create", [True, False])
def test_failure_class_18_no_name_leads_out_of_the_log_directory(
    world: World, tmp_path: Path, name: str, create: bool
) -> None:
    before = sorted(tmp_path.rglob("*"))
    assert errors(ask(world, [name], create=create)) == {name: ErrorCode.INVALID_TOPIC_EXCEPTION}
    assert sorted(tmp_path.rglob("*")) == before


def test_the_quorums_own_topic_is_never_made(world: World) -> None:
    assert errors(ask(world, ["__cluster_metadata"])) == {"__cluster_metadata": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


@pytest.mark.parametrize("name", ["__transaction_state", "__consumer_offsets", "__share_group_state"])
def test_internal_topics_are_made_as_their_keys_say(tmp_path: Path, name: str) -> None:
    keys = ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")
    with a_world(tmp_path, {f"{key}.num.partitions": "3" for key in keys}) as world:
        (topic,) = ask(world, [name]).topics
        assert (topic.error_code, topic.is_internal, len(topic.partitions)) == (ErrorCode.NONE, True, 3)
        expected = "delete" if name == "__share_group_state" else "compact"
        assert world.broker.image.config_override(2, name, "cleanup.policy") == expected


def test_one_request_makes_a_bounded_number_of_topics_and_the_next_one_more(world: World) -> None:
    wanted = [f"t{number}" for number in range(CREATED_MAX + 1)]
    first = errors(ask(world, wanted))
    assert list(first.values()).count(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) == 1
    assert set(errors(ask(world, wanted)).values()) == {ErrorCode.NONE}


def test_topics_that_the_controller_refuses_as_a_whole_stay_unknown(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object, **more: object) -> None:
        raise KafkaError(ErrorCode.NOT_CONTROLLER, "the controller is elsewhere")

    monkeypatch.setattr(world.broker, "ask_controller", refuse)
    assert errors(ask(world, ["new"])) == {"new": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_topics_for_which_there_are_too_few_brokers_stay_unknown(world: World) -> None:
    world.register(1, fenced=True)
    assert errors(ask(world, ["new"])) == {"new": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
