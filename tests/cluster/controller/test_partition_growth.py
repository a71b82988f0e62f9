"""CreatePartitions: topics grow and never shrink."""

from __future__ import annotations

import pytest

from ottla.cluster.controller.partition_growth import create_partitions
from ottla.cluster.controller.result import Result
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.topics import CreatePartitionsRequest, CreatePartitionsResponse
from ottla.wire.stored.metadata_records import TopicRecord
from tests.cluster.controller.small_cluster import SmallCluster


def wish(
    name: str, count: int, assignments: list[list[int]] | None = None
) -> CreatePartitionsRequest.CreatePartitionsTopic:
    return CreatePartitionsRequest.CreatePartitionsTopic(
        name=name,
        count=count,
        assignments=None
        if assignments is None
        else [CreatePartitionsRequest.CreatePartitionsAssignment(broker_ids=ids) for ids in assignments],
    )


def grow(
    cluster: SmallCluster,
    *topics: CreatePartitionsRequest.CreatePartitionsTopic,
    validate_only: bool = False,
    **options: object,
) -> Result[CreatePartitionsResponse]:
    request = CreatePartitionsRequest(topics=list(topics), timeout_ms=1, validate_only=validate_only)
    return create_partitions(cluster.state, request, **options)  # type: ignore[arg-type]


def errors(result: Result[CreatePartitionsResponse]) -> list[tuple[str, ErrorCode]]:
    return [(topic.name, ErrorCode.of(topic.error_code)) for topic in result.response.results]


def test_new_partitions_have_as_many_replicas_as_the_old_ones() -> None:
    cluster = SmallCluster()
    cluster.create("t", [1, 2])
    result = grow(cluster, wish("t", 3))
    assert errors(result) == [("t", ErrorCode.NONE)]
    cluster.do(result)
    assert sorted(cluster.topic("t").partitions) == [0, 1, 2]
    assert all(len(partition.replicas) == 2 for partition in cluster.topic("t").partitions.values())


def test_new_partitions_are_where_the_administrator_wants_them() -> None:
    cluster = SmallCluster()
    cluster.create("t", [1, 2])
    cluster.do(grow(cluster, wish("t", 3, [[2, 3], [3, 1]])))
    assert [cluster.partition("t", id).replicas for id in range(3)] == [(1, 2), (2, 3), (3, 1)]


def test_to_validate_is_to_answer_and_to_write_nothing() -> None:
    cluster = SmallCluster()
    cluster.create("t", [1])
    result = grow(cluster, wish("t", 2), validate_only=True)
    assert (errors(result), result.records) == ([("t", ErrorCode.NONE)], [])


@pytest.mark.parametrize(
    ("topic", "code"),
    [
        (wish("nope", 2), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (wish("t", 2), ErrorCode.INVALID_PARTITIONS),
        (wish("t", 1), ErrorCode.INVALID_PARTITIONS),
        (wish("t", -5), ErrorCode.INVALID_PARTITIONS),
        (wish("t", 4, [[1]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (wish("t", 3, [[1, 2]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (wish("bare", 1), ErrorCode.INVALID_REPLICATION_FACTOR),
    ],
)
def test_what_cannot_be_is_refused_and_the_next_topic_grows(
    topic: CreatePartitionsRequest.CreatePartitionsTopic, code: ErrorCode
) -> None:
    cluster = SmallCluster()
    cluster.create("t", [1], [1])
    cluster.create("u", [1])
    cluster.replay(TopicRecord(name="bare", topic_id=b"x" * 16))
    result = grow(cluster, topic, wish("u", 2))
    assert errors(result) == [(topic.name, code), ("u", ErrorCode.NONE)]
    assert len(result.records) == 1


def test_a_topic_twice_in_a_request_does_not_grow() -> None:
    cluster = SmallCluster()
    cluster.create("t", [1])
    assert errors(grow(cluster, wish("t", 2), wish("t", 3))) == [("t", ErrorCode.INVALID_REQUEST)]


def test_too_many_partitions_are_refused_before_anything_is_placed() -> None:
    cluster = SmallCluster()
    cluster.create("t", [1])
    with pytest.raises(KafkaError, match="more than 10000"):
        grow(cluster, wish("t", 2**31 - 1))


def test_a_quota_that_is_used_up_keeps_a_topic_as_it_is() -> None:
    def quota(partition_count: int) -> None:
        raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, f"{partition_count} later")

    cluster = SmallCluster()
    cluster.create("t", [1])
    result = grow(cluster, wish("t", 3), quota=quota)
    assert result.response.results[0].error_message == "2 later"
