"""CreateTopics, DeleteTopics, CreatePartitions: what the controller decides arrives in every version of the answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.wire.errors import ErrorCode
from ottla.wire.messages.topics import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from ottla.wire.primitives import ZERO_UUID
from tests.server.handler_world import World

UNKNOWN_ID = b"\x07" * 16


def create(
    world: World, *names: str, version: int = 7, count: int = 1, factor: int = 1, dry: bool = False, **configs: str
) -> list[CreateTopicsResponse.CreatableTopicResult]:
    config = CreateTopicsRequest.CreatableTopicConfig
    topics = [
        CreateTopicsRequest.CreatableTopic(
            name=name,
            num_partitions=count,
            replication_factor=factor,
            assignments=[],
            configs=[config(name=key.replace("_", "."), value=value) for key, value in configs.items()],
        )
        for name in names
    ]
    found: list[CreateTopicsResponse.CreatableTopicResult] = world.ask(
        CreateTopicsRequest(topics=topics, validate_only=dry), version
    ).topics
    return found


@pytest.mark.parametrize("version", range(2, 8))
def test_a_topic_is_made_in_every_version(world: World, version: int) -> None:
    (made,) = create(world, "a", version=version, count=3, retention_ms="1000")
    assert (made.name, made.error_code, made.error_message) == ("a", ErrorCode.NONE, None)
    assert (made.topic_id != ZERO_UUID) == (version >= 7)
    assert (made.num_partitions, made.replication_factor) == ((3, 1) if version >= 5 else (-1, -1))
    assert world.partition("a", 2).log.config.retention_ms == 1000


def test_the_configs_of_what_was_made_have_valid_sources(world: World) -> None:
    (made,) = create(world, "a", retention_ms="1000")
    assert made.configs is not None
    assert {each.name: each.value for each in made.configs}["retention.ms"] == "1000"
    assert all(each.config_source > 0 for each in made.configs)


def test_what_is_only_validated_is_not_made(world: World) -> None:
    (made,) = create(world, "a", dry=True)
    assert made.error_code == ErrorCode.NONE
    assert not world.broker.image.topics.by_name


def test_each_topic_stands_for_itself(world: World) -> None:
    world.topic("a")
    answers = create(world, "a", "b", "c", "c")
    assert {each.name: each.error_code for each in answers} == {
        "a": ErrorCode.TOPIC_ALREADY_EXISTS,
        "b": ErrorCode.NONE,
        "c": ErrorCode.INVALID_REQUEST,
    }


@pytest.mark.parametrize("name", ["../../x", "a/b", "..", ".", "", "a" * 250, "a\0", "ü"])
def test_failure_class_18_no_topic_name_becomes_another_path(world: World, tmp_path: Path, name: str) -> None:
    before = sorted(tmp_path.rglob("*"))
    (refused,) = create(world, name)
    assert refused.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert sorted(tmp_path.rglob("*")) == before


def test_failure_class_18_names_that_metrics_cannot_tell_apart_are_refused(world: World) -> None:
    world.topic("a.b")
    assert create(world, "a_b")[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_a_request_that_is_too_large_is_refused_as_a_whole(world: World) -> None:
    answers = create(world, "a", "b", count=10_000)
    assert [each.error_code for each in answers] == [ErrorCode.POLICY_VIOLATION] * 2
    assert all(each.error_message for each in answers)


# Deleting


def delete(world: World, *asked: str | bytes, version: int = 6) -> list[DeleteTopicsResponse.DeletableTopicResult]:
    state = DeleteTopicsRequest.DeleteTopicState
    if version >= 6:
        topics = [
            state(name=each, topic_id=ZERO_UUID) if isinstance(each, str) else state(name=None, topic_id=each)
            for each in asked
        ]
        request = DeleteTopicsRequest(topics=topics, timeout_ms=1000)
    else:
        request = DeleteTopicsRequest(topic_names=[str(each) for each in asked], timeout_ms=1000)
    found: list[DeleteTopicsResponse.DeletableTopicResult] = world.ask(request, version).responses
    return found


@pytest.mark.parametrize("version", range(1, 7))
def test_a_topic_is_deleted_in_every_version(world: World, version: int) -> None:
    world.topic("a")
    (gone,) = delete(world, "a", version=version)
    assert (gone.name, gone.error_code) == ("a", ErrorCode.NONE)
    assert not world.broker.image.topics.by_name


def test_a_topic_is_deleted_by_id(world: World) -> None:
    topic_id = world.topic("a")
    known, unknown = delete(world, topic_id, UNKNOWN_ID)
    assert (known.name, known.error_code) == ("a", ErrorCode.NONE)
    assert (unknown.topic_id, unknown.error_code) == (UNKNOWN_ID, ErrorCode.UNKNOWN_TOPIC_ID)


def test_what_does_not_exist_cannot_be_deleted(world: World) -> None:
    assert [each.error_code for each in delete(world, "a")] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


# Growing


def grow(
    world: World, name: str, count: int, version: int = 3
) -> list[CreatePartitionsResponse.CreatePartitionsTopicResult]:
    topic = CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=count, assignments=None)
    request = CreatePartitionsRequest(topics=[topic], timeout_ms=1000, validate_only=False)
    found: list[CreatePartitionsResponse.CreatePartitionsTopicResult] = world.ask(request, version).results
    return found


@pytest.mark.parametrize("version", range(4))
def test_a_topic_grows_in_every_version(world: World, version: int) -> None:
    world.topic("a")
    assert [each.error_code for each in grow(world, "a", 3, version)] == [ErrorCode.NONE]
    assert world.partition("a", 2).log.end_offset == 0


def test_a_topic_does_not_shrink(world: World) -> None:
    world.topic("a", 3)
    assert [each.error_code for each in grow(world, "a", 2)] == [ErrorCode.INVALID_PARTITIONS]
