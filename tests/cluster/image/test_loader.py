"""Batches to images: transactions show whole or not at all."""

from __future__ import annotations

import pytest

from ottla.cluster.image import EMPTY, MetadataLoader
from ottla.cluster.metadata_log import MetadataLogError
from ottla.wire.schema import StoredRecord
from ottla.wire.stored.metadata_records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    TopicRecord,
)

BEGIN, END, ABORT = BeginTransactionRecord(name="n"), EndTransactionRecord(), AbortTransactionRecord()


def topic(name: str) -> TopicRecord:
    return TopicRecord(name=name, topic_id=name.encode().ljust(16))


class Log:
    """A loader that is fed batch after batch."""

    def __init__(self) -> None:
        self.loader = MetadataLoader()
        self.next_offset = 0

    def append(self, *records: StoredRecord) -> list[tuple[int, list[str]]]:
        """Offset and topics of each image that came of it."""
        base, self.next_offset = self.next_offset, self.next_offset + len(records)
        changes = self.loader.load(records, base_offset=base, last_offset=self.next_offset - 1, epoch=3, timestamp_ms=8)
        return [(change.image.offset, list(change.image.topics.by_name)) for change in changes]


def test_a_batch_makes_an_image() -> None:
    log = Log()
    assert log.append(topic("a"), topic("b")) == [(1, ["a", "b"])]
    image = log.loader.image
    assert (image.offset, image.epoch, image.timestamp_ms) == (1, 3, 8)


def test_a_batch_without_records_moves_the_offset() -> None:
    loader = MetadataLoader()
    (change,) = loader.load([], base_offset=0, last_offset=4, epoch=1, timestamp_ms=0)
    assert change.image.offset == 4
    assert change.delta.is_empty


def test_a_transaction_shows_at_its_end() -> None:
    log = Log()
    assert log.append(BEGIN, topic("a")) == []
    assert log.loader.transaction_offset == 0
    assert log.append(topic("b")) == []
    assert log.loader.image is EMPTY
    assert log.append(topic("c"), END, topic("d")) == [(5, ["a", "b", "c", "d"])]
    assert log.loader.transaction_offset is None


def test_what_stands_before_a_transaction_shows_at_once() -> None:
    log = Log()
    assert log.append(topic("a"), BEGIN, topic("b")) == [(0, ["a"])]
    assert log.append(END) == [(3, ["a", "b"])]


def test_an_aborted_transaction_never_was() -> None:
    log = Log()
    log.append(topic("a"))
    assert log.append(BEGIN, topic("b")) == []
    assert log.append(ABORT, topic("c")) == [(4, ["a", "c"])]
    assert log.append(BEGIN, topic("b"), ABORT, BEGIN, topic("d"), END) == [(10, ["a", "c", "d"])]


@pytest.mark.parametrize("records", [[END], [ABORT], [BEGIN, BEGIN], [BEGIN, topic("a"), BEGIN]])
def test_marks_out_of_order_are_refused(records: list[StoredRecord]) -> None:
    with pytest.raises(MetadataLogError):
        Log().append(*records)
