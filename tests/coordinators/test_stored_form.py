"""Records go to the log and come back; what a later Kafka wrote is passed over, what is broken is not."""

from __future__ import annotations

import pytest

from ottla.coordinators.contract import Record
from ottla.coordinators.stored_form import StoredRecordError, decode, encode
from ottla.wire.stored.classic_group_records import (
    GroupMetadataKey,
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from ottla.wire.stored.consumer_group_records import ConsumerGroupMetadataKey, ConsumerGroupMetadataValue

KEY = OffsetCommitKey(group="g", topic="orders", partition=3)
VALUE = OffsetCommitValue(offset=7, metadata="note", commit_timestamp=5, topic_id=b"o" * 16)


@pytest.mark.parametrize(
    "record",
    [
        Record(KEY, VALUE, 4),
        Record(KEY, None),
        Record(
            LegacyOffsetCommitKey(group="g", topic="orders", partition=3),
            LegacyOffsetCommitValue(offset=1, metadata="", commit_timestamp=2),
        ),
        Record(GroupMetadataKey(group="g"), None),
        Record(ConsumerGroupMetadataKey(group_id="g"), ConsumerGroupMetadataValue(epoch=3)),
    ],
)
def test_a_record_comes_back_as_it_was(record: Record) -> None:
    assert decode(*encode(record)) == record


def test_the_bytes_are_those_that_kafka_writes() -> None:
    key, value = encode(Record(KEY, OffsetCommitValue(offset=7, metadata="", commit_timestamp=5), 1))
    assert key == b"\0\1" + b"\0\1g" + b"\0\6orders" + b"\0\0\0\3"
    assert value == b"\0\1" + bytes(7) + b"\7" + b"\0\0" + bytes(7) + b"\5" + b"\xff" * 8


def test_a_type_that_is_not_known_is_passed_over() -> None:
    assert decode(b"\x7f\x00whatever", b"\0\0") is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"\0\0"),
        (b"\0", b"\0\0"),
        (b"\0\1\0\1g", b"\0\0"),
        (b"\0\1\0\1g\0\1t\0\0\0\0", b"\0"),
        (b"\0\1\0\1g\0\1t\0\0\0\0", b"\0\4\0"),
        (b"\0\1\0\1g\0\1t\0\0\0\0", b"\0\x63" + bytes(50)),
    ],
)
def test_what_cannot_be_read_is_said(key: bytes | None, value: bytes) -> None:
    with pytest.raises(StoredRecordError):
        decode(key, value)
