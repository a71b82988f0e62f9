"""Decoders: what they accept, what they refuse, and that they never look beyond the message.

Limits against hostile input are in test_hostile_input.py.
"""

from __future__ import annotations

import pytest

from ottla.wire import ErrorCode, KafkaError
from ottla.wire.decoder import decoder_source
from ottla.wire.messages.produce import ProduceRequest
from tests.wire.parcel import Note, Parcel, full_parcel


def refused(data: bytes, version: int, match: str) -> None:
    with pytest.raises(KafkaError, match=match) as caught:
        Note.decode(data, version)
    assert caught.value.code is ErrorCode.INVALID_REQUEST


def test_fields_that_the_version_lacks_get_their_defaults() -> None:
    decoded = Parcel.decode(Parcel(sender="x").encode(0), 0)
    assert decoded == Parcel(sender="x")
    assert decoded.tag_stamp == Parcel.Stamp()
    assert decoded.depots == []


def test_defaults_of_two_decoded_messages_are_not_shared() -> None:
    data = Parcel(sender="x").encode(0)
    one, other = Parcel.decode(data, 0), Parcel.decode(data, 0)
    one.depots.append(bytes(16))
    one.stamp.cents = 99
    assert other == Parcel(sender="x")


def test_null_is_refused_where_it_may_not_stand() -> None:
    refused(b"\xff\xff", 0, "text is null")
    refused(b"\x00\x00", 1, "text is null")
    at = Parcel(sender="").encode(0).index(b"\xff\xff\xff\xff")  # receipt; before it an empty picture, then items
    for nothing in (b"\xff\xff\xff\xff", b"\x80\x00\x00\x00"):
        data = bytearray(Parcel(sender="").encode(0))
        data[at + 4 : at + 8] = nothing
        with pytest.raises(KafkaError, match="items is null"):
            Parcel.decode(data, 0)


def test_a_string_may_not_be_longer_than_what_is_left() -> None:
    refused(b"\x00\x03ab", 0, "text is 3 bytes long, 2 are left")
    refused(b"\x04ab", 1, "text is 3 bytes long, 2 are left")


def test_a_string_of_more_than_32767_bytes_is_refused() -> None:
    longest = b"\x80\x80\x02" + b"x" * 32767 + b"\x00"
    assert len(Note.decode(longest, 1).text) == 32767
    refused(b"\x81\x80\x02" + b"x" * 32768 + b"\x00", 1, "text is 32768 bytes long")


def test_what_is_not_utf8_becomes_the_replacement_character() -> None:
    assert Note.decode(b"\x00\x04a\xff\xc3b", 0).text == "a\ufffd\ufffdb"
    assert Note.decode(b"\x03\xed\xa0\x00", 1).text == "\ufffd\ufffd"  # half a surrogate pair is no UTF-8


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x00\x05", b"\x05abc"])
@pytest.mark.parametrize("version", [0, 1])
def test_bytes_that_end_too_early_are_refused(data: bytes, version: int) -> None:
    with pytest.raises(KafkaError):
        Note.decode(data, version)


def test_an_early_end_names_message_and_version() -> None:
    refused(b"\x02x", 1, "Note v1 ends too early")


def test_an_unending_varint_is_refused() -> None:
    refused(b"\x80" * 10, 1, "a varint is longer than five bytes")


def test_no_byte_beyond_the_end_is_believed() -> None:
    """The frame that follows in the buffer is somebody else's: read on, and it must still be an early end."""
    whole = full_parcel().encode(3)
    buffer = b"before" + whole + whole
    assert Parcel.read(buffer, 3, 6, 6 + len(whole)) == (full_parcel(), 6 + len(whole))
    for end in range(6, 6 + len(whole)):
        with pytest.raises(KafkaError):
            Parcel.decode(buffer, 3, 6, end)


def test_unknown_tags_are_kept() -> None:
    assert Note.decode(b"\x02x\x02\x00\x01a\x07\x05seven", 1).unknown_tags == ((0, b"a"), (7, b"seven"))
    parcel = full_parcel()
    parcel.unknown_tags = ((2, b"two"), (99, b""))
    assert Parcel.decode(parcel.encode(3), 3) == parcel


@pytest.mark.parametrize("tags", [b"\x02\x07\x00\x07\x00", b"\x02\x07\x00\x06\x00"])
def test_tags_must_rise(tags: bytes) -> None:
    refused(b"\x02x" + tags, 1, "tagged field")
    with pytest.raises(KafkaError, match="tagged field"):
        Parcel.decode(Parcel(sender="").encode(3)[:-1] + b"\x02\x63\x00\x63\x00", 3)


def test_a_tag_may_not_be_longer_than_what_is_left() -> None:
    refused(b"\x02x\x01\x07\x02z", 1, "tagged field 7")
    with pytest.raises(KafkaError, match="tagged field 99"):
        Parcel.decode(Parcel(sender="").encode(3)[:-1] + b"\x01\x63\x02z", 3)


@pytest.mark.parametrize("body", [b"\x00\x02\x01\x00", b"\x04\x07" + bytes(8)])
def test_a_known_tag_must_be_as_long_as_it_says(body: bytes) -> None:
    with pytest.raises(KafkaError, match="bytes long"):
        Parcel.decode(Parcel(sender="").encode(3)[:-1] + b"\x01" + body, 3)


def test_a_struct_in_a_tag_may_be_null_or_not() -> None:
    for stamp in (None, Parcel.Stamp(cents=9)):
        parcel = Parcel(sender="", maybe_stamp=stamp, other_stamp=stamp)
        assert Parcel.decode(parcel.encode(3), 3) == parcel


def test_a_count_of_tags_may_take_more_bytes_than_it_needs() -> None:
    assert Note.decode(b"\x02x\x81\x00\x07\x01z", 1).unknown_tags == ((7, b"z"),)
    tracked = Parcel(sender="").encode(3)[:-1] + b"\x81\x00\x00\x01\x01"
    assert Parcel.decode(tracked, 3).tracked


@pytest.mark.parametrize("version", [3, 9])
def test_records_are_a_view_into_the_buffer_they_came_in(version: int) -> None:
    partition = ProduceRequest.PartitionProduceData(index=0, records=b"batch" * 100)
    topic = ProduceRequest.TopicProduceData(name="t", partition_data=[partition])
    buffer = bytearray(b"xx" + ProduceRequest(acks=1, timeout_ms=1, topic_data=[topic]).encode(version))
    for data in (buffer, bytes(buffer)):
        records = ProduceRequest.decode(data, version, 2).topic_data[0].partition_data[0].records
        assert isinstance(records, memoryview)
        assert records.obj is data
        assert records == b"batch" * 100
    records = ProduceRequest.decode(buffer, version, 2).topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    records[0:1] = b"B"  # offsets are assigned in place
    assert b"Batch" in buffer


def test_everything_else_is_copied_out_of_the_buffer() -> None:
    buffer = bytearray(full_parcel(records=None).encode(3))
    decoded = Parcel.decode(buffer, 3)
    buffer[:] = bytes(len(buffer))
    assert decoded == full_parcel(records=None)
    assert type(decoded.picture) is bytes


def test_the_source_reads_adjacent_fixed_fields_in_one_call() -> None:
    assert "unpack_bdHIo" in decoder_source(Parcel, 0)
