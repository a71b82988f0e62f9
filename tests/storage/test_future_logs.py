"""A replica moves to another directory: its copy has what it has, and whatever happens one of the two is whole."""

from __future__ import annotations

from itertools import count

import pytest

from ottla.storage import future_logs
from ottla.storage.log import Log
from ottla.storage.log_directories import LogDirectories
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_trimming import advance_start
from ottla.wire.errors import ErrorCode, KafkaError
from tests.storage.fake_disk import FakeDisk, PowerCut
from tests.storage.log_directory_world import (
    A0,
    CONFIG,
    NOW_MS,
    TOPIC_ID,
    UNIQUE_ID,
    append,
    content,
    opened_all,
    records,
    started_all,
)

PATHS = ["/d1", "/d2"]
OTHER_ID = "fedcba9876543210" * 2


class Moving:
    """A replica with some records in the first directory, on its way to the second."""

    def __init__(self, disk: FakeDisk, record_count: int = 3) -> None:
        self.disk = disk
        self.directories, _ = started_all(disk, PATHS)
        self.original = self.directories.create(A0, TOPIC_ID, CONFIG, NOW_MS, is_new=True)
        for _ in range(record_count):
            append(self.original)
        self.original.advance_high_watermark(self.original.end_offset)
        self.source, self.target = self.directories.directories
        assert self.source.hosted[A0].log is self.original
        self.copy = future_logs.begin(self.target, A0, TOPIC_ID, CONFIG, UNIQUE_ID, NOW_MS)

    def fill(self) -> None:
        future_logs.extend(self.copy, self.original, content(self.original), NOW_MS)

    def replace(self) -> Log:
        return future_logs.replace_original(self.directories, self.target, A0, OTHER_ID, NOW_MS)


@pytest.fixture
def disk() -> FakeDisk:
    return FakeDisk()


def names(disk: FakeDisk, path: str) -> list[str]:
    return [entry.name for entry in disk.scan(path) if entry.is_directory]


def test_a_copy_lives_beside_the_others_and_takes_what_the_original_has(disk: FakeDisk) -> None:
    moving = Moving(disk)
    assert names(disk, "/d2") == [f"a-0.{UNIQUE_ID}-future"]
    assert future_logs.is_behind(moving.copy, moving.original)
    moving.fill()
    assert not future_logs.is_behind(moving.copy, moving.original)
    assert content(moving.copy) == content(moving.original)
    assert moving.copy.high_watermark == moving.original.high_watermark == 3
    assert moving.copy.epochs.entries == moving.original.epochs.entries


def test_a_copy_takes_the_place_of_its_original_and_goes_on(disk: FakeDisk) -> None:
    moving = Moving(disk)
    moving.fill()
    before = content(moving.original)
    taken = moving.replace()
    assert moving.directories.logs[A0] is taken is moving.copy
    assert moving.directories.directory_of(A0) is moving.target
    assert names(disk, "/d2") == ["a-0"]
    assert names(disk, "/d1") == [f"a-0.{OTHER_ID}-delete"]
    assert len(moving.source.removals) == 1
    assert content(taken) == before
    append(taken)
    taken.roll(taken.end_offset, NOW_MS)
    append(taken)
    with pytest.raises(KafkaError) as refused:
        append(moving.original)
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert moving.directories.close(1)
    again, warnings = started_all(disk, PATHS)
    assert (again.logs[A0].end_offset, warnings) == (5, [])


def test_a_log_that_begins_in_the_middle_of_a_batch_is_copied_from_that_batch_on(disk: FakeDisk) -> None:
    moving = Moving(disk, record_count=0)
    append(moving.original)
    moving.original.append(records(count=4), leader_epoch=0, now_ms=NOW_MS)
    moving.original.advance_high_watermark(5)
    advance_start(moving.original, 3)
    moving.fill()
    assert (moving.copy.start_offset, moving.copy.end_offset) == (3, 5)
    assert moving.copy.segments.first.base_offset == 1


def test_a_log_without_records_keeps_its_place(disk: FakeDisk) -> None:
    moving = Moving(disk)
    advance_start(moving.original, 3)
    future_logs.extend(moving.copy, moving.original, b"", NOW_MS)
    assert (moving.copy.start_offset, moving.copy.end_offset) == (3, 3)


def test_where_the_cleaner_left_nothing_the_copy_ends_where_the_original_does(disk: FakeDisk) -> None:
    moving = Moving(disk)
    data = content(moving.original)
    moving.original.roll(3, NOW_MS)
    moving.original.set_end_offset(3)
    future_logs.extend(moving.copy, moving.original, data[: len(data) // 3 * 2], NOW_MS)
    assert moving.copy.end_offset == 2
    future_logs.extend(moving.copy, moving.original, b"", NOW_MS)
    assert moving.copy.end_offset == 3
    append(moving.copy)
    assert moving.copy.end_offset == 4


def test_a_copy_that_has_what_the_original_lost_cannot_go_on(disk: FakeDisk) -> None:
    moving = Moving(disk)
    moving.fill()
    moving.source.truncate_to(A0, 1, NOW_MS)
    assert not future_logs.can_follow(moving.copy, moving.original)
    advance_start(moving.original, 1)
    assert future_logs.can_follow(future_logs_anew(moving), moving.original), "an empty one can begin anywhere"


@pytest.mark.parametrize(("offset", "begin", "end"), [(5, 0, 3), (3, 0, 3), (1, 0, 1), (0, 0, 0)])
def test_what_is_cut_from_the_original_is_cut_from_the_copy(disk: FakeDisk, offset: int, begin: int, end: int) -> None:
    moving = Moving(disk)
    moving.fill()
    future_logs.cut(moving.target, A0, offset, NOW_MS)
    assert (moving.copy.start_offset, moving.copy.end_offset) == (begin, end)


def test_a_copy_that_begins_behind_the_cut_begins_anew_there(disk: FakeDisk) -> None:
    moving = Moving(disk)
    moving.fill()
    advance_start(moving.copy, 2)
    future_logs.cut(moving.target, A0, 1, NOW_MS)
    assert (moving.copy.start_offset, moving.copy.end_offset) == (1, 1)


def test_a_disk_that_fails_while_a_copy_is_cut_is_offline(disk: FakeDisk) -> None:
    moving = Moving(disk)
    moving.fill()
    moving.target.offline = OSError(5, "broken")
    with pytest.raises(KafkaError):
        future_logs.cut(moving.target, A0, 1, NOW_MS)


def future_logs_anew(moving: Moving) -> Log:
    future_logs.give_up(moving.target, A0, OTHER_ID, NOW_MS)
    return future_logs.begin(moving.target, A0, TOPIC_ID, CONFIG, UNIQUE_ID, NOW_MS)


def test_a_copy_that_is_given_up_goes_like_a_deleted_replica(disk: FakeDisk) -> None:
    moving = Moving(disk)
    moving.fill()
    future_logs.give_up(moving.target, A0, OTHER_ID, NOW_MS)
    assert moving.target.future == {}
    assert names(disk, "/d2") == [f"a-0.{OTHER_ID}-delete"]
    assert len(moving.target.removals) == 1
    assert content(moving.original)


def test_a_target_that_fails_at_the_last_moment_leaves_the_original(disk: FakeDisk) -> None:
    moving = Moving(disk)
    moving.fill()
    disk.fail("rename", "/d2/*")
    with pytest.raises(KafkaError):
        moving.replace()
    assert moving.target.offline is not None
    assert moving.directories.directory_of(A0) is moving.source
    assert names(disk, "/d1") == ["a-0"]
    append(moving.original)


def whole(directories: LogDirectories) -> tuple[LogDirectory, Log]:
    """The one replica after a restart, as the broker puts it in service."""
    directory = directories.directory_of(A0)
    if directory is None:
        (directory,) = [one for one in directories.online if A0 in one.future]
        return directory, future_logs.take_over(directories, directory, A0)
    return directory, directory.hosted[A0].log


def test_whenever_the_power_is_cut_one_of_the_two_is_whole() -> None:
    places: set[str] = set()
    for cut in count(1):
        found = {place_after_a_cut(cut, seed) for seed in range(10)}
        places |= found - {None}
        if None in found:
            break
    assert cut > 3
    assert places == {"/d1", "/d2"}


def place_after_a_cut(cut: int, seed: int) -> str | None:
    """Where the replica is when the power was cut at this operation of the swap; None if it was over by then."""
    disk = FakeDisk(seed=100 * cut + seed)
    moving = Moving(disk)
    moving.fill()
    for log in (moving.original, moving.copy):
        log.flush()
    before = content(moving.original)
    disk.crash_after(cut)
    try:
        moving.replace()
        return None
    except PowerCut:
        disk.crash()
    directories, _ = started_all(disk, PATHS)
    directory, log = whole(directories)
    assert content(log) == before, disk.story()
    return directory.path


def test_a_restart_finds_the_copy(disk: FakeDisk) -> None:
    moving = Moving(disk)
    moving.fill()
    assert moving.directories.close(1)
    again = opened_all(disk, PATHS)
    again.load(lambda topic: CONFIG, NOW_MS)
    copy = again.directories[1].future[A0]
    assert (copy.topic_id, copy.log.end_offset) == (TOPIC_ID, 3)
