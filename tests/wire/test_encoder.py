"""Encoders: the bytes of each form, and that a value its version cannot carry is refused."""

from __future__ import annotations

import math
import struct
from typing import Any

import pytest

from ottla.wire.encoder import TEXT_BYTES_MAX, EncodeError, encoder_source
from ottla.wire.messages.client_quotas import AlterClientQuotasRequest
from ottla.wire.messages.fetch import FetchRequest
from ottla.wire.messages.produce import ProduceRequest
from tests.wire.parcel import Note, Parcel, full_parcel


def test_a_string_has_two_bytes_of_length_or_a_varint_counted_from_one() -> None:
    assert Note(text="hi").encode(0) == b"\x00\x02hi"
    assert Note(text="hi").encode(1) == b"\x03hi\x00"
    assert Note(text="x" * 127).encode(1)[:2] == b"\x80\x01"
    assert Note(text="x" * 300).encode(1)[:2] == b"\xad\x02"


def test_all_forms_of_the_oldest_version() -> None:
    parcel = Parcel(sender="a", zone=-1, weight=1.0, house=2, code=3, sealed=True, note="n", picture=b"p")
    parcel.items = [Parcel.Item(name="i")]
    parcel.route = [1, 2]
    expected = [
        b"\x00\x01a",
        struct.pack(">bdHI?", -1, 1.0, 2, 3, True),
        b"\x00\x01n",
        b"\x00\x00\x00\x01p",
        b"\xff\xff\xff\xff",  # receipt: null
        b"\x00\x00\x00\x01\x00\x01i\x00\x00\x00\x07",
        struct.pack(">iii", 2, 1, 2),
        b"\xff\xff\xff\xff",  # aliases: null
        b"\x00\x00\x00\x00",  # pages
        b"\xff\xff\xff\xff",  # records: null
    ]
    assert parcel.encode(0) == b"".join(expected)


def test_a_null_struct_is_a_byte_of_minus_one_and_in_a_tag_of_zero() -> None:
    without = Parcel(sender="").encode(3)
    spare = Parcel(sender="", spare_stamp=Parcel.Stamp()).encode(3)
    assert len(spare) == len(without) + 2 + 16 + 1
    blank = Parcel(sender="", other_stamp=None).encode(3)
    assert blank.endswith(b"\x01\x08\x01\x00")  # one tag, number 8, one byte: null


def test_tagged_fields_at_their_default_are_left_out() -> None:
    assert Parcel(sender="").encode(3).endswith(b"\x00")
    assert (
        Parcel(sender="", tracked=True, deadline_ms=1)
        .encode(3)
        .endswith(b"\x02" + b"\x00\x01\x01" + b"\x04\x08" + struct.pack(">q", 1))
    )


def test_every_version_3_field_comes_back() -> None:
    parcel = full_parcel()
    assert Parcel.decode(parcel.encode(3), 3) == parcel


def test_unknown_tags_are_sorted_in_among_the_known() -> None:
    parcel = Parcel(sender="", colour="red")
    parcel.unknown_tags = ((300, b"new"), (0, b"odd"))
    encoded = parcel.encode(3)
    assert encoded.endswith(b"\x03" + b"\x00\x03odd" + b"\x01\x04\x04red" + b"\xac\x02\x03new")


def test_unknown_tags_are_kept_by_a_struct_that_knows_none() -> None:
    note = Note(text="x")
    note.unknown_tags = ((7, b"seven"),)
    assert note.encode(1) == b"\x02x\x01\x07\x05seven"
    assert Note.decode(note.encode(1), 1) == note


def test_unknown_tags_do_not_fit_a_version_without_tags() -> None:
    note = Note(text="x")
    note.unknown_tags = ((7, b"seven"),)
    with pytest.raises(EncodeError, match=r"Note.unknown_tags is set, version 0 has no such field"):
        note.encode(0)


def test_a_field_that_the_version_lacks_is_refused_and_named() -> None:
    """Dropping it would change what the message means; where it would not, the field says `ignorable`."""
    with pytest.raises(EncodeError, match=r"^Parcel.insured is set, version 0 has no such field$"):
        Parcel(sender="", insured=True).encode(0)
    assert Parcel(sender="", hint="ring").encode(0) == Parcel(sender="").encode(0)


@pytest.mark.parametrize(
    "changed",
    [
        {"stamp": Parcel.Stamp(cents=6)},
        {"spare_stamp": Parcel.Stamp()},
        {"tag_stamp": Parcel.Stamp(cents=6)},
        {"other_stamp": None},
        {"extra_items": [Parcel.Item(name="x")]},
        {"deadline_ms": 0},
        {"tracked": True},
        {"colour": "red"},
    ],
)
def test_whatever_differs_from_its_default_is_refused_where_it_is_absent(changed: dict[str, Any]) -> None:
    with pytest.raises(EncodeError, match=f"Parcel.{next(iter(changed))} is set"):
        Parcel(sender="", **changed).encode(0)


def test_a_struct_with_unknown_tags_differs_from_its_default() -> None:
    parcel = Parcel(sender="")
    parcel.tag_stamp.unknown_tags = ((9, b"x"),)
    assert Parcel.decode(parcel.encode(3), 3).tag_stamp.unknown_tags == ((9, b"x"),)


def test_a_refusal_names_the_nested_struct() -> None:
    partition = FetchRequest.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1, last_fetched_epoch=3)
    topic = FetchRequest.FetchTopic(topic="t", partitions=[partition])
    with pytest.raises(EncodeError, match=r"FetchPartition.last_fetched_epoch is set, version 4"):
        FetchRequest(max_wait_ms=0, min_bytes=0, topics=[topic]).encode(4)


@pytest.mark.parametrize("version", [0, 1])
def test_a_string_may_be_32767_bytes_long_and_no_longer(version: int) -> None:
    longest = Note(text="x" * TEXT_BYTES_MAX)
    assert Note.decode(longest.encode(version), version) == longest
    with pytest.raises(EncodeError):
        Note(text="x" * (TEXT_BYTES_MAX + 1)).encode(version)
    with pytest.raises(EncodeError):
        Note(text="\N{SNOWMAN}" * 11_000).encode(version)


@pytest.mark.parametrize(
    ("changed", "version"),
    [
        ({"sender": None}, 0),
        ({"sender": None}, 2),
        ({"note": None}, 0),
        ({"picture": None}, 2),
        ({"items": None}, 0),
        ({"route": None}, 2),
        ({"depots": None}, 2),
        ({"stamp": None}, 1),
        ({"zone": None}, 0),
        ({"aliases": [None]}, 0),
        ({"items": [None]}, 2),
        ({"colour": None}, 3),
        ({"extra_items": None}, 3),
        ({"tag_stamp": None}, 3),
    ],
    ids=str,
)
def test_null_is_refused_where_it_may_not_stand(changed: dict[str, Any], version: int) -> None:
    parcel = Parcel(**({"sender": ""} | changed))
    with pytest.raises(EncodeError):
        parcel.encode(version)


@pytest.mark.parametrize(
    "changed",
    [
        {"zone": 128},
        {"house": -1},
        {"code": 2**32},
        {"sender": b"bytes"},
        {"sender": "\ud800"},
        {"weight": 10**400},
        {"picture": "text"},
        {"route": [2**31]},
        {"route": ["1"]},
        {"items": 5},
        {"items": ["name"]},
        {"pages": ["text"]},
        {"depots": [bytes(15)]},
        {"stamp": Parcel.Stamp(serial=bytes(15))},
        {"stamp": Parcel.Stamp(serial=bytes(17))},
    ],
    ids=str,
)
def test_a_value_that_does_not_fit_its_field_is_refused(changed: dict[str, Any]) -> None:
    parcel = Parcel(**({"sender": ""} | changed))
    with pytest.raises(EncodeError):
        parcel.encode(2)


def test_not_a_number_is_carried() -> None:
    op = AlterClientQuotasRequest.OpData(key="k", value=math.nan, remove=False)
    entry = AlterClientQuotasRequest.EntryData(entity=[], ops=[op])
    message = AlterClientQuotasRequest(entries=[entry], validate_only=True)
    decoded = AlterClientQuotasRequest.decode(message.encode(1), 1)
    assert math.isnan(decoded.entries[0].ops[0].value)


def produce(*records: Any) -> ProduceRequest:
    partitions = [ProduceRequest.PartitionProduceData(index=i, records=r) for i, r in enumerate(records)]
    topic = ProduceRequest.TopicProduceData(name="t", partition_data=partitions)
    return ProduceRequest(acks=-1, timeout_ms=1, topic_data=[topic])


@pytest.mark.parametrize("version", [8, 9])
def test_records_stand_uncopied_in_the_pieces(version: int) -> None:
    first, second = memoryview(bytearray(b"first")), b"second"
    pieces = produce(first, None, second).pieces(version)
    assert [piece for piece in pieces if piece is first or piece is second] == [first, second]
    assert len(pieces) == 5
    assert b"".join(pieces) == produce(first, None, second).encode(version)


class FileRange:
    """As much as the encoder may know of bytes that are still on disk."""

    def __len__(self) -> int:
        return 5


def test_records_may_be_anything_with_a_length() -> None:
    stored = FileRange()
    pieces = produce(stored).pieces(9)
    assert pieces[1] is stored
    assert pieces[0].endswith(b"\x06")


def test_a_message_without_records_is_one_piece() -> None:
    assert len(Note(text="x").pieces(1)) == 1


def test_the_source_packs_adjacent_fixed_fields_in_one_call() -> None:
    source = encoder_source(Parcel, 0)
    assert "(message.zone, message.weight, message.house, message.code, message.sealed, " in source
