"""What must hold of a log that has just been opened, whatever happened before. Each check compares with the model.

`check_recovered` is all of them. A log is looked at from outside as readers, producers and followers would, and its
indexes entry by entry.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from ottla.storage import log_reading
from ottla.storage.log import Log
from ottla.storage.producer_state import AppendOrigin
from ottla.storage.segment import Segment
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import BatchBuilder, Record, iter_batches
from ottla.wire.records.batch import ATTRIBUTES_POSITION, CRC_POSITION, LOG_APPEND_TIME_FLAG
from ottla.wire.records.checksum import crc32c
from tests.storage.log_model import Outcome, Producer, Stored, Version, index_entries, replay, stored

if TYPE_CHECKING:
    from tests.storage.histories import History


def check_recovered(
    history: History, recovery_point: int, start_offset_max: int, *, is_whole: bool
) -> tuple[Version, Outcome]:
    """Returns the version that was found, and what follows from it. `is_whole`: nothing may have been lost."""
    log, model = history.log, history.model
    found = served(log, history.random.choice((1, 500, 1 << 20)))
    check_start(history, start_offset_max)
    version = compacted_version(history, found) if history.config.compact else matching_version(history, found)
    assert log.end_offset >= model.flushed_offset, "what was flushed is gone"
    if is_whole:
        assert version.end_offset == model.version.end_offset, "nothing was lost, yet the log is shorter"
    assert log.recovery_point <= log.end_offset
    for segment in log.segments:
        is_doubted = history.directory.last_stop is None and segment in set(log.segments.starting_from(recovery_point))
        check_indexes(log, segment, is_rebuilt=is_doubted)
    outcome = replay(version.batches)
    if history.config.compact:
        forget_cleaned(log, outcome)
    check_producers(history, outcome)
    check_epochs(log, found)
    check_transactions(history, outcome)
    check_lookups(history, found)
    forget_deleted(log, outcome)
    return version, outcome


def served(log: Log, bytes_max: int) -> list[Stored]:
    """All that a reader gets from the start to the end, every batch whole and with a CRC that fits."""
    found: list[Stored] = []
    offset = log.start_offset
    while offset < log.end_offset:
        piece = log_reading.read(log, offset, bytes_max=bytes_max, end_offset=log.end_offset)
        assert piece.next_offset > offset, f"reading from {offset} leads to {piece.next_offset}"
        if piece.file is not None:
            for batch in iter_batches(piece.file.read_at(piece.position, piece.size_bytes)):
                batch.check_crc()
                found.append(stored(bytes(batch.data)))
        offset = piece.next_offset
    offsets = [bound for one in found for bound in (one.base_offset, one.next_offset)]
    assert offsets == sorted(offsets), f"offsets go back: {offsets}"
    return found


def check_start(history: History, start_offset_max: int) -> None:
    log, model = history.log, history.model
    restarts = [version.begin_offset for version in (model.version, *model.others) if not version.batches]
    assert log.start_offset <= max(start_offset_max, *restarts, 0), "the log begins later than it was ever told to"
    assert log.start_offset >= min(model.start_offset_min, log.end_offset), "deleted records are back"
    assert log.start_offset <= log.high_watermark <= log.end_offset


# Bit for bit


def matching_version(history: History, found: list[Stored]) -> Version:
    """The version of which the log is the beginning: nothing torn, nothing in between missing, nothing unheard of."""
    log, model = history.log, history.model
    for version in (model.version, *reversed(model.others)):
        expected = version.from_offset(log.start_offset)
        if expected[: len(found)] != found or (not found and version.begin_offset > log.end_offset):
            continue
        whole = version.before(found[-1].next_offset if found else log.start_offset)
        if not whole.batches:
            whole.begin_offset = log.end_offset
        if whole.end_offset == log.end_offset or not found:
            return whole
    if not found and model.others and not model.version.batches:
        return Version(log.end_offset)  # it was being emptied
    raise AssertionError(f"no version begins with what is served: {found_text(found)}, end {log.end_offset}")


def found_text(found: list[Stored]) -> str:
    return ", ".join(f"{one.base_offset}..{one.last_offset} ({len(one.data)} bytes)" for one in found)


def compacted_version(history: History, found: list[Stored]) -> Version:
    """Records that were appended and no others; of every key the last one below what was flushed."""
    log, model = history.log, history.model
    versions = [model.version, *model.others]
    appended = {
        (record.offset, record.key, record.value)
        for version in versions
        for one in version.batches
        for record in one.records
    }
    here = {record.offset: record for one in found for record in one.records}
    strange = {(offset, record.key, record.value) for offset, record in here.items()} - appended
    assert strange == set(), f"records that nobody appended: {strange}"
    outcome = replay(model.version.batches)
    last: dict[bytes, Record] = {}
    for one in model.version.from_offset(log.start_offset):
        if one.last_offset < model.flushed_offset and not one.batch.is_control and is_committed(one, outcome):
            last.update({record.key: record for record in one.records if record.key is not None})
    lost = [record for record in last.values() if record.offset not in here and record.value is not None]
    assert [record for record in lost if record.offset >= log.start_offset] == [], "the last value of a key is gone"
    return without_holes(history, versions)


def without_holes(history: History, versions: list[Version]) -> Version:
    """Of a compacted log a segment may have lost its end where the next one is there: gaps are nothing unusual in it.

    Above what was flushed nothing has been cleaned, so what is there is there bit for bit.
    """
    log, model = history.log, history.model
    intact_from = max(model.flushed_offset, model.cleaned_offset)
    there = [one for segment in log.segments for one in batches_of(segment)]
    unflushed = [one for one in there if one.base_offset >= intact_from]
    gone_before = max(intact_from, log.segments.first.base_offset)
    for version in versions:
        if set(unflushed) <= set(version.batches) and (version.batches or version.begin_offset <= log.end_offset):
            kept = [one for one in version.batches if one.last_offset < gone_before or one in unflushed]
            kept = [one for one in kept if one.last_offset < log.end_offset]
            return Version(version.begin_offset if kept else log.end_offset, kept)
    raise AssertionError(f"no version has all that is there: {found_text(unflushed)}")


def is_committed(one: Stored, outcome: Outcome) -> bool:
    """Whether a batch is in no transaction, or in one that was committed."""
    if not one.batch.is_transactional:
        return True
    producer_id = one.batch.producer_id
    first_offset = outcome.producers[producer_id].first_offset
    if first_offset is not None and one.base_offset >= first_offset:
        return False
    return not any(
        aborted.producer_id == producer_id and aborted.first_offset <= one.base_offset < aborted.marker_offset
        for aborted in outcome.aborted
    )


# What is derived


def batches_of(segment: Segment) -> list[Stored]:
    return [stored(bytes(batch.data)) for batch in iter_batches(segment.file.read_at(0, segment.size_bytes))]


def check_indexes(log: Log, segment: Segment, *, is_rebuilt: bool) -> None:
    """A rebuilt index is the one that the log gives, entry for entry. Others may be sparser, but never wrong."""
    batches = batches_of(segment)
    base = segment.base_offset
    offsets = [(base + at[0], at[1]) for at in map(segment.index.get, range(segment.index.count))]
    times = [(at[0], base + at[1]) for at in map(segment.time_index.get, range(segment.time_index.count))]
    is_finished = segment is not log.segments.active
    name = segment.path("")
    if is_rebuilt:
        expected = index_entries(batches, segment.interval_bytes, is_finished=is_finished)
        assert offsets == expected.offsets, f"{name}.index is not the one that the log gives"
        assert times == expected.times, f"{name}.timeindex is not the one that the log gives"
    positions = {}
    position = 0
    largest: dict[int, int] = {}
    so_far = -1
    for one in batches:
        positions[one.last_offset] = position
        position += len(one.data)
        so_far = max(so_far, one.batch.max_timestamp)
        largest[one.last_offset] = so_far
    assert [at for at in offsets if positions.get(at[0]) != at[1]] == [], f"{name}.index is wrong"
    assert offsets == sorted(offsets)
    assert [at for at in times if largest.get(at[1]) != at[0]] == [], f"{name}.timeindex is wrong"
    assert times == sorted(times)
    assert segment.largest_timestamp() == so_far, f"{name}: the largest timestamp is wrong"
    if is_finished and batches:
        assert times[-1][0] == so_far, f"{name}.timeindex lacks the last entry"


def forget_cleaned(log: Log, outcome: Outcome) -> None:
    """The cleaner keeps the last batch of a producer. If that was lost later on, an earlier one has become the last."""
    there = {one.last_offset for segment in log.segments for one in batches_of(segment)}
    for producer_id, expected in list(outcome.producers.items()):
        entry = log.producers.producers.get(producer_id)
        if expected.last_offset in there or (entry is not None and entry.last_offset == expected.last_offset):
            continue
        if entry is None:
            del outcome.producers[producer_id]
            continue
        assert entry.last_offset < expected.last_offset, (entry, expected)
        first_offset = None if entry.transaction_first_offset < 0 else entry.transaction_first_offset
        outcome.producers[producer_id] = Producer(
            producer_id, entry.producer_epoch, entry.last_sequence, entry.last_offset, first_offset=first_offset
        )


def forget_deleted(log: Log, outcome: Outcome) -> None:
    """Of producers that were last heard of before the log's start, the log may know less than it could."""
    for producer_id, producer in list(outcome.producers.items()):
        entry = log.producers.producers.get(producer_id)
        if entry is None and producer.last_activity < log.start_offset:
            del outcome.producers[producer_id]
        elif entry is not None and entry.last_offset < 0 and producer.last_offset < log.start_offset:
            producer.last_sequence, producer.last_offset, producer.last_batch = -1, -1, None


def check_producers(history: History, expected: Outcome) -> None:
    """The state is that of all batches from the first on; only what is before the log's start may be forgotten."""
    log = history.log
    known = log.producers.producers
    start_offset = log.start_offset
    for producer_id, entry in known.items():
        producer = expected.producers.get(producer_id)
        assert producer is not None, f"producer {producer_id} was never here"
        assert entry.producer_epoch == producer.epoch, (entry, producer)
        if entry.last_offset >= 0 or producer.last_offset >= start_offset:
            expected_last = (producer.last_sequence, producer.last_offset)
            assert (entry.last_sequence, entry.last_offset) == expected_last, (entry, entry.batches, producer)
        if producer.first_offset is None or producer.first_offset >= start_offset:
            first_offset = None if entry.transaction_first_offset < 0 else entry.transaction_first_offset
            assert first_offset == producer.first_offset, (entry, producer)
    for producer_id, producer in expected.producers.items():
        if producer.last_activity >= start_offset:
            assert producer_id in known, f"{producer} is forgotten"
        if producer.last_batch is not None and producer.last_offset >= start_offset:
            check_is_duplicate(log, producer, history.now_ms)


def check_is_duplicate(log: Log, producer: Producer, now_ms: int) -> None:
    """A producer that sends its last batch again is told where it is."""
    assert producer.last_batch is not None
    end_offset = log.end_offset
    one = stored(producer.last_batch)
    found = log.stage(as_sent(one), leader_epoch=0, now_ms=now_ms, origin=AppendOrigin.CLIENT)
    assert found.is_duplicate, f"the last batch of {producer} is taken once more"
    assert (found.first_offset, found.last_offset) == (one.base_offset, one.last_offset)
    assert log.end_offset == end_offset


def as_sent(one: Stored) -> bytes:
    """A batch as its producer sent it: without an offset, and without the broker's time."""
    data = bytearray(one.data)
    data[:8] = bytes(8)
    data[ATTRIBUTES_POSITION + 1] &= ~LOG_APPEND_TIME_FLAG
    data[CRC_POSITION:ATTRIBUTES_POSITION] = crc32c(bytes(data[ATTRIBUTES_POSITION:]), 0).to_bytes(4, "big")
    return bytes(data)


def check_epochs(log: Log, found: Sequence[Stored]) -> None:
    """Every batch is in the epoch that it says."""
    entries = [tuple(entry) for entry in log.epochs.entries]
    assert entries == sorted(set(entries))
    for one in found:
        offset = max(one.base_offset, log.start_offset)
        epoch = log.epochs.epoch_for_offset(offset)
        assert epoch == one.batch.leader_epoch, f"offset {offset} is said to be of epoch {epoch}: {entries}"
    # Kafka keeps the last epoch of a log that is empty now.
    assert all(start_offset < log.end_offset or start_offset == log.start_offset for _, start_offset in entries)


def check_transactions(history: History, expected: Outcome) -> None:
    """Readers of committed records stop where they should, and are told what was aborted."""
    log = history.log
    log.advance_high_watermark(log.end_offset)
    undecided = expected.first_undecided(log.start_offset)
    forgotten = [one for one in expected.producers.values() if one.first_offset is not None]
    if all(one.first_offset is not None and one.first_offset >= log.start_offset for one in forgotten):
        assert log.last_stable_offset == (log.end_offset if undecided is None else undecided), "the last stable offset"
    found = log_reading.aborted_transactions(log, log.start_offset, log.end_offset)
    told = {(one.producer_id, one.first_offset, one.last_offset) for one in found}
    right = {one[:3] for one in expected.aborted}
    # What began before the log's start, or with a batch that was cleaned, may be known from a later batch on.
    cut = {
        (one.producer_id, one.marker_offset)
        for one in expected.aborted
        if one.first_offset < log.start_offset or history.config.compact
    }
    strange = {one for one in told - right if one[1] >= log.start_offset and (one[0], one[2]) not in cut}
    assert strange == set(), f"transactions that were not aborted: {strange}, not {right}"
    if history.config.compact:
        return  # the cleaner has taken the records of some, and with them the entries
    must = {one[:3] for one in expected.aborted if one.first_offset >= log.start_offset}
    assert must <= told, f"aborted transactions are not in the index: {must - told}"


def check_lookups(history: History, found: Sequence[Stored]) -> None:
    """Offsets by time."""
    log = history.log
    records = [record for one in found for record in one.records if record.offset >= log.start_offset]
    for record in history.random.sample(records, min(3, len(records))):
        first = next(one for one in records if one.timestamp >= record.timestamp)
        answer = log_reading.offset_by_timestamp(log, record.timestamp)
        assert answer is not None
        assert (answer.timestamp, answer.offset) == (first.timestamp, first.offset)


def check_refuses(log: Log, now_ms: int) -> None:
    """A log whose disk failed takes nothing, serves nothing and is not flushed."""
    builder = BatchBuilder()
    builder.append(b"k", b"v", timestamp=now_ms)
    for use in (
        lambda: log.append(builder.build(), leader_epoch=0, now_ms=now_ms),
        lambda: log_reading.read(log, log.start_offset, bytes_max=1, end_offset=log.end_offset),
        log.flush,
    ):
        with pytest.raises(KafkaError) as refused:
            use()
        assert refused.value.code == ErrorCode.KAFKA_STORAGE_ERROR
        assert os.path.dirname(log.directory) in str(refused.value)
