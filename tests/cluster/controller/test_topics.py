"""CreateTopics and DeleteTopics: what is made, what is refused and how the answer says so."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ottla.cluster.controller.result import Result
from ottla.cluster.controller.topics import create_topics, delete_topics
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.topics import (
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from ottla.wire.primitives import ZERO_UUID
from ottla.wire.stored.metadata_records import ConfigRecord, PartitionRecord, RemoveTopicRecord, TopicRecord
from tests.cluster.controller.small_cluster import SmallCluster, directory


def wish(
    name: str,
    partitions: int = -1,
    replicas: int = -1,
    *,
    assignments: dict[int, list[int]] | Sequence[tuple[int, list[int]]] = (),
    configs: dict[str, str | None] | None = None,
) -> CreateTopicsRequest.CreatableTopic:
    pairs = assignments.items() if isinstance(assignments, dict) else assignments
    return CreateTopicsRequest.CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        assignments=[
            CreateTopicsRequest.CreatableReplicaAssignment(partition_index=index, broker_ids=ids)
            for index, ids in pairs
        ],
        configs=[
            CreateTopicsRequest.CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()
        ],
    )


def create(
    cluster: SmallCluster, *topics: CreateTopicsRequest.CreatableTopic, validate_only: bool = False, **options: object
) -> Result[CreateTopicsResponse]:
    request = CreateTopicsRequest(topics=list(topics), validate_only=validate_only)
    return create_topics(cluster.state, request, **options)  # type: ignore[arg-type]


def errors(result: Result[CreateTopicsResponse]) -> list[tuple[str, ErrorCode]]:
    return [(topic.name, ErrorCode.of(topic.error_code)) for topic in result.response.topics]


def test_a_topic_gets_an_id_its_partitions_and_an_answer_with_its_configs() -> None:
    cluster = SmallCluster()
    result = create(cluster, wish("t", 2, 3, configs={"retention.ms": "5"}))
    assert [type(record) for record in result.records] == [TopicRecord, ConfigRecord, PartitionRecord, PartitionRecord]
    answer = cluster.do(result).topics[0]
    topic = cluster.topic("t")
    assert (answer.name, answer.topic_id, answer.error_code, answer.error_message) == ("t", topic.id, 0, None)
    assert (answer.num_partitions, answer.replication_factor, answer.topic_config_error_code) == (2, 3, 0)
    assert answer.configs is not None
    assert [(config.name, config.value) for config in answer.configs] == [("retention.ms", "5")]
    assert cluster.state.image.config_overrides(2, "t") == {"retention.ms": "5"}
    for partition in topic.partitions.values():
        assert set(partition.replicas) == set(partition.isr) == {1, 2, 3}
        assert partition.leader == partition.replicas[0]
        assert partition.directories == tuple(directory(replica) for replica in partition.replicas)
        assert (partition.leader_epoch, partition.partition_epoch) == (0, 0)
    CreateTopicsResponse.encode(result.response, 7)


def test_what_is_not_said_comes_from_the_settings() -> None:
    cluster = SmallCluster(default_partition_count=4, default_replication_factor=2)
    cluster.do(create(cluster, wish("t")))
    assert len(cluster.topic("t").partitions) == 4
    assert len(cluster.partition("t").replicas) == 2


def test_who_may_not_describe_a_topic_learns_nothing_of_its_configs() -> None:
    answer = create(SmallCluster(), wish("t"), may_describe=lambda name: False).response.topics[0]
    assert (answer.error_code, answer.topic_config_error_code) == (0, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    assert (answer.num_partitions, answer.replication_factor, answer.configs) == (-1, -1, [])


def test_to_validate_is_to_answer_and_to_write_nothing() -> None:
    result = create(SmallCluster(), wish("t", 2, 1), validate_only=True)
    assert errors(result) == [("t", ErrorCode.NONE)]
    assert result.records == []


def test_replicas_are_where_the_administrator_wants_them() -> None:
    cluster = SmallCluster()
    cluster.do(create(cluster, wish("t", assignments=[(1, [3, 1]), (0, [2, 3])])))
    assert [cluster.partition("t", id).replicas for id in (0, 1)] == [(2, 3), (3, 1)]


@pytest.mark.parametrize(
    ("topic", "code"),
    [
        (wish(""), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (wish("a/b"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (wish("x" * 250), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (wish("taken.name"), ErrorCode.TOPIC_ALREADY_EXISTS),
        (wish("taken_name"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (wish("__cluster_metadata"), ErrorCode.INVALID_REQUEST),
        (wish("t", 0), ErrorCode.INVALID_PARTITIONS),
        (wish("t", -2), ErrorCode.INVALID_PARTITIONS),
        (wish("t", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR),
        (wish("t", 1, -2), ErrorCode.INVALID_REPLICATION_FACTOR),
        (wish("t", 1, 4), ErrorCode.INVALID_REPLICATION_FACTOR),
        (wish("t", 1, -1, assignments={0: [1]}), ErrorCode.INVALID_REQUEST),
        (wish("t", -1, 1, assignments={0: [1]}), ErrorCode.INVALID_REQUEST),
        (wish("t", assignments=[(0, [1]), (0, [2])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (wish("t", assignments={0: [1], 2: [2]}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (wish("t", assignments={0: [1], 1: [2, 3]}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (wish("t", assignments={0: [9]}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (wish("t", configs={"retention.ms": None}), ErrorCode.INVALID_CONFIG),
        (wish("t", configs={"retention.ms": "soon"}), ErrorCode.INVALID_CONFIG),
        (wish("t", configs={"retention.ms": "forbidden"}), ErrorCode.INVALID_CONFIG),
        (wish("t", configs={"x": "forbidden"}), ErrorCode.POLICY_VIOLATION),
    ],
)
def test_a_topic_that_cannot_be_is_refused_and_the_next_one_is_made(
    topic: CreateTopicsRequest.CreatableTopic, code: ErrorCode
) -> None:
    cluster = SmallCluster()
    cluster.create("taken.name", [1])
    result = create(cluster, topic, wish("fine"))
    assert errors(result) == [(topic.name, code), ("fine", ErrorCode.NONE)]
    refused = result.response.topics[0]
    assert refused.error_message
    assert (refused.topic_id, refused.num_partitions, refused.replication_factor) == (ZERO_UUID, -1, -1)
    assert [type(record) for record in result.records] == [TopicRecord, PartitionRecord]


def test_a_name_twice_in_a_request_is_refused_once_and_never_made() -> None:
    result = create(SmallCluster(), wish("a"), wish("b"), wish("a"))
    assert errors(result) == [("b", ErrorCode.NONE), ("a", ErrorCode.INVALID_REQUEST)]


def test_without_a_live_broker_nothing_is_placed() -> None:
    cluster = SmallCluster(1)
    cluster.fence(1)
    assert errors(create(cluster, wish("t"))) == [("t", ErrorCode.INVALID_REPLICATION_FACTOR)]


def test_a_request_for_too_many_partitions_is_refused_as_a_whole_before_anything_is_placed() -> None:
    cluster = SmallCluster(default_partition_count=2)
    for topics in ([wish("t", 2**31 - 1)], [wish("t", 9_999), wish("u")], [wish("t", 10_001)]):
        with pytest.raises(KafkaError, match="more than 10000") as refused:
            create(cluster, *topics)
        assert refused.value.code == ErrorCode.POLICY_VIOLATION


def test_the_records_of_a_request_are_bounded_with_all_they_need() -> None:
    with pytest.raises(KafkaError, match="more than 10000"):
        create(SmallCluster(), wish("t", 10_000))


def test_a_quota_that_is_used_up_refuses_a_topic() -> None:
    def quota(partition_count: int) -> None:
        if partition_count > 1:
            raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, "later")

    result = create(SmallCluster(), wish("one", 1), wish("two", 2), quota=quota)
    assert errors(result) == [("one", ErrorCode.NONE), ("two", ErrorCode.THROTTLING_QUOTA_EXCEEDED)]


# -- deletion ---------------------------------------------------------------------------------------------------------


def delete(
    cluster: SmallCluster, *topics: tuple[str | None, bytes], names: Sequence[str] = (), **options: object
) -> Result[DeleteTopicsResponse]:
    states = [DeleteTopicsRequest.DeleteTopicState(name=name, topic_id=topic_id) for name, topic_id in topics]
    request = DeleteTopicsRequest(topics=states, topic_names=list(names), timeout_ms=1)
    return delete_topics(cluster.state, request, 6, **options)  # type: ignore[arg-type]


def outcomes(result: Result[DeleteTopicsResponse]) -> list[tuple[str | None, bytes, ErrorCode]]:
    return [(topic.name, topic.topic_id, ErrorCode.of(topic.error_code)) for topic in result.response.responses]


def test_topics_are_deleted_by_name_and_by_id_and_their_configs_with_them() -> None:
    cluster = SmallCluster()
    a, b, c = (cluster.create(name, [1], retention_ms="1") for name in "abc")
    result = delete(cluster, ("a", ZERO_UUID), (None, b.id), names=["c"])
    assert outcomes(result) == [(topic.name, topic.id, ErrorCode.NONE) for topic in (a, b, c)]
    assert result.records == [RemoveTopicRecord(topic_id=topic.id) for topic in (a, b, c)]
    cluster.do(result)
    assert cluster.state.image.topics.by_name == {}
    assert cluster.state.image.configs == {}


def test_what_cannot_be_deleted_is_refused_and_the_rest_goes() -> None:
    cluster = SmallCluster()
    a, b = cluster.create("a", [1]), cluster.create("b", [1])
    result = delete(
        cluster,
        (None, ZERO_UUID),
        ("a", a.id),
        ("nope", ZERO_UUID),
        (None, b"x" * 16),
        ("b", ZERO_UUID),
    )
    assert outcomes(result) == [
        (None, ZERO_UUID, ErrorCode.INVALID_REQUEST),
        ("a", a.id, ErrorCode.INVALID_REQUEST),
        ("nope", ZERO_UUID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (None, b"x" * 16, ErrorCode.UNKNOWN_TOPIC_ID),
        ("b", b.id, ErrorCode.NONE),
    ]
    assert result.records == [RemoveTopicRecord(topic_id=b.id)]


def test_a_topic_that_is_named_twice_in_whatever_way_stays() -> None:
    cluster = SmallCluster()
    a = cluster.create("a", [1])
    result = delete(cluster, ("a", ZERO_UUID), (None, a.id))
    assert outcomes(result) == [("a", a.id, ErrorCode.INVALID_REQUEST)], "one answer, as in Kafka"
    assert result.records == []


def test_what_is_asked_for_twice_gets_one_answer_whether_it_is_there_or_not() -> None:
    cluster = SmallCluster()
    cluster.create("a", [1])
    b = cluster.create("b", [1])
    c = cluster.create("c", [1])
    twice = [("a", ZERO_UUID), ("nope", ZERO_UUID), (None, b"x" * 16), (None, b.id)] * 2
    result = delete(cluster, *twice, ("c", ZERO_UUID))
    assert outcomes(result) == [
        ("a", ZERO_UUID, ErrorCode.INVALID_REQUEST),
        ("nope", ZERO_UUID, ErrorCode.INVALID_REQUEST),
        (None, b"x" * 16, ErrorCode.INVALID_REQUEST),
        (None, b.id, ErrorCode.INVALID_REQUEST),
        ("c", c.id, ErrorCode.NONE),
    ]
    assert result.records == [RemoveTopicRecord(topic_id=c.id)]


def test_a_quota_that_is_used_up_keeps_a_topic() -> None:
    def quota(partition_count: int) -> None:
        raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, "later")

    cluster = SmallCluster()
    cluster.create("a", [1])
    result = delete(cluster, names=["a"], quota=quota)
    assert outcomes(result) == [("a", ZERO_UUID, ErrorCode.THROTTLING_QUOTA_EXCEEDED)]


@pytest.mark.parametrize(("version", "code"), [(2, ErrorCode.INVALID_REQUEST), (3, ErrorCode.TOPIC_DELETION_DISABLED)])
def test_where_deletion_is_switched_off_nothing_is_deleted(version: int, code: ErrorCode) -> None:
    cluster = SmallCluster(delete_topics_enabled=False)
    with pytest.raises(KafkaError) as refused:
        delete_topics(cluster.state, DeleteTopicsRequest(topic_names=["a"], timeout_ms=1), version)
    assert refused.value.code == code
