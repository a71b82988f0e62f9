"""Declarations: version ranges, fields, and what a message class can do before any byte is seen."""

from __future__ import annotations

import pytest

from ottla.wire import ErrorCode, KafkaError
from ottla.wire.messages.configs import IncrementalAlterConfigsRequest
from ottla.wire.messages.fetch import FetchRequest
from ottla.wire.messages.sasl import SaslAuthenticateRequest
from ottla.wire.messages.scram import AlterUserScramCredentialsRequest
from ottla.wire.schema import ALL_VERSIONS, BLANK, NO_VERSIONS, REQUIRED, Versions, camel_case
from tests.wire.parcel import Empty, Note, Parcel, full_parcel


@pytest.mark.parametrize("text", ["none", "3", "0-4", "3+"])
def test_a_version_range_is_written_as_kafka_writes_it(text: str) -> None:
    assert str(Versions.parse(text)) == text


def test_a_range_holds_its_ends_and_nothing_beyond() -> None:
    versions = Versions.parse("2-4")
    assert [v for v in range(7) if v in versions] == [2, 3, 4]
    assert not versions.__contains__("3")
    assert 0 not in NO_VERSIONS


def test_ranges_intersect() -> None:
    assert Versions(0, 4) & Versions(3, 9) == Versions(3, 4)
    assert Versions(0, 2) & Versions(3, 9) == NO_VERSIONS
    assert ALL_VERSIONS & Versions(3, 9) == Versions(3, 9)


def test_a_name_becomes_camel_case() -> None:
    assert camel_case("group_instance_id") == "groupInstanceId"
    assert camel_case("topics") == "topics"


def test_fields_keep_the_order_and_the_facts_of_the_class_body() -> None:
    fields = {f.name: f for f in Parcel.fields}
    assert list(fields)[:3] == ["sender", "zone", "weight"]
    assert fields["sender"].default is REQUIRED
    assert fields["zone"].default == 0
    assert fields["stamp"].default is BLANK
    assert fields["deadline_ms"].tag == 4
    assert fields["deadline_ms"].tagged == Versions.parse("3+")
    assert fields["hint"].ignorable
    assert fields["insured"].json_name == "insured"
    assert fields["deadline_ms"].json_name == "deadlineMs"
    assert fields["pin"].json_name == "PIN"


def test_only_an_annotation_with_none_is_nullable() -> None:
    nullable = {f.name: f.nullable for f in Parcel.fields}
    assert nullable["sender"] == NO_VERSIONS
    assert nullable["receipt"] == ALL_VERSIONS
    assert nullable["note"] == Versions.parse("1+")


def test_marks_print_as_their_names() -> None:
    assert repr(BLANK) == "BLANK"
    assert repr(REQUIRED) == "REQUIRED"


def test_messages_are_equal_by_type_fields_and_unknown_tags() -> None:
    assert full_parcel() == full_parcel()
    assert full_parcel() != full_parcel(zone=1)
    assert Note(text="x") != Parcel.Item(name="x")
    assert Note(text="x") != "x"
    tagged = Note(text="x")
    tagged.unknown_tags = ((9, b""),)
    assert tagged != Note(text="x")


def test_a_message_can_be_changed_and_so_has_no_hash() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(Note(text="x"))


def test_a_misspelt_attribute_is_refused() -> None:
    with pytest.raises(AttributeError):
        Note(text="x").txet = "y"  # type: ignore[attr-defined]


def test_repr_shows_fields_and_unknown_tags() -> None:
    note = Note(text="hi")
    assert repr(note) == "Note(text='hi')"
    note.unknown_tags = ((9, b"z"),)
    assert repr(note) == "Note(text='hi', unknown_tags=((9, b'z'),))"
    assert "items=[Parcel.Item(name='book', size=7)" in repr(full_parcel())


def test_repr_hides_secrets() -> None:
    """Secrets in logs are failure class 15: debug output once printed SaslAuthenticate and SCRAM credentials."""
    assert "pin=[hidden]" in repr(full_parcel())
    assert repr(SaslAuthenticateRequest(auth_bytes=b"hunter2")) == "SaslAuthenticateRequest(auth_bytes=[hidden])"

    change = IncrementalAlterConfigsRequest.AlterableConfig(name="ssl.key", config_operation=0, value="hunter2")
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(resource_type=4, resource_name="1", configs=[change])
    assert "hunter2" not in repr(IncrementalAlterConfigsRequest(resources=[resource], validate_only=False))

    upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
        name="alice", mechanism=1, iterations=4096, salt=b"hunter2", salted_password=b"hunter2"
    )
    assert "hunter2" not in repr(AlterUserScramCredentialsRequest(deletions=[], upsertions=[upsertion]))


@pytest.mark.parametrize("version", [-1, 4, 99])
def test_a_version_that_a_message_does_not_have_is_refused_both_ways(version: int) -> None:
    with pytest.raises(KafkaError, match="Parcel has versions 0-3") as refused:
        Parcel.decode(b"", version)
    assert refused.value.code is ErrorCode.UNSUPPORTED_VERSION
    with pytest.raises(KafkaError, match="Parcel has versions 0-3"):
        full_parcel().encode(version)


def test_a_codec_is_compiled_once_at_its_first_use() -> None:
    Note.encoders.clear()
    Note.decoders.clear()
    encoded = Note(text="x").encode(1)
    assert list(Note.encoders) == [1]
    assert not Note.decoders
    Note.decode(encoded, 1)
    decoder = Note.decoders[1]
    Note.decode(encoded, 1)
    assert Note.decoders[1] is decoder


def test_what_comes_after_a_message_is_left_alone() -> None:
    assert Note.read(b"\x00\x01xrest", 0) == (Note(text="x"), 3)
    assert Note.decode(b"\x00\x01xrest", 0) == Note(text="x")


def test_a_message_without_fields_takes_no_bytes() -> None:
    assert Empty().encode(0) == b""
    assert Empty.read(b"", 0) == (Empty(), 0)


def test_a_request_knows_its_key_and_where_it_is_served() -> None:
    assert FetchRequest.api_key == 1
    assert FetchRequest.served_on == ("broker", "controller")
    assert FetchRequest.unstable is False
