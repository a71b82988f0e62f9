"""Snapshots of producers: Kafka's bytes, whole or not there, and never believed when damaged (failure class 29)."""

from __future__ import annotations

from itertools import count

import pytest

from ottla.storage.producer_entry import ProducerEntry
from ottla.storage.producer_snapshot import ProducerSnapshots, SnapshotError, decode_snapshot, encode_snapshot
from tests.storage.fake_disk import FakeDisk, PowerCut

DIRECTORY = "/t-0"


def entry(producer_id: int, *, last_sequence: int = 5, transaction_first_offset: int = -1) -> ProducerEntry:
    made = ProducerEntry(producer_id, 2, 4, 0, transaction_first_offset)
    made.add_batch(last_sequence - 1, last_sequence, 90 + producer_id, 1, 1000 + producer_id)
    return made


def fields(entry: ProducerEntry) -> tuple[object, ...]:
    return tuple(getattr(entry, name) for name in ProducerEntry.__slots__ if name != "touched_ms")


def new_snapshots(seed: int = 0) -> tuple[FakeDisk, ProducerSnapshots]:
    disk = FakeDisk(seed)
    disk.make_directory(DIRECTORY)
    disk.sync_directory("/")
    return disk, ProducerSnapshots(disk, DIRECTORY)


def test_what_is_encoded_is_decoded_in_the_order_of_ids() -> None:
    entries = [entry(9), entry(1, transaction_first_offset=80), ProducerEntry(4, 1, 7, 55)]
    decoded = decode_snapshot("s", encode_snapshot(entries))
    assert [fields(found) for found in decoded] == [fields(entries[1]), fields(entries[2]), fields(entries[0])]


def test_a_snapshot_has_the_bytes_of_kafkas_version_one() -> None:
    data = encode_snapshot([entry(1)])
    assert data[:2] == b"\0\1"
    assert data[6:10] == b"\0\0\0\1"
    assert len(data) == 10 + 46
    assert encode_snapshot([])[6:] == bytes(4)


@pytest.mark.parametrize("position", range(10 + 46))
def test_a_flipped_bit_anywhere_is_noticed(position: int) -> None:
    data = bytearray(encode_snapshot([entry(1)]))
    data[position] ^= 4
    with pytest.raises(SnapshotError, match=r"^s: "):
        decode_snapshot("s", bytes(data))


@pytest.mark.parametrize("size_bytes", [0, 1, 9, 10, 55])
def test_a_file_that_was_cut_is_noticed(size_bytes: int) -> None:
    with pytest.raises(SnapshotError):
        decode_snapshot("s", encode_snapshot([entry(1)])[:size_bytes])


def test_a_count_that_does_not_fit_is_noticed_though_its_crc_is_right() -> None:
    from ottla.wire.records.checksum import crc32c

    body = (2**31 - 1).to_bytes(4, "big") + bytes(46)
    with pytest.raises(SnapshotError, match="2147483647 entries"):
        decode_snapshot("s", b"\0\1" + crc32c(body, 0).to_bytes(4, "big") + body)


def test_a_snapshot_is_on_the_disk_when_take_returns() -> None:
    """KAFKA-9892."""
    for seed in range(30):
        disk, snapshots = new_snapshots(seed)
        snapshots.take(100, [entry(1)])
        disk.crash()
        found = ProducerSnapshots(disk, DIRECTORY).load_newest(1000)
        assert found is not None, disk.story()
        assert found[0] == 100
        assert [made.producer_id for made in found[1]] == [1]


def test_a_power_cut_within_take_leaves_no_half_of_a_snapshot() -> None:
    for cut in count(1):
        disk, snapshots = new_snapshots(seed=cut)
        snapshots.take(100, [entry(1)])
        disk.crash_after(cut)
        try:
            snapshots.take(200, [entry(1), entry(2)])
        except PowerCut:
            disk.crash()
        else:
            break
        again = ProducerSnapshots(disk, DIRECTORY)
        assert again.offsets in ([100], [100, 200]), disk.story()
        for offset in again.offsets:
            decode_snapshot(again.path(offset), disk.read(again.path(offset)))
        assert not any(path.endswith(".tmp") for path in disk.files()), disk.story()
    assert cut > 4


def test_a_snapshot_that_is_there_is_not_taken_again() -> None:
    disk, snapshots = new_snapshots()
    snapshots.take(100, [entry(1)])
    before = disk.operation_count
    snapshots.take(100, [entry(1)])
    assert disk.operation_count == before
    assert snapshots.newest_offset == 100


def test_a_failed_take_leaves_no_snapshot() -> None:
    disk, snapshots = new_snapshots()
    disk.fail("sync")
    with pytest.raises(OSError, match="error"):
        snapshots.take(100, [entry(1)])
    assert (snapshots.offsets, snapshots.newest_offset) == ([], None)
    assert ProducerSnapshots(disk, DIRECTORY).offsets == []


def test_the_newest_snapshot_up_to_an_offset_is_loaded() -> None:
    _, snapshots = new_snapshots()
    for offset in (300, 100, 200):
        snapshots.take(offset, [entry(offset)])
    assert snapshots.offsets == [100, 200, 300]
    for offset_max, offset in ((1000, 300), (300, 300), (299, 200), (100, 100)):
        found = snapshots.load_newest(offset_max)
        assert found is not None
        assert (found[0], found[1][0].producer_id) == (offset, offset)
    assert snapshots.load_newest(99) is None


def test_a_damaged_snapshot_is_removed_and_the_one_before_it_taken() -> None:
    disk, snapshots = new_snapshots()
    for offset in (100, 200, 300):
        snapshots.take(offset, [entry(offset)])
    disk.flip(snapshots.path(200), 20)
    disk.remove(snapshots.path(300))
    found = snapshots.load_newest(1000)
    assert found is not None
    assert found[0] == 100
    assert snapshots.offsets == ProducerSnapshots(disk, DIRECTORY).offsets == [100]


def test_snapshots_are_removed_on_either_side_of_an_offset() -> None:
    disk, snapshots = new_snapshots()
    for offset in (100, 200, 300, 400):
        snapshots.take(offset, [])
    snapshots.remove_before(200)
    snapshots.remove_after(300)
    snapshots.remove(999)
    assert snapshots.offsets == ProducerSnapshots(disk, DIRECTORY).offsets == [200, 300]


@pytest.mark.parametrize(
    ("base_offsets", "left"),
    [
        ([0, 100, 300], [100, 300, 400]),  # a clean stop wrote 400
        ([0, 100, 500], [100]),
        ([], [400]),
        ([100, 200, 300, 400], [100, 200, 300, 400]),
    ],
)
def test_strays_are_removed_but_for_that_of_a_clean_stop(base_offsets: list[int], left: list[int]) -> None:
    disk, snapshots = new_snapshots()
    for offset in (100, 200, 300, 400):
        snapshots.take(offset, [])
    snapshots.remove_strays(base_offsets)
    assert snapshots.offsets == ProducerSnapshots(disk, DIRECTORY).offsets == left


def test_the_snapshot_of_a_deleted_segment_goes_with_its_files() -> None:
    disk, snapshots = new_snapshots()
    snapshots.take(100, [])
    snapshots.take(200, [])
    retired = snapshots.retire(100)
    assert retired == f"{DIRECTORY}/00000000000000000100.snapshot.deleted"
    assert disk.exists(retired)
    assert snapshots.retire(100) is None
    disk.remove(snapshots.path(200))
    assert snapshots.retire(200) is None
    assert snapshots.offsets == []


def test_other_files_are_left_alone() -> None:
    disk, _ = new_snapshots()
    for name in ("1.snapshot", "00000000000000000100.log", "00000000000000000100.snapshot.deleted"):
        disk.replace(f"{DIRECTORY}/{name}", b"")
    before = disk.files()
    assert ProducerSnapshots(disk, DIRECTORY).offsets == []
    assert disk.files() == before


def test_snapshots_follow_their_directory() -> None:
    disk, snapshots = new_snapshots()
    snapshots.take(100, [entry(1)])
    disk.rename(DIRECTORY, "/moved")
    snapshots.moved("/moved")
    assert snapshots.load_newest(100) is not None
