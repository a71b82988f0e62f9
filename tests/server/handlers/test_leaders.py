"""Elections and reassignments: what the controller says arrives in every version, and refusals do too."""

from __future__ import annotations

import pytest

from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.partition_admin import (
    AlterPartitionReassignmentsRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
)
from tests.server.handler_world import World


@pytest.fixture
def moved(world: World) -> World:
    """A topic whose first replica is in sync and does not lead."""
    world.register(2)
    world.topic("a", replicas=[2, 1], leader=1)
    return world


@pytest.mark.parametrize("version", range(3))
def test_the_preferred_leader_is_elected_in_every_version(moved: World, version: int) -> None:
    wanted = [ElectLeadersRequest.TopicPartitions(topic="a", partitions=[0, 7])]
    response = moved.ask(ElectLeadersRequest(topic_partitions=wanted), version)
    (topic,) = response.replica_election_results
    assert {each.partition_id: each.error_code for each in topic.partition_result} == {
        0: ErrorCode.NONE,
        7: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert moved.broker.image.topics.by_name["a"].partitions[0].leader == 2


def test_an_election_of_no_kind_is_refused_as_a_whole(moved: World) -> None:
    wanted = [ElectLeadersRequest.TopicPartitions(topic="a", partitions=[0])]
    response = moved.ask(ElectLeadersRequest(election_type=9, topic_partitions=wanted))
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert response.replica_election_results[0].partition_result[0].error_code == ErrorCode.INVALID_REQUEST


def test_version_0_says_so_for_every_partition_since_it_cannot_for_all(moved: World) -> None:
    serving = moved.serving[ElectLeadersRequest.api_key]
    wanted = [ElectLeadersRequest.TopicPartitions(topic="a", partitions=[0])]
    refused = serving.on_error(
        ElectLeadersRequest(topic_partitions=wanted), KafkaError(ErrorCode.NOT_CONTROLLER, "it has moved")
    )
    response = moved.read(refused, 0, serving)
    assert response.replica_election_results[0].partition_result[0].error_code == ErrorCode.NOT_CONTROLLER


@pytest.mark.parametrize("version", [0, 1])
def test_a_reassignment_is_begun_listed_and_cancelled(world: World, version: int) -> None:
    world.register(2)
    world.topic("a")
    alter = AlterPartitionReassignmentsRequest

    def reassign(replicas: list[int] | None) -> int:
        partition = alter.ReassignablePartition(partition_index=0, replicas=replicas)
        request = alter(topics=[alter.ReassignableTopic(name="a", partitions=[partition])])
        code: int = world.ask(request, version).responses[0].partitions[0].error_code
        return code

    assert reassign([2]) == ErrorCode.NONE
    (topic,) = world.ask(ListPartitionReassignmentsRequest()).topics
    assert [(each.adding_replicas, each.removing_replicas) for each in topic.partitions] == [([2], [1])]
    assert reassign(None) == ErrorCode.NONE
    assert world.ask(ListPartitionReassignmentsRequest()).topics == []
    assert reassign(None) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


@pytest.mark.parametrize("request_type", [AlterPartitionReassignmentsRequest, ListPartitionReassignmentsRequest])
def test_reassignments_that_fail_as_a_whole_say_so(
    world: World, request_type: type[AlterPartitionReassignmentsRequest]
) -> None:
    serving = world.serving[request_type.api_key]
    refused = serving.on_error(request_type(topics=[]), KafkaError(ErrorCode.NOT_CONTROLLER, "it has moved"))
    response = world.read(refused, 0, serving)
    assert (response.error_code, response.error_message) == (ErrorCode.NOT_CONTROLLER, "it has moved")
