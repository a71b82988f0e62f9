"""Messages as JSON, in the form Kafka's own converters write."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.wire import KafkaError
from ottla.wire.json_form import from_json, to_json
from ottla.wire.primitives import uuid_text
from ottla.wire.stored.quorum_state import QuorumStateData
from tests.wire import strategies
from tests.wire.parcel import Parcel, full_parcel


def test_the_quorum_state_file_is_written_as_kafka_writes_it() -> None:
    state = QuorumStateData(leader_id=1, leader_epoch=7, voted_directory_id=bytes([0xFB]) * 16)
    assert to_json(state, 1) == {
        "leaderId": 1,
        "leaderEpoch": 7,
        "votedId": -1,
        "votedDirectoryId": "-_v7-_v7-_v7-_v7-_v7-w",
    }


def test_every_form_has_its_json() -> None:
    shown = to_json(full_parcel(), 3)
    assert shown["items"] == [{"name": "book", "size": 7}, {"name": "hat", "size": 3}]
    assert shown["picture"] == "iVBORw=="
    assert shown["records"] == "YmF0Y2g="
    assert shown["note"] is None
    assert shown["depots"] == [uuid_text(bytes([n]) * 16) for n in (1, 2)]
    assert shown["otherStamp"] is None
    assert shown["PIN"] == "1234"
    assert json.loads(json.dumps(shown)) == shown


def test_a_tagged_field_at_its_default_is_left_out() -> None:
    shown = to_json(Parcel(sender=""), 3)
    assert not {"tracked", "tagStamp", "maybeStamp", "otherStamp", "extraItems"} & set(shown)
    assert shown["spareStamp"] is None  # not tagged, so it stands


def test_only_the_fields_of_the_version_are_shown() -> None:
    assert "stamp" not in to_json(full_parcel(), 0)


def test_what_was_written_is_read_again() -> None:
    assert from_json(Parcel, to_json(full_parcel(), 3), 3) == full_parcel()
    assert from_json(Parcel, to_json(Parcel(sender="x"), 0), 0) == Parcel(sender="x")


@given(st.data(), st.integers(0, 3))
def test_any_message_comes_back_from_its_json(data: st.DataObject, version: int) -> None:
    parcel = data.draw(strategies.messages(Parcel, version))
    shown = json.loads(json.dumps(to_json(parcel, version)))
    assert from_json(Parcel, shown, version).encode(version) == without_unknown_tags(parcel).encode(version)


def without_unknown_tags(parcel: Parcel) -> Parcel:
    """JSON has no place for tags that nobody can name."""
    structs = [parcel, *parcel.items, *parcel.extra_items, parcel.stamp, parcel.tag_stamp]
    structs += [stamp for stamp in (parcel.spare_stamp, parcel.maybe_stamp, parcel.other_stamp) if stamp is not None]
    for struct in structs:
        struct.unknown_tags = ()
    return parcel


def test_records_come_back_as_a_view() -> None:
    assert isinstance(from_json(Parcel, to_json(full_parcel(), 3), 3).records, memoryview)


def test_a_missing_field_is_named() -> None:
    with pytest.raises(KeyError, match="QuorumStateData needs 'leaderId' in version 1"):
        from_json(QuorumStateData, {}, 1)


def test_a_version_there_is_not_is_refused() -> None:
    with pytest.raises(KafkaError, match="versions 0-3"):
        to_json(full_parcel(), 4)
    with pytest.raises(KafkaError, match="versions 0-3"):
        from_json(Parcel, {}, 4)
