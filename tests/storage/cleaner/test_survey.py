"""The first pass: which offset is the last one of each key, and how far a round goes."""

from __future__ import annotations

import pytest

from ottla.storage.batch_scan import LogFileDamaged
from ottla.storage.cleaner.key_map import NOT_FOUND, SLOT_BYTES, KeyMap
from ottla.storage.cleaner.pace import CleaningStopped, Pace
from ottla.storage.cleaner.survey import survey
from ottla.wire.records import BatchBuilder, Codec
from tests.storage.cleaner.histories import History, job_for
from tests.storage.cleaner.legacy_messages import message
from tests.storage.fake_disk import FakeDisk


def surveyed(history: History, **changes: int) -> KeyMap:
    disk = FakeDisk()
    history.write(disk, "d")
    return survey(disk, job_for(disk, "d", now_ms=history.now_ms, **changes), Pace())  # type: ignore[arg-type]


def three_segments() -> History:
    """Offsets 0 to 2, 3 to 5, and an active segment."""
    history = History()
    for segment in range(2):
        history.append((b"a", b"%d" % segment), (b"b", None))
        history.append((b"c%d" % segment, b""))
        history.roll()
    history.append((b"a", b"active"))
    return history


def test_the_last_offset_of_every_key_below_the_active_segment_is_found() -> None:
    key_map = surveyed(three_segments())
    assert [key_map.get(key) for key in (b"a", b"b", b"c0", b"c1")] == [3, 4, 2, 5]
    assert key_map.latest_offset == 5


@pytest.mark.parametrize("first_dirty_offset", [3, 4])
def test_only_what_is_dirty_is_looked_at(first_dirty_offset: int) -> None:
    key_map = surveyed(three_segments(), first_dirty_offset=first_dirty_offset)
    assert key_map.get(b"c0") == NOT_FOUND
    assert key_map.get(b"a") == (3 if first_dirty_offset == 3 else NOT_FOUND)
    assert (key_map.get(b"b"), key_map.latest_offset) == (4, 5)


def test_what_is_not_cleanable_is_not_looked_at() -> None:
    key_map = surveyed(three_segments(), uncleanable_offset=5)
    assert (key_map.get(b"a"), key_map.latest_offset) == (0, 2)


def test_a_full_map_ends_the_round_at_the_last_record_that_it_took() -> None:
    """Room for three keys; the fourth new key is at offset 5, and what is known already counts until then."""
    key_map = surveyed(three_segments(), key_map_bytes=4 * SLOT_BYTES)
    assert (key_map.count, key_map.latest_offset) == (3, 2)
    assert key_map.get(b"a") == 0


def test_records_without_a_key_and_aborted_ones_do_not_count() -> None:
    history = History()
    history.append((b"a", b"1"), (None, b"x"))
    history.append((b"a", b"2"), producer_id=1, in_transaction=True)
    history.end(1, is_commit=False)
    history.roll()
    history.append((b"z", b""))
    key_map = surveyed(history)
    assert (key_map.get(b"a"), key_map.count, key_map.latest_offset) == (0, 1, 3)


def test_offsets_missing_at_the_end_of_a_segment_are_done_with_it() -> None:
    history = three_segments()
    history.segments[1].pop()
    key_map = surveyed(history)
    assert (key_map.get(b"c1"), key_map.latest_offset) == (NOT_FOUND, 5)


def test_messages_of_old_formats_and_compressed_batches_are_read() -> None:
    history = three_segments()
    history.segments[0] = [message(0, b"a", b"x"), message(1, b"old", b"x"), message(2, None, b"x")]
    history.segments[1][0] = built_compressed()
    key_map = surveyed(history)
    assert [key_map.get(key) for key in (b"a", b"old", b"packed")] == [0, 1, 4]


def built_compressed() -> bytes:
    builder = BatchBuilder(base_offset=3, codec=Codec.GZIP)
    builder.append(b"packed", b"1", timestamp=1)
    builder.append(b"packed", b"2", timestamp=1)
    return builder.build()


def test_records_that_cannot_be_read_are_damage() -> None:
    history = three_segments()
    builder = BatchBuilder(base_offset=3)
    builder.append(b"k", b"v", timestamp=1)
    builder.count += 1  # says two records, has one
    history.segments[1][0] = builder.build()
    with pytest.raises(LogFileDamaged, match=r"d/0+3\.log.*records"):
        surveyed(history)


def test_it_can_be_stopped() -> None:
    disk, history = FakeDisk(), three_segments()
    history.write(disk, "d")
    with pytest.raises(CleaningStopped):
        survey(disk, job_for(disk, "d", now_ms=history.now_ms), Pace(is_stopped=lambda: True))
