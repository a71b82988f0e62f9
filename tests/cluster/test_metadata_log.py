"""Frames and batches of metadata records: both ways, and what is refused."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.cluster.metadata_log import (
    RECORD_TYPES,
    MetadataLogError,
    decode_record,
    encode_record,
    metadata_batch,
    read_metadata_batch,
    record_version,
)
from ottla.wire.records import BatchBuilder, ControlType, RecordBatch, control_batch, iter_batches
from ottla.wire.stored.metadata_records import (
    BrokerRegistrationChangeRecord,
    FeatureLevelRecord,
    NoOpRecord,
    PartitionChangeRecord,
)
from tests.cluster.metadata_samples import metadata_log
from tests.wire.strategies import messages


def one_batch(data: bytes) -> RecordBatch:
    (batch,) = iter_batches(data)
    return batch


def test_there_are_26_kinds_of_metadata_records() -> None:
    assert len(RECORD_TYPES) == 26


def test_a_frame_is_frame_version_type_and_version_before_the_record() -> None:
    record = FeatureLevelRecord(name="metadata.version", feature_level=30)
    assert encode_record(record).hex() == "010c0011" + b"metadata.version".hex() + "001e00"
    assert decode_record(encode_record(record)) == record


@given(st.sampled_from(sorted(RECORD_TYPES.items())).flatmap(lambda kind: messages(kind[1], kind[1].versions.high)))
def test_every_record_comes_back_as_it_was_unknown_tags_and_all(record: object) -> None:
    frame = bytes([1, record.type_id, record.versions.high]) + record.encode(record.versions.high)  # type: ignore[attr-defined]
    assert decode_record(frame) == record


def test_a_change_of_a_registration_is_written_in_the_lowest_version_that_carries_it() -> None:
    def change(**values: object) -> int:
        return record_version(BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=2, **values))  # type: ignore[arg-type]

    versions = [change(fenced=1), change(in_controlled_shutdown=1), change(log_dirs=[bytes(16)])]
    assert [*versions, change(cordoned_log_dirs=[])] == [0, 1, 2, 3]


def test_an_old_metadata_version_gets_records_that_its_nodes_can_read() -> None:
    change = PartitionChangeRecord(partition_id=1, topic_id=bytes(16), isr=[1])
    assert encode_record(change, 11)[2] == 0
    assert encode_record(change, 30)[2] == 2


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "without a value"),
        (b"", "frame cannot be read"),
        (b"\xff\xff\xff\xff\xff\xff\xff", "frame cannot be read"),
        (b"\x01\x0c", "frame cannot be read"),
        (b"\x02\x0c\x00", "frame version 2"),
        (b"\x01\x63\x00", "type 99"),
        (b"\x01\x0c\x09", "FeatureLevelRecord version 9 cannot be read"),
        (b"\x01\x0c\x00\x05ab", "FeatureLevelRecord version 0 cannot be read"),
        (encode_record(NoOpRecord()) + b"x", "NoOpRecord version 0 with 1 bytes behind it"),
    ],
)
def test_a_frame_that_cannot_be_understood_is_refused_by_name(value: bytes | None, reason: str) -> None:
    with pytest.raises(MetadataLogError, match=reason):
        decode_record(value)


@given(st.one_of(st.binary(max_size=40), st.tuples(st.integers(0, 28), st.integers(0, 4), st.binary(max_size=40))))
def test_no_bytes_raise_anything_else(drawn: bytes | tuple[int, int, bytes]) -> None:
    value = drawn if isinstance(drawn, bytes) else bytes([1, drawn[0], drawn[1]]) + drawn[2]
    with contextlib.suppress(MetadataLogError):
        decode_record(value)


def test_a_batch_holds_its_records_in_order_and_a_control_batch_none() -> None:
    log = metadata_log(seed=1)
    batch = one_batch(metadata_batch(log, base_offset=7, leader_epoch=3, timestamp=11))
    assert (batch.base_offset, batch.last_offset, batch.leader_epoch) == (7, 6 + len(log), 3)
    assert read_metadata_batch(batch) == log
    control = control_batch([(ControlType.LEADER_CHANGE, b"")], timestamp=1)
    assert read_metadata_batch(one_batch(control)) == []


def test_a_batch_whose_records_do_not_fit_is_refused() -> None:
    builder = BatchBuilder(base_offset=4)
    builder.append(None, encode_record(NoOpRecord()), timestamp=1)
    data = bytearray(builder.build())
    data[60] = 9  # the header says nine records
    with pytest.raises(MetadataLogError, match="the batch at offset 4"):
        read_metadata_batch(one_batch(bytes(data)))
