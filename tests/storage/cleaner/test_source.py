"""Reading what is to be cleaned: every byte is looked at, damage has a name."""

from __future__ import annotations

import pytest

from ottla.storage.batch_scan import LogFileDamaged
from ottla.storage.cleaner.plan import SegmentFacts
from ottla.storage.cleaner.source import reading
from ottla.wire.errors import ErrorCode, KafkaError
from tests.storage.cleaner.histories import History
from tests.storage.fake_disk import FakeDisk

LOG = "d/00000000000000000000.log"


@pytest.fixture
def disk() -> FakeDisk:
    return FakeDisk()


@pytest.fixture
def segment(disk: FakeDisk) -> SegmentFacts:
    history = History()
    for number in range(5):
        history.append((b"a", b"%d" % number), (b"b", b"%d" % number))
    return history.write(disk, "d")[0]


def offsets(disk: FakeDisk, segment: SegmentFacts, from_offset: int = 0) -> list[int]:
    with reading(disk, "d", segment, from_offset) as batches:
        return [batch.last_offset for batch in batches]


def test_all_batches_come_or_those_from_an_offset_on(disk: FakeDisk, segment: SegmentFacts) -> None:
    assert offsets(disk, segment) == [1, 3, 5, 7, 9]
    assert offsets(disk, segment, 5) == [5, 7, 9]
    assert offsets(disk, segment, 6) == [7, 9]
    assert offsets(disk, segment, 10) == []


def test_bytes_behind_the_end_of_the_segment_do_not_count(disk: FakeDisk, segment: SegmentFacts) -> None:
    assert offsets(disk, segment._replace(size_bytes=segment.size_bytes // 5 * 2)) == [1, 3]


@pytest.mark.parametrize("from_offset", [0, 6])
def test_a_flipped_bit_is_damage(disk: FakeDisk, segment: SegmentFacts, from_offset: int) -> None:
    disk.flip(LOG, segment.size_bytes - 3)
    with pytest.raises(LogFileDamaged, match=f"{LOG}: no whole batch at byte"):
        offsets(disk, segment, from_offset)


def test_a_file_that_is_too_short_is_damage(disk: FakeDisk, segment: SegmentFacts) -> None:
    disk.open(LOG).truncate(segment.size_bytes - 3)
    with pytest.raises(LogFileDamaged, match=LOG):
        offsets(disk, segment)


def test_damage_inside_a_batch_names_the_file(disk: FakeDisk, segment: SegmentFacts) -> None:
    with pytest.raises(LogFileDamaged, match=f"{LOG}.*a bad record"), reading(disk, "d", segment):
        raise KafkaError(ErrorCode.INVALID_RECORD, "a bad record")
