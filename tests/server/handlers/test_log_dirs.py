"""DescribeLogDirs and AlterReplicaLogDirs: what lies where, and what cannot be moved."""

from __future__ import annotations

import errno
import shutil

import pytest

from ottla.wire.errors import ErrorCode
from ottla.wire.messages.log_dirs import (
    AlterReplicaLogDirsRequest,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from tests.server.handler_world import World

Result = DescribeLogDirsResponse.DescribeLogDirsResult


def describe(world: World, wanted: dict[str, list[int]] | None = None, version: int = 5) -> list[Result]:
    topics = None
    if wanted is not None:
        topic = DescribeLogDirsRequest.DescribableLogDirTopic
        topics = [topic(topic=name, partitions=indexes) for name, indexes in wanted.items()]
    results: list[Result] = world.ask(DescribeLogDirsRequest(topics=topics), version).results
    return results


def found(results: list[Result]) -> set[tuple[str, int]]:
    return {
        (topic.name, each.partition_index) for result in results for topic in result.topics for each in topic.partitions
    }


@pytest.mark.parametrize("version", range(1, 6))
def test_every_directory_tells_its_logs_and_its_room(world: World, version: int) -> None:
    world.topic("a", 2)
    world.append("a")
    results = describe(world, version=version)
    assert [result.log_dir for result in results] == world.paths
    assert found(results) == {("a", 0), ("a", 1)}
    sizes = {each.partition_size for result in results for topic in result.topics for each in topic.partitions}
    assert sizes == {0, world.partition("a").log.segments.size_bytes}
    assert all((result.total_bytes > result.usable_bytes > 0) == (version >= 4) for result in results)


def test_partitions_that_are_asked_for_are_told(world: World) -> None:
    world.topic("a", 2)
    world.topic("b")
    assert found(describe(world, {"a": [1, 9], "missing": [0]})) == {("a", 1)}
    assert found(describe(world, {})) == set()


def test_a_directory_that_is_offline_says_so_and_nothing_else(world: World) -> None:
    world.topic("a", 2)
    first, second = world.broker.directories.directories
    first.offline = OSError(errno.EIO, "the disk is gone")
    world.broker.directories.dead["/never/there"] = OSError(errno.ENOENT, "no such directory")
    results = describe(world)
    assert [(each.log_dir, each.error_code) for each in results] == [
        (first.path, ErrorCode.KAFKA_STORAGE_ERROR),
        (second.path, ErrorCode.NONE),
        ("/never/there", ErrorCode.KAFKA_STORAGE_ERROR),
    ]
    assert not results[0].topics
    first.offline = None


def test_a_directory_whose_room_cannot_be_told_is_an_error(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: str) -> None:
        raise OSError(errno.EIO, "the disk is gone")

    monkeypatch.setattr(shutil, "disk_usage", fail)
    assert [each.error_code for each in describe(world)] == [ErrorCode.KAFKA_STORAGE_ERROR] * 2


@pytest.mark.parametrize("world", [{"cordoned.log.dirs": "*"}], indirect=True)
def test_cordoned_directories_are_marked_from_version_5_on(world: World) -> None:
    assert [each.is_cordoned for each in describe(world)] == [True, True]
    assert [each.is_cordoned for each in describe(world, version=4)] == [False, False]


# Moving


def move(world: World, path: str, topic: str = "a", version: int = 2) -> list[int]:
    request = AlterReplicaLogDirsRequest(
        dirs=[
            AlterReplicaLogDirsRequest.AlterReplicaLogDir(
                path=path, topics=[AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic(name=topic, partitions=[0])]
            )
        ]
    )
    return [each.error_code for each in world.ask(request, version).results[0].partitions]


@pytest.mark.parametrize("version", [1, 2])
def test_a_replica_that_is_where_it_is_wanted_is_moved_at_once(world: World, version: int) -> None:
    world.topic("a")
    directory = world.broker.directories.directory_of(("a", 0))
    assert directory is not None
    assert move(world, directory.path, version=version) == [ErrorCode.NONE]


def test_a_replica_that_moves_is_told_of_in_both_directories(world: World) -> None:
    world.topic("a")
    world.append("a", 1, 2, 3)
    directory = world.broker.directories.directory_of(("a", 0))
    assert directory is not None
    (elsewhere,) = [path for path in world.paths if path != directory.path]
    assert move(world, elsewhere) == [ErrorCode.NONE]
    rows = {
        result.log_dir: (each.is_future_key, each.offset_lag)
        for result in describe(world, {"a": [0]})
        for topic in result.topics
        for each in topic.partitions
    }
    assert rows == {directory.path: (False, 0), elsewhere: (True, 3)}
    assert move(world, directory.path) == [ErrorCode.NONE]
    assert len([each for each in describe(world, {"a": [0]}) if each.topics]) == 1


def test_what_cannot_be_moved_says_why(world: World) -> None:
    world.topic("a")
    directory = world.broker.directories.directory_of(("a", 0))
    assert directory is not None
    (elsewhere,) = [path for path in world.paths if path != directory.path]
    world.broker.directories.dead["/never/there"] = OSError(errno.ENOENT, "no such directory")
    assert move(world, elsewhere) == [ErrorCode.KAFKA_STORAGE_ERROR], "it could be in the one that is offline"
    assert move(world, directory.path, "missing") == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert move(world, "/never/there") == [ErrorCode.KAFKA_STORAGE_ERROR]
    directory.offline = OSError(errno.EIO, "the disk is gone")
    assert move(world, directory.path) == [ErrorCode.KAFKA_STORAGE_ERROR]
    directory.offline = None


@pytest.mark.parametrize("path", ["", "/", "../a", "/etc/passwd", "\0"])
def test_failure_class_18_a_path_from_a_client_is_compared_and_never_opened(world: World, path: str) -> None:
    world.topic("a")
    assert move(world, path) == [ErrorCode.LOG_DIR_NOT_FOUND]
