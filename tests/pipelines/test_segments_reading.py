"""Ranges give their records once; torn tails end a log, damage and loss are told with file and position."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ottla.pipelines import PipelineFailed
from ottla.pipelines import segments_reading as reading
from ottla.pipelines.segments_plan import plan_ranges
from ottla.pipelines.segments_reading import Aborted, RangeOfTopic, read_ranges
from ottla.pipelines.segments_transactions import AbortedRange
from ottla.storage.files import OsDisk
from ottla.wire.records import RecordBatch
from ottla.wire.records.checksum import crc32c
from tests.pipelines.segment_logs import MANY, log_files, offsets_in, open_log, read_all, reader_of, write_log
from tests.storage.batches import append, batch, changed, old_message, sized, write_segment

ALL = list(range(90))


def offsets_of(directory: Path, split_bytes: int = MANY, *, fails_on_data_loss: bool = True) -> list[int]:
    return read_planned(planned(directory, split_bytes), fails_on_data_loss=fails_on_data_loss)


def planned(directory: Path, split_bytes: int = MANY) -> list[RangeOfTopic]:
    return [RangeOfTopic("t", 0, one) for one in plan_ranges(str(directory), 0, MANY, split_bytes)]


def read_planned(ranges: list[RangeOfTopic], *, fails_on_data_loss: bool = True) -> list[int]:
    tables = read_ranges(ranges, ("offset", "value"), fails_on_data_loss=fails_on_data_loss)
    return [offset for table in tables for offset in table.column(0).to_pylist()]


@pytest.mark.parametrize("split_bytes", [1, 150, 700, MANY])
@pytest.mark.parametrize("read_bytes", [70, 200, 1 << 20])
def test_every_record_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, split_bytes: int, read_bytes: int) -> None:
    monkeypatch.setattr(reading, "READ_BYTES", read_bytes)
    monkeypatch.setattr(reading, "SLAB_BYTES", 50)
    assert offsets_of(write_log(tmp_path / "t-0"), split_bytes) == ALL


def test_a_batch_larger_than_what_is_read_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "READ_BYTES", 100)
    log = open_log(tmp_path / "t-0", segment_bytes=1 << 20)
    for size in (90, 5_000, 90, 120, 20_000):
        append(log, sized(size))
    log.close()
    assert offsets_of(tmp_path / "t-0") == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("cut_bytes", [1, 40, 85])
def test_a_torn_tail_is_the_end_of_the_log(tmp_path: Path, cut_bytes: int) -> None:
    directory = write_log(tmp_path / "t-0")
    last = log_files(directory)[-1]
    os.truncate(last, last.stat().st_size - cut_bytes)
    assert offsets_of(directory) == ALL[:-3]


def test_space_that_was_set_aside_is_the_end_of_the_log(tmp_path: Path) -> None:
    directory = write_log(tmp_path / "t-0")
    last = log_files(directory)[-1]
    os.truncate(last, last.stat().st_size + 5_000)
    assert offsets_of(directory) == ALL


def test_the_last_batch_may_have_lost_its_bytes_in_a_power_cut(tmp_path: Path) -> None:
    directory = write_log(tmp_path / "t-0")
    last = log_files(directory)[-1]
    last.write_bytes(last.read_bytes()[:-4] + bytes(4))
    assert offsets_of(directory) == ALL[:-3]


@pytest.mark.parametrize("number", [0, -1])
def test_a_batch_that_fails_its_crc_is_told_with_file_and_position(tmp_path: Path, number: int) -> None:
    directory = write_log(tmp_path / "t-0")
    path = log_files(directory)[number]
    data = bytearray(path.read_bytes())
    data[70] ^= 1
    path.write_bytes(data)
    with pytest.raises(PipelineFailed, match=rf"{path}: the batch at byte 0 is damaged: its CRC does not fit"):
        offsets_of(directory)


def test_what_is_no_batch_is_told(tmp_path: Path) -> None:
    directory = write_log(tmp_path / "t-0")
    path = log_files(directory)[0]
    size = 85
    data = path.read_bytes()
    path.write_bytes(data[:size] + b"\7" * size + data[2 * size :])
    with pytest.raises(PipelineFailed, match=rf"{path}: the batch at byte \d+ is damaged: magic 7"):
        offsets_of(directory)
    path.write_bytes(data[:-1])
    with pytest.raises(PipelineFailed, match="is damaged: it is cut off"):
        offsets_of(directory)


def test_records_that_are_none_are_told_though_the_crc_fits(tmp_path: Path) -> None:
    directory = write_log(tmp_path / "t-0", batches=2)
    path = log_files(directory)[0]
    data = bytearray(path.read_bytes())
    first = RecordBatch(memoryview(data))
    data[61] = 0x7E
    data[17:21] = crc32c(bytes(data[21 : first.end]), 0).to_bytes(4, "big")
    path.write_bytes(data)
    with pytest.raises(PipelineFailed, match=r"the batch at byte 0 is damaged: .*missing"):
        offsets_of(directory)


def test_a_codec_that_there_is_not_is_told(tmp_path: Path) -> None:
    lying = changed(batch(3), 21, ">h", 7)
    write_segment(OsDisk(), 0, [batch(3), lying, batch(3, base_offset=6)], str(tmp_path / "t-0"))
    with pytest.raises(
        PipelineFailed, match=rf"the batch at byte {len(lying)} is damaged: there is no compression codec"
    ):
        offsets_of(tmp_path / "t-0")


def test_a_segment_that_waits_to_be_removed_is_still_read(tmp_path: Path) -> None:
    directory = write_log(tmp_path / "t-0")
    ranges = planned(directory)
    first = log_files(directory)[0]
    first.rename(f"{first}.deleted")
    assert read_planned(ranges) == ALL


def test_a_segment_that_is_gone_is_data_loss(tmp_path: Path) -> None:
    directory = write_log(tmp_path / "t-0")
    ranges = planned(directory)
    first, second, *_ = log_files(directory)
    first.unlink()
    with pytest.raises(PipelineFailed, match=r"is gone, and with it offsets from 0 of t-0.*failOnDataLoss=false"):
        read_planned(ranges)
    assert read_planned(ranges, fails_on_data_loss=False) == ALL[int(second.stem) :]
    for path in log_files(directory):
        path.unlink()
    assert read_planned(ranges, fails_on_data_loss=False) == []


def test_segments_that_a_compaction_has_put_together_are_planned_anew(tmp_path: Path) -> None:
    directory = write_log(tmp_path / "t-0")
    ranges = planned(directory, 150)
    first, second, *_ = log_files(directory)
    together = tmp_path / "together"
    together.write_bytes(first.read_bytes() + second.read_bytes())
    second.unlink()
    together.rename(first)
    for index in directory.glob("*index"):
        index.unlink()
    assert read_planned(ranges) == ALL


def test_what_is_appended_meanwhile_is_not_part_of_the_plan(tmp_path: Path) -> None:
    directory = tmp_path / "t-0"
    log = open_log(directory, segment_bytes=1 << 20)
    append(log, batch(3))
    ranges = planned(directory)
    append(log, batch(3))
    assert read_planned(ranges) == [0, 1, 2]
    assert offsets_of(directory) == [0, 1, 2, 3, 4, 5]
    log.close()


def test_old_formats_are_read_by_range_too(tmp_path: Path) -> None:
    messages = [old_message(offset, magic=offset % 2) for offset in range(20)]
    write_segment(OsDisk(), 0, messages, str(tmp_path / "t-0"))
    assert offsets_in(tmp_path / "t-0", startingOffsets=5, endingOffsets=9, splitBytes=1) == [5, 6, 7, 8]
    assert len(read_all(reader_of(tmp_path / "t-0", "value"))) == 20


def test_aborted_is_by_producer_and_offset() -> None:
    aborted = Aborted([AbortedRange(7, 10, 20), AbortedRange(7, 40, 50)])

    def covers(base_offset: int, producer_id: int = 7, *, is_transactional: bool = True) -> bool:
        data = batch(1, base_offset=base_offset, producer_id=producer_id, is_transactional=is_transactional)
        return aborted.covers(RecordBatch(memoryview(data)))

    assert [covers(offset) for offset in (9, 10, 20, 21, 45, 51)] == [False, True, True, False, True, False]
    assert not covers(15, 8)
    assert not covers(15, is_transactional=False)
