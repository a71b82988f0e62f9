"""The metadata partition on the disk: what raft is told of it, and what snapshots let go of."""

from __future__ import annotations

import pytest

from ottla.cluster.image.snapshot_file import SnapshotId
from ottla.cluster.metadata_log import MetadataLogError, metadata_batch, read_metadata_batch
from ottla.cluster.quorum_state import ElectionState
from ottla.cluster.raft_log import OffsetAndEpoch
from ottla.cluster.voters import ReplicaKey
from ottla.server.metadata_store import MetadataStore
from tests.server.metadata_world import DIRECTORY_ID, HOME, NOW_MS, PARTITION, format_home, setting
from tests.storage.fake_disk import FakeDisk, PowerCut

FORMATTED = OffsetAndEpoch(0, 0)
KEEP_ALL = {"bytes_max": 1 << 30, "age_ms_max": -1}
KEEP_ONE = {"bytes_max": 0, "age_ms_max": -1}


def a_store(disk: FakeDisk, **more: int) -> MetadataStore:
    if not disk.exists(HOME):
        format_home(disk)
    return MetadataStore(disk, HOME, NOW_MS, **more)


def append(store: MetadataStore, epoch: int, count: int = 1) -> None:
    for _ in range(count):
        offset = store.end_offset
        batch = metadata_batch([setting(str(offset))], base_offset=offset, leader_epoch=epoch, timestamp=NOW_MS)
        store.append(batch, epoch, NOW_MS)
    store.log.flush()
    store.log.advance_high_watermark(store.end_offset)


def snapshot(store: MetadataStore, end_offset: int, epoch: int) -> None:
    store.write_snapshot(SnapshotId(end_offset, epoch), b"snapshot")
    store.snapshot_written(SnapshotId(end_offset, epoch))


@pytest.fixture
def disk() -> FakeDisk:
    return FakeDisk()


def test_a_formatted_partition_is_empty_behind_its_first_snapshot(disk: FakeDisk) -> None:
    store = a_store(disk)
    assert (store.start_offset, store.end_offset) == (0, 0)
    assert store.latest_snapshot() == FORMATTED
    assert store.earliest_snapshot() is None
    assert store.epoch_before(0) == 0
    assert store.end_offset_for_epoch(5) == FORMATTED
    assert store.load_quorum_state() is None
    loaded = store.load_snapshot()
    assert loaded is not None
    assert loaded[1].kraft_version == 1
    assert loaded[1].records == []


def test_epochs_end_where_the_next_begins(disk: FakeDisk) -> None:
    store = a_store(disk)
    append(store, 2, 3)
    append(store, 5, 2)
    assert [store.epoch_before(offset) for offset in (0, 1, 3, 4, 5)] == [0, 2, 2, 5, 5]
    assert store.end_offset_for_epoch(1) == FORMATTED
    assert store.end_offset_for_epoch(2) == OffsetAndEpoch(3, 2)
    assert store.end_offset_for_epoch(4) == OffsetAndEpoch(3, 2)
    assert store.end_offset_for_epoch(5) == OffsetAndEpoch(5, 5)
    assert store.end_offset_for_epoch(9) == OffsetAndEpoch(5, 5)


def test_batches_come_back_whole_in_the_next_life(disk: FakeDisk) -> None:
    store = a_store(disk)
    append(store, 1, 5)
    store.close()
    store = a_store(disk)
    assert store.end_offset == 5
    values = [record.value for batch in store.batches(1, 4) for record in read_metadata_batch(batch)]
    assert values == ["1", "2", "3"]
    assert list(store.batches(5, 5)) == []
    assert list(store.batches(5, 9)) == []


def test_the_quorum_state_is_durable_when_it_is_saved(disk: FakeDisk) -> None:
    state = ElectionState(7, 1, ReplicaKey(1, DIRECTORY_ID))
    a_store(disk).save_quorum_state(state, 1, [1])
    disk.crash()
    assert a_store(disk).load_quorum_state() == state


def test_the_log_begins_at_the_oldest_snapshot_that_is_kept(disk: FakeDisk) -> None:
    store = a_store(disk)
    append(store, 1, 4)
    snapshot(store, 2, 1)
    snapshot(store, 4, 1)
    store.drop_old(NOW_MS, **KEEP_ALL)
    assert store.start_offset == 0
    assert store.snapshot_size_bytes(OffsetAndEpoch(2, 1)) == len(b"snapshot")
    store.drop_old(NOW_MS, **KEEP_ONE)
    assert (store.start_offset, store.end_offset) == (4, 4)
    assert store.earliest_snapshot() == store.latest_snapshot() == OffsetAndEpoch(4, 1)
    assert store.snapshot_size_bytes(OffsetAndEpoch(2, 1)) is None
    assert store.epoch_before(4) == 1
    append(store, 3)
    for again in (store, a_store(disk)):
        assert again.start_offset == 4
        assert again.epoch_before(4) == 1
        assert again.epoch_before(5) == 3
        assert again.end_offset_for_epoch(2) == OffsetAndEpoch(4, 1)


def test_an_old_snapshot_goes_by_its_age(disk: FakeDisk) -> None:
    store = a_store(disk)
    append(store, 1, 4)
    snapshot(store, 2, 1)
    disk.set_modified(f"{PARTITION}/{SnapshotId(0, 0).file_name}", NOW_MS - 2000)
    disk.set_modified(f"{PARTITION}/{SnapshotId(2, 1).file_name}", NOW_MS - 500)
    store.drop_old(NOW_MS, bytes_max=-1, age_ms_max=2000)
    assert store.start_offset == 0
    store.drop_old(NOW_MS, bytes_max=-1, age_ms_max=1000)
    assert store.start_offset == 2
    store.drop_old(NOW_MS, bytes_max=-1, age_ms_max=0)
    assert store.latest_snapshot() == OffsetAndEpoch(2, 1), "the newest stays"


def test_segments_before_the_oldest_snapshot_leave_the_disk(disk: FakeDisk) -> None:
    store = a_store(disk, segment_bytes=200)
    append(store, 1, 9)
    before = [path for path in disk.files() if path.endswith(".log")]
    snapshot(store, 9, 1)
    store.drop_old(NOW_MS, **KEEP_ONE)
    after = [path for path in disk.files() if ".log" in path]
    assert len(before) > 2
    assert len(after) == 1
    store.close()
    store = a_store(disk, segment_bytes=200)
    assert (store.start_offset, store.end_offset) == (9, 9)


def test_a_log_without_the_snapshot_before_it_is_refused(disk: FakeDisk) -> None:
    store = a_store(disk, segment_bytes=200)
    append(store, 1, 9)
    snapshot(store, 9, 1)
    store.drop_old(NOW_MS, **KEEP_ONE)
    store.close()
    disk.remove(f"{PARTITION}/{SnapshotId(9, 1).file_name}")
    with pytest.raises(MetadataLogError, match="no snapshot holds what was before"):
        a_store(disk)


def test_a_snapshot_that_is_ahead_of_the_log_takes_its_place(disk: FakeDisk) -> None:
    """A follower that crashed between getting a snapshot and emptying its log."""
    store = a_store(disk)
    append(store, 1, 4)
    store.write_snapshot(SnapshotId(7, 3), b"snapshot")
    store.close()
    store = a_store(disk)
    assert (store.start_offset, store.end_offset) == (7, 7)
    assert store.epoch_before(7) == 3
    assert store.latest_snapshot() == store.earliest_snapshot() == OffsetAndEpoch(7, 3)


def test_what_a_crash_left_half_done_is_removed(disk: FakeDisk) -> None:
    format_home(disk)
    leftovers = [f"{PARTITION}/{SnapshotId(7, 3).file_name}.tmp", f"{PARTITION}/{0:020}.log.deleted"]
    for path in leftovers:
        disk.open(path, create=True).close()
    a_store(disk)
    assert not set(leftovers) & set(disk.files())


def test_a_power_cut_at_any_moment_of_a_snapshot_loses_nothing() -> None:
    for count in range(1, 30):
        disk = FakeDisk(count)
        store = a_store(disk, segment_bytes=200)
        append(store, 1, 9)
        disk.crash_after(count)
        try:
            snapshot(store, 5, 1)
            store.drop_old(NOW_MS, **KEEP_ONE)
        except PowerCut:
            pass
        disk.crash()
        store = a_store(disk, segment_bytes=200)
        assert store.end_offset == 9
        assert store.start_offset in (0, 5)
        assert [batch.base_offset for batch in store.batches(5, 9)] == [5, 6, 7, 8]
