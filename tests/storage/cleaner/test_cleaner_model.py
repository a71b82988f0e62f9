"""Random logs, cleaned again and again, against what compaction promises.

The model is the history itself: which records consumers of committed data saw. After every round: of each key the last
value below the cleaned point is there, offsets and contents are unchanged, nothing went that had to stay, producers'
last sequence numbers are still to be found, and nothing aborted can be seen.
"""

from __future__ import annotations

from random import Random

import pytest

from ottla.storage.cleaner.job import CleaningJob
from ottla.storage.log_config import LogConfig
from ottla.wire.records import Codec
from tests.storage.cleaner.histories import (
    CODECS,
    History,
    batches_in,
    clean,
    job_for,
    random_history,
    segment_files,
    visible_in,
)
from tests.storage.fake_disk import FakeDisk

RETENTION_MS = 1000


def job(
    disk: FakeDisk, history: History, now_ms: int, key_map_bytes: int = 1 << 16, first_dirty: int = 0
) -> CleaningJob:
    config = LogConfig(compact=True, segment_bytes=1500, delete_retention_ms=RETENTION_MS, index_interval_bytes=100)
    return job_for(
        disk,
        "d",
        now_ms=now_ms,
        first_dirty_offset=first_dirty,
        last_records=history.last_records(),
        config=config,
        key_map_bytes=key_map_bytes,
    )


def check(disk: FakeDisk, history: History, end_offset: int, *, may_drop_tombstones: bool) -> None:
    found = {record.offset: record for record in visible_in(disk, "d", history.next_offset)}
    before = {record.offset: record for record in history.visible}
    assert all(before[offset] == record for offset, record in found.items()), "a record changed, or appeared"
    last_offsets = {record.key: record.offset for record in history.visible if record.offset < end_offset}
    for offset, record in before.items():
        is_last = record.key is not None and last_offsets.get(record.key) == offset
        if offset >= end_offset or (is_last and record.value is not None):
            assert offset in found, f"{record} is lost"
        elif is_last:
            assert offset in found or may_drop_tombstones, f"{record} went before its time"
    batches = batches_in(disk, "d")
    for producer in history.producers.values():
        if producer.last_data_offset is not None:
            [last] = [one for one in batches if one.last_offset == producer.last_data_offset and not one.is_control]
            assert last.producer_id == producer.producer_id
            assert last.last_sequence == producer.sequence - 1 or producer.sequence == 0
    assert batches[-1].next_offset == history.next_offset


def stale(disk: FakeDisk, end_offset: int) -> list[bytes]:
    """Keys below the end that are there more than once."""
    keys = [record.key for record in visible_in(disk, "d", end_offset) if record.key is not None]
    return [key for key in keys if keys.count(key) > 1]


@pytest.mark.parametrize("seed", range(30))
def test_compaction_keeps_what_it_promises(seed: int) -> None:
    random = Random(seed)
    codecs = CODECS if seed % 3 == 0 else (Codec.NONE,)
    history = random_history(random, steps=random.choice((20, 60, 150)), codecs=codecs)
    disk = FakeDisk(seed)
    history.write(disk, "d")
    key_map_bytes = random.choice((24 * 6, 1 << 16))
    first_dirty = 0
    while True:
        one = job(disk, history, history.now_ms, key_map_bytes, first_dirty)
        if one.first_uncleanable_offset <= first_dirty:
            break
        first_dirty = clean(disk, one).end_offset
        check(disk, history, first_dirty, may_drop_tombstones=False)
    assert stale(disk, first_dirty) == []
    check_again(disk, history, first_dirty)


def check_again(disk: FakeDisk, history: History, end_offset: int) -> None:
    """Cleaning what is clean comes to rest, and changes nothing that a consumer sees; later, tombstones go."""
    seen = visible_in(disk, "d", history.next_offset)
    rounds = [segment_files(disk, "d")]
    while len(rounds) < 2 or rounds[-1] != rounds[-2]:
        clean(disk, job(disk, history, history.now_ms))
        assert visible_in(disk, "d", history.next_offset) == seen
        rounds.append(segment_files(disk, "d"))
        assert len(rounds) < 8, "it does not come to rest"
    clean(disk, job(disk, history, history.now_ms + RETENTION_MS))
    check(disk, history, end_offset, may_drop_tombstones=True)
    left = [record for record in visible_in(disk, "d", end_offset) if record.value is None]
    assert left == []


def test_class_30_an_undecided_transaction_keeps_the_older_values_of_its_keys() -> None:
    """Its records are beyond the last stable offset; were they in the map, an abort would lose the key."""
    history = History()
    history.append((b"a", b"committed"))
    history.roll()
    history.append((b"a", b"undecided"), producer_id=7, in_transaction=True)
    history.roll()
    history.append((b"z", b""))
    disk = FakeDisk()
    history.write(disk, "d")
    bound = history.last_stable_offset
    clean(disk, job_for(disk, "d", now_ms=history.now_ms, uncleanable_offset=bound))
    history.end(7, is_commit=False)
    assert b"committed" in [record.value for record in visible_in(disk, "d", bound)]
