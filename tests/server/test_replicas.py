"""Logs follow the metadata: made, led, given up, deleted, reconfigured, and set aside where they do not belong."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import pytest
import trio
import trio.testing

from ottla.cluster.features import METADATA_VERSION_MAX
from ottla.cluster.image import ConfigType, MetadataImage, MetadataLoader
from ottla.cluster.image.directory_ids import UNASSIGNED
from ottla.config.loading import load
from ottla.config.topic import log_config
from ottla.server.broker import Broker
from ottla.server.controller_channel import ControllerChannel
from ottla.server.directory_assignments import DirectoryAssignments
from ottla.server.directory_moves import DirectoryMoves
from ottla.server.in_sync_keeping import InSyncKeeping
from ottla.server.replica_fetching import ReplicaFetching
from ottla.server.replicas import MADE_AT_ONCE_MAX, Replicas
from ottla.storage.directory_identity import Identity
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directories import LogDirectories
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.schema import StoredRecord
from ottla.wire.stored.metadata_records import (
    ConfigRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from tests.server.world import NOW_MS, batch, in_trio
from tests.storage.fake_disk import FakeDisk

NODE_ID = 1
NAME = "topic"
TOPIC_ID = b"the id of topic!"
OTHER_ID = b"another topic id"
HOME = "/data"
OTHER_HOME = "/more"
ONE, TWO = bytes(range(16)), bytes(range(1, 17))


class World:
    def __init__(self, disk: FakeDisk, image: MetadataImage | None = None, paths: Sequence[str] = (HOME,)) -> None:
        self.config = load({"log.dirs": ",".join(paths)}, {}).config
        ids = iter((ONE, TWO))
        self.directories = LogDirectories.open(
            disk, paths, Identity("cluster", NODE_ID), new_directory_id=lambda: next(ids)
        )
        # Nothing here starts a task.
        self.broker = Broker(self.config, "cluster", self.directories, (), cast("trio.Nursery", None))
        self.assignments = DirectoryAssignments(cast("ControllerChannel", None), NODE_ID, lambda: 0)
        self.broker.moves = DirectoryMoves(self.broker, self.assignments)
        self.replicas = Replicas(
            self.broker,
            NODE_ID,
            self.directories,
            self.config_of,
            self.broker.moves,
            self.assignments,
            ReplicaFetching(self.broker, lambda: 0),
        )
        self.broker.in_sync = InSyncKeeping(self.broker, cast("ControllerChannel", None), lambda: 0, lambda: 0)
        self.loader = MetadataLoader() if image is None else MetadataLoader(image)
        found = self.loader.image
        self.warnings = self.directories.load(
            lambda topic: LogConfig(),
            0,
            stray_id=lambda key, topic_id: self.replicas.stray_id(found, key, topic_id),
        )
        self.replicas.start(found)

    def config_of(self, image: MetadataImage, topic: str) -> LogConfig:
        return log_config(image.config_overrides(ConfigType.TOPIC, topic), self.broker.config)

    def commit(self, *records: StoredRecord) -> None:
        base_offset = self.loader.image.offset + 1
        last_offset = base_offset + len(records) - 1
        for change in self.loader.load(
            records, base_offset=base_offset, last_offset=last_offset, epoch=1, timestamp_ms=1
        ):
            self.replicas.committed(change)

    def code_of(self, index: int = 0) -> int:
        """NONE if the partition is led here."""
        try:
            self.broker.partition(NAME, index)
        except KafkaError as error:
            return error.code
        return ErrorCode.NONE


@pytest.fixture
def disk() -> FakeDisk:
    disk = FakeDisk()
    disk.make_directory(HOME)
    return disk


@pytest.fixture
def world(disk: FakeDisk) -> Iterator[World]:
    world = World(disk)
    yield world
    world.directories.abandon()


def partition(
    index: int = 0,
    *,
    topic_id: bytes = TOPIC_ID,
    leader: int = NODE_ID,
    epoch: int = 0,
    directories: Sequence[bytes] = (),
) -> PartitionRecord:
    replicas = sorted({NODE_ID, leader})
    return PartitionRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=replicas,
        isr=replicas,
        removing_replicas=[],
        adding_replicas=[],
        leader=leader,
        leader_epoch=epoch,
        partition_epoch=0,
        directories=list(directories),
    )


def topic(topic_id: bytes = TOPIC_ID) -> TopicRecord:
    return TopicRecord(name=NAME, topic_id=topic_id)


def names(disk: FakeDisk) -> list[str]:
    return [entry.name for entry in disk.scan(HOME) if entry.is_directory]


def test_a_new_partition_gets_a_log_and_is_led(world: World, disk: FakeDisk) -> None:
    world.commit(topic(), partition(0), partition(1, leader=2))
    assert world.code_of(0) == ErrorCode.NONE
    assert world.code_of(1) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert world.code_of(2) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert names(disk) == ["topic-0", "topic-1"], "one that follows has a log, too"


def test_leaders_change_and_so_do_their_epochs(world: World) -> None:
    world.commit(topic(), partition())
    led = world.broker.partition(NAME, 0)
    world.commit(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=NODE_ID))
    assert world.broker.partition(NAME, 0) is led
    assert led.leader_epoch == led.log.epochs.latest_epoch == 1
    world.commit(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=-1))
    assert world.code_of() == ErrorCode.NOT_LEADER_OR_FOLLOWER
    world.commit(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=NODE_ID))
    assert world.broker.partition(NAME, 0).leader_epoch == 3
    assert world.broker.partition(NAME, 0).log is led.log


def test_a_deleted_topic_takes_its_logs_with_it_and_its_name_is_free(world: World, disk: FakeDisk) -> None:
    world.commit(topic(), partition(0), partition(1))
    world.commit(RemoveTopicRecord(topic_id=TOPIC_ID))
    assert world.code_of() == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert [name.endswith("-delete") for name in names(disk)] == [True, True]
    world.commit(topic(OTHER_ID), partition(topic_id=OTHER_ID))
    assert world.broker.partition(NAME, 0).topic_id == OTHER_ID


def test_a_topic_deleted_and_made_again_in_one_batch_is_a_new_one(world: World) -> None:
    world.commit(topic(), partition())
    world.commit(RemoveTopicRecord(topic_id=TOPIC_ID), topic(OTHER_ID), partition(topic_id=OTHER_ID))
    assert world.broker.partition(NAME, 0).topic_id == OTHER_ID


def test_a_log_that_is_not_led_is_deleted_with_its_topic(world: World, disk: FakeDisk) -> None:
    world.commit(topic(), partition())
    world.commit(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=-1))
    world.commit(RemoveTopicRecord(topic_id=TOPIC_ID))
    assert [name.endswith("-delete") for name in names(disk)] == [True]


def test_a_replica_that_moved_elsewhere_is_deleted(world: World, disk: FakeDisk) -> None:
    world.commit(topic(), partition())
    world.commit(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=2, replicas=[2], isr=[2]))
    assert world.code_of() == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert [name.endswith("-delete") for name in names(disk)] == [True]


def test_a_disk_that_fails_stops_its_partitions_and_not_the_broker(
    world: World, disk: FakeDisk, caplog: pytest.LogCaptureFixture
) -> None:
    world.commit(topic(), partition(0))
    disk.fail("rename", "*-delete", forever=True)
    disk.fail("make_directory", "*topic-1", forever=True)
    with caplog.at_level(logging.ERROR):
        world.commit(partition(1))
        world.commit(RemoveTopicRecord(topic_id=TOPIC_ID))
    assert world.code_of() == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert "topic-1 cannot be kept here" in caplog.text
    assert "topic-0 cannot be deleted" in caplog.text


# Configurations


def setting(kind: ConfigType, name: str, key: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(resource_type=kind, resource_name=name, name=key, value=value)


def test_a_topics_configuration_takes_effect_at_once(world: World) -> None:
    world.commit(topic(), partition(), setting(ConfigType.TOPIC, NAME, "retention.ms", "1"))
    log = world.broker.partition(NAME, 0).log
    assert log.config.retention_ms == 1
    world.commit(setting(ConfigType.TOPIC, NAME, "retention.ms", "2"))
    assert log.config.retention_ms == 2
    world.commit(setting(ConfigType.TOPIC, NAME, "retention.ms", None))
    assert log.config.retention_ms == LogConfig().retention_ms


def test_what_is_set_for_brokers_takes_effect_at_once(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.commit(topic(), partition(), setting(ConfigType.BROKER, "", "log.retention.ms", "1"))
    log = world.broker.partition(NAME, 0).log
    assert (log.config.retention_ms, world.broker.config.log_retention_ms) == (1, 1)
    world.commit(setting(ConfigType.BROKER, "1", "log.retention.ms", "2"))
    assert log.config.retention_ms == 2
    world.commit(setting(ConfigType.BROKER, "1", "log.retention.ms", "soon"))
    assert log.config.retention_ms == 1, "a wrong value that was stored somehow is left out"
    assert "soon" in caplog.text
    world.commit(setting(ConfigType.BROKER, "", "log.retention.ms", None))
    assert world.broker.config.log_retention_ms == world.config.log_retention_ms


# Starting


def test_a_start_leads_what_was_led_and_sets_aside_what_does_not_belong(disk: FakeDisk) -> None:
    """A topic may have been deleted and made again when nobody was there to rename its log."""
    world = World(disk)
    world.commit(topic(), partition(0), partition(1), partition(2))
    image = world.loader.image
    assert world.directories.close(1)

    again = World(disk, image)
    assert [again.code_of(index) for index in range(3)] == [ErrorCode.NONE] * 3
    assert not again.warnings
    again.directories.abandon()

    other = MetadataLoader()
    other.load(
        [topic(OTHER_ID), partition(0, topic_id=OTHER_ID)], base_offset=0, last_offset=1, epoch=1, timestamp_ms=1
    )
    last = World(disk, other.image)
    assert last.broker.partition(NAME, 0).topic_id == OTHER_ID
    assert len(last.warnings) == 3
    assert sum(name.endswith("-stray") for name in names(disk)) == 3
    last.directories.abandon()


def test_before_the_logs_are_loaded_only_the_image_is_followed(disk: FakeDisk, tmp_path: Path) -> None:
    world = World(disk)
    moves, fetching = world.broker.moves, ReplicaFetching(world.broker, lambda: 0)
    replicas = Replicas(world.broker, NODE_ID, world.directories, world.config_of, moves, world.assignments, fetching)
    for change in world.loader.load([topic(), partition()], base_offset=0, last_offset=1, epoch=1, timestamp_ms=1):
        replicas.committed(change)
    assert NAME in world.broker.image.topics.by_name
    assert world.code_of() == ErrorCode.NOT_LEADER_OR_FOLLOWER
    for told in (replicas.deactivated, lambda: replicas.activated(1), lambda: replicas.reached(1)):
        told()
    replicas.start(world.broker.image)
    assert world.code_of() == ErrorCode.NONE
    world.directories.abandon()


# Directories


@pytest.fixture
def wide(disk: FakeDisk) -> Iterator[World]:
    """A broker with two directories."""
    world = World(disk, paths=(HOME, OTHER_HOME))
    world.commit(FeatureLevelRecord(name="metadata.version", feature_level=METADATA_VERSION_MAX))
    yield world
    world.directories.abandon()


def place(world: World, index: int = 0) -> str:
    directory = world.directories.directory_of((NAME, index))
    assert directory is not None
    return directory.path


def test_a_replica_is_made_where_the_cluster_says(wide: World) -> None:
    wide.commit(topic(), partition(0, directories=[TWO]), partition(1, directories=[TWO]))
    assert (place(wide, 0), place(wide, 1)) == (OTHER_HOME, OTHER_HOME)
    assert wide.assignments._untold == {}


def test_the_controller_is_told_of_a_directory_that_was_chosen_here(wide: World) -> None:
    wide.commit(topic(), partition(0, directories=[UNASSIGNED]), partition(1, directories=[UNASSIGNED]))
    assert {place(wide, 0), place(wide, 1)} == {HOME, OTHER_HOME}
    assert set(wide.assignments._untold.values()) == {ONE, TWO}


def test_one_that_somebody_has_chosen_is_taken(wide: World) -> None:
    home, other = wide.directories.directories
    for index, directory in enumerate((home, home, other)):
        with pytest.raises(KafkaError):
            wide.broker.moves.move((NAME, index), directory)
    wide.commit(topic(), *[partition(index, directories=[UNASSIGNED]) for index in range(3)])
    assert [place(wide, index) for index in range(3)] == [HOME, HOME, OTHER_HOME]


def test_a_directory_that_is_not_ours_is_no_reason_to_stay_without_a_log(wide: World) -> None:
    """The disk was replaced, and no other is missing."""
    wide.commit(topic(), partition(0, directories=[b"another brokers!"]))
    assert wide.code_of() == ErrorCode.NONE
    assert list(wide.assignments._untold.values()) == [wide.directories.directories[0].meta.directory_id]


def test_a_copy_waits_while_nobody_leads_and_goes_with_its_topic(wide: World) -> None:
    wide.commit(topic(), partition(0, directories=[ONE]))
    home, other = wide.directories.directories
    wide.broker.moves.move((NAME, 0), other)
    wide.commit(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=-1))
    assert wide.broker.moves._moves == {}
    wide.commit(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=NODE_ID))
    (move,) = wide.broker.moves._moves.values()
    assert move.replica is wide.broker.partition(NAME, 0)
    wide.commit(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=-1))
    wide.commit(RemoveTopicRecord(topic_id=TOPIC_ID))
    assert (home.hosted, other.future) == ({}, {})


@pytest.mark.parametrize("is_told", [True, False])
def test_a_copy_whose_original_has_gone_takes_over_if_the_cluster_knows(
    disk: FakeDisk, wide: World, is_told: bool
) -> None:
    """As a broker leaves them that ends between the two renames."""
    wide.commit(topic(), partition(0, directories=[ONE]))
    home, other = wide.directories.directories
    wide.broker.moves.move((NAME, 0), other)
    copy = other.future[NAME, 0].log
    copy.append(batch(b"moved"), leader_epoch=0, now_ms=NOW_MS)
    if is_told:
        wide.commit(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, directories=[TWO]))
    home.delete((NAME, 0), "0" * 32, NOW_MS)
    copy.flush()
    wide.directories.abandon()
    again = World(disk, wide.loader.image, paths=(HOME, OTHER_HOME))
    led = again.broker.partition(NAME, 0)
    assert (led.log.directory, led.log.end_offset) == (("/more/topic-0", 1) if is_told else ("/data/topic-0", 0))
    again.directories.abandon()


@in_trio
async def test_a_change_of_very_many_replicas_is_followed_in_the_background(disk: FakeDisk) -> None:
    world = World(disk)
    count = MADE_AT_ONCE_MAX + 40
    world.commit(topic(), *[partition(index) for index in range(count)])
    assert len(world.broker.partitions()) == MADE_AT_ONCE_MAX
    assert world.code_of(count - 1) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    world.commit(PartitionChangeRecord(partition_id=count - 1, topic_id=TOPIC_ID, leader=NODE_ID))
    assert world.code_of(count - 1) == ErrorCode.NOT_LEADER_OR_FOLLOWER, "nobody else may make it"
    async with trio.open_nursery() as nursery:
        nursery.start_soon(world.replicas.making.run)
        while len(world.broker.partitions()) < count:
            await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert world.broker.partition(NAME, count - 1).leader_epoch == 1
    world.directories.abandon()


@in_trio
async def test_what_is_deleted_before_it_is_made_leaves_nothing(disk: FakeDisk) -> None:
    world = World(disk)
    count = MADE_AT_ONCE_MAX + 1
    world.commit(topic(), *[partition(index) for index in range(count)])
    world.commit(RemoveTopicRecord(topic_id=TOPIC_ID))
    disk.make_directory(f"{HOME}/{NAME}-{count - 1}")
    world.replicas._make_prepared((NAME, count - 1), ONE)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(world.replicas.making.run)
        while (NAME, count - 1) in world.replicas.making:
            await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert [name for name in names(disk) if not name.endswith("-delete")] == []
    assert len(names(disk)) == count
    world.directories.abandon()
