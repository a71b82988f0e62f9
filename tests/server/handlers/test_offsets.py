"""ListOffsets and OffsetForLeaderEpoch: positions by name, by time and by epoch; errors without plausible offsets."""

from __future__ import annotations

import errno

import pytest

from ottla.storage.log_trimming import delete_records
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.offsets_lookup import (
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from tests.server.handler_world import LEADER_EPOCH, NOW_MS, World

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = -1, -2, -3, -4, -5, -6
Partition = ListOffsetsRequest.ListOffsetsPartition
Found = tuple[int, int, int, int]


def ask(
    world: World,
    timestamp: int,
    version: int = 11,
    *,
    topic: str = "a",
    index: int = 0,
    leader_epoch: int = -1,
    replica_id: int = -1,
    isolation_level: int = 0,
    times: int = 1,
) -> list[ListOffsetsResponse.ListOffsetsPartitionResponse]:
    asked = [
        Partition(partition_index=index, current_leader_epoch=leader_epoch, timestamp=timestamp) for _ in range(times)
    ]
    request = ListOffsetsRequest(
        replica_id=replica_id,
        isolation_level=isolation_level,
        topics=[ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=asked)],
    )
    found: list[ListOffsetsResponse.ListOffsetsPartitionResponse] = world.ask(request, version).topics[0].partitions
    return found


def offset(world: World, timestamp: int, version: int = 11, **more: int) -> Found:
    """Error, timestamp, offset and epoch."""
    (found,) = ask(world, timestamp, version, **more)  # type: ignore[arg-type]
    return found.error_code, found.timestamp, found.offset, found.leader_epoch


@pytest.fixture
def filled(world: World) -> World:
    """Offsets 0 to 4, of which 2 is the youngest."""
    world.topic("a")
    world.append("a", NOW_MS, NOW_MS + 10)
    world.append("a", NOW_MS + 50)
    world.append("a", NOW_MS + 20, NOW_MS + 30)
    return world


@pytest.mark.parametrize("version", range(1, 12))
def test_the_end_and_the_beginning_are_told_in_every_version(filled: World, version: int) -> None:
    epoch = LEADER_EPOCH if version >= 4 else -1
    assert offset(filled, LATEST, version) == (0, -1, 5, epoch)
    assert offset(filled, EARLIEST, version) == (0, -1, 0, epoch)
    delete_records(filled.partition("a").log, 3)
    assert offset(filled, EARLIEST, version)[2] == 3


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        (0, (NOW_MS, 0)),
        (NOW_MS + 1, (NOW_MS + 10, 1)),
        (NOW_MS + 11, (NOW_MS + 50, 2)),
        (NOW_MS + 50, (NOW_MS + 50, 2)),
    ],
)
def test_a_time_finds_the_first_record_that_is_not_before_it(
    filled: World, timestamp: int, expected: tuple[int, int]
) -> None:
    assert offset(filled, timestamp)[1:3] == expected


def test_a_time_after_all_records_finds_nothing_without_an_error(filled: World) -> None:
    assert offset(filled, NOW_MS + 51) == (0, -1, -1, -1)


def test_the_largest_timestamp_is_found_from_version_7_on(filled: World) -> None:
    assert offset(filled, MAX_TIMESTAMP, 7) == (0, NOW_MS + 50, 2, LEADER_EPOCH)


def test_an_empty_log_has_no_largest_timestamp(world: World) -> None:
    world.topic("a")
    assert offset(world, MAX_TIMESTAMP) == (0, -1, -1, -1)
    assert offset(world, EARLIEST)[2] == offset(world, LATEST)[2] == 0


def test_without_remote_storage_the_local_beginning_is_the_beginning_and_the_rest_is_not_found(filled: World) -> None:
    delete_records(filled.partition("a").log, 2)
    assert offset(filled, EARLIEST_LOCAL) == (0, -1, 2, LEADER_EPOCH)
    assert offset(filled, LATEST_TIERED) == (0, -1, -1, -1)
    assert offset(filled, EARLIEST_PENDING_UPLOAD) == (0, -1, -1, -1)


@pytest.mark.parametrize(
    ("timestamp", "first"),
    [
        (MAX_TIMESTAMP, 7),
        (EARLIEST_LOCAL, 8),
        (LATEST_TIERED, 9),
        (EARLIEST_PENDING_UPLOAD, 11),
        (-7, 12),
        (-(2**63), 12),
    ],
)
def test_a_position_that_a_version_does_not_know_is_refused(filled: World, timestamp: int, first: int) -> None:
    assert offset(filled, timestamp, first - 1)[0] == ErrorCode.UNSUPPORTED_VERSION
    if first <= 11:
        assert offset(filled, timestamp, first)[0] == ErrorCode.NONE


# Who sees how far


def test_who_reads_committed_records_sees_up_to_the_last_stable_offset(filled: World) -> None:
    filled.append("a", NOW_MS + 60, producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)
    assert offset(filled, LATEST, isolation_level=1)[2] == 5
    assert offset(filled, LATEST, isolation_level=0)[2] == 6
    assert offset(filled, NOW_MS + 60, isolation_level=1)[2] == -1
    assert offset(filled, MAX_TIMESTAMP, isolation_level=1)[2] == -1
    assert offset(filled, NOW_MS + 60)[2] == 5


def test_consumers_see_up_to_the_high_watermark_and_replicas_all_there_is(filled: World) -> None:
    filled.partition("a").log.high_watermark = 4
    assert offset(filled, LATEST)[2] == 4
    assert offset(filled, LATEST, replica_id=2)[2] == 5
    assert offset(filled, LATEST, replica_id=-2)[2] == 5


def test_an_isolation_level_that_is_none_is_refused(filled: World) -> None:
    assert offset(filled, LATEST, isolation_level=2) == (ErrorCode.UNKNOWN_SERVER_ERROR, -1, -1, -1)


# Errors


def test_a_partition_that_is_named_twice_is_refused_once(filled: World) -> None:
    assert [each.error_code for each in ask(filled, LATEST, times=2)] == [ErrorCode.INVALID_REQUEST]


@pytest.mark.parametrize(
    ("leader_epoch", "code"),
    [
        (LEADER_EPOCH, ErrorCode.NONE),
        (LEADER_EPOCH - 1, ErrorCode.FENCED_LEADER_EPOCH),
        (LEADER_EPOCH + 1, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_the_clients_leader_epoch_is_checked(filled: World, leader_epoch: int, code: ErrorCode) -> None:
    assert offset(filled, LATEST, leader_epoch=leader_epoch)[0] == code


@pytest.mark.parametrize("timestamp", [LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, NOW_MS])
def test_failure_class_40_an_error_comes_with_offset_minus_one(filled: World, timestamp: int) -> None:
    filled.topic("elsewhere", leader=2, replicas=[2])
    nothing = (-1, -1, -1)
    assert offset(filled, timestamp, topic="missing") == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, *nothing)  # type: ignore[arg-type]
    assert offset(filled, timestamp, index=9) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, *nothing)
    assert offset(filled, timestamp, topic="elsewhere") == (ErrorCode.NOT_LEADER_OR_FOLLOWER, *nothing)  # type: ignore[arg-type]
    filled.partition("a").log.failure = OSError(errno.EIO, "the disk is gone")
    assert offset(filled, timestamp) == (ErrorCode.KAFKA_STORAGE_ERROR, *nothing)


# Leader epochs


def epoch_end(
    world: World, epoch: int, version: int = 4, *, topic: str = "a", current: int = -1
) -> OffsetForLeaderEpochResponse.EpochEndOffset:
    partition = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(
        partition=0, current_leader_epoch=current, leader_epoch=epoch
    )
    request = OffsetForLeaderEpochRequest(
        topics=[OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic=topic, partitions=[partition])]
    )
    (found,) = world.ask(request, version).topics[0].partitions
    assert isinstance(found, OffsetForLeaderEpochResponse.EpochEndOffset)
    return found


@pytest.mark.parametrize("version", [2, 3, 4])
def test_an_epoch_ends_where_the_next_begins_or_where_the_log_does(filled: World, version: int) -> None:
    log = filled.partition("a").log
    log.epochs.assign(LEADER_EPOCH + 2, 5)
    ends = {epoch: epoch_end(filled, epoch, version) for epoch in range(LEADER_EPOCH, LEADER_EPOCH + 4)}
    assert {epoch: (found.leader_epoch, found.end_offset) for epoch, found in ends.items()} == {
        LEADER_EPOCH: (LEADER_EPOCH, 5),
        LEADER_EPOCH + 1: (LEADER_EPOCH, 5),
        LEADER_EPOCH + 2: (LEADER_EPOCH + 2, 5),
        LEADER_EPOCH + 3: (-1, -1),
    }


@pytest.mark.parametrize(
    ("topic", "current", "code"),
    [
        ("missing", -1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("a", LEADER_EPOCH - 1, ErrorCode.FENCED_LEADER_EPOCH),
        ("a", LEADER_EPOCH + 1, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_failure_class_40_an_epoch_that_cannot_be_asked_for_has_no_end(
    filled: World, topic: str, current: int, code: ErrorCode
) -> None:
    found = epoch_end(filled, LEADER_EPOCH, topic=topic, current=current)
    assert (found.error_code, found.leader_epoch, found.end_offset) == (code, -1, -1)


def test_the_epochs_of_a_log_that_has_failed_are_not_told(filled: World) -> None:
    filled.partition("a").log.failure = OSError(errno.EIO, "the disk is gone")
    assert epoch_end(filled, LEADER_EPOCH).error_code == ErrorCode.KAFKA_STORAGE_ERROR


def test_a_new_leader_that_does_not_know_what_is_committed_says_so(filled: World) -> None:
    """KIP-207: else the end of a partition would go back when its leader changes."""
    partition = filled.partition("a")
    partition.log.high_watermark = 2  # as a follower knew it
    partition.committed_end = lambda _: 2
    partition.lead_in(LEADER_EPOCH + 1)
    assert offset(filled, LATEST)[0] == ErrorCode.OFFSET_NOT_AVAILABLE
    assert offset(filled, LATEST, 4)[0] == ErrorCode.LEADER_NOT_AVAILABLE, "older clients do not know the other"
    assert offset(filled, LATEST, isolation_level=1)[0] == ErrorCode.OFFSET_NOT_AVAILABLE
    assert offset(filled, NOW_MS + 11)[0] == ErrorCode.OFFSET_NOT_AVAILABLE, "offset 2 may be committed or not"
    assert offset(filled, NOW_MS + 1)[:3] == (0, NOW_MS + 10, 1)
    assert offset(filled, EARLIEST)[:3] == (0, -1, 0)
    assert offset(filled, LATEST, replica_id=2)[:3] == (0, -1, 5), "a follower asks for what there is"
    partition.committed_end = lambda _: 5
    partition.update_high_watermark(0)
    assert offset(filled, LATEST)[:3] == (0, -1, 5)
