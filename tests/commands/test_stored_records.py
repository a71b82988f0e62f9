"""The records of Kafka's own topics: those that Kafka wrote, and what cannot be read."""

from __future__ import annotations

import struct

import pytest

from ottla.commands.stored_records import Decoded, decode_control, decoder_for
from ottla.wire.errors import KafkaError
from ottla.wire.primitives import uvarint
from ottla.wire.records import ControlType, Record, control_key
from ottla.wire.stored.metadata_records import ConfigRecord, TopicRecord, UserScramCredentialRecord
from ottla.wire.stored.share_state_records import ShareSnapshotKey


def record(key: bytes | None, value: bytes | None) -> Record:
    return Record(0, 0, key, value, ())


def metadata(number: int, version: int, body: bytes, frame_version: int = 1) -> Record:
    return record(None, uvarint(frame_version) + uvarint(number) + uvarint(version) + body)


def decoded(topic: str, of: Record, *, show_secrets: bool = False) -> Decoded:
    decode = decoder_for(topic, show_secrets=show_secrets)
    assert decode is not None
    return decode(of)


def test_records_of_users_are_left_alone() -> None:
    assert decoder_for("orders") is None
    assert decoder_for(None) is None


def test_every_coordinator_has_its_own_types() -> None:
    assert decoded("__consumer_offsets", record(b"\0\2\0\1g", None)) == Decoded("GroupMetadata", {"group": "g"}, None)
    transaction = decoded("__transaction_state", record(b"\0\0\0\1t", None))
    assert transaction == Decoded("TransactionLog", {"transactionalId": "t"}, None)
    key = b"\0\0" + ShareSnapshotKey(group_id="g", topic_id=bytes(16), partition=3).encode(0)
    share = decoded("__share_group_state", record(key, None))
    assert share == Decoded("ShareSnapshot", {"groupId": "g", "topicId": "A" * 22, "partition": 3}, None)


def test_a_metadata_record_is_found_by_its_frame() -> None:
    topic = TopicRecord(name="orders", topic_id=bytes(16))
    found = decoded("__cluster_metadata", metadata(2, 0, topic.encode(0)))
    assert found == Decoded("TopicRecord", None, {"name": "orders", "topicId": "A" * 22})


def test_secrets_are_hidden_unless_they_are_asked_for() -> None:
    scram = UserScramCredentialRecord(
        name="u", mechanism=1, salt=b"salt", stored_key=b"key", server_key=b"key", iterations=4096
    )
    hidden = decoded("__cluster_metadata", metadata(11, 0, scram.encode(0))).value
    assert hidden is not None
    assert (hidden["salt"], hidden["name"]) == ("[hidden]", "u")
    told = decoded("__cluster_metadata", metadata(11, 0, scram.encode(0)), show_secrets=True).value
    assert told is not None
    assert told["salt"] == "c2FsdA=="


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("retention.ms", "5", "5"),
        ("ssl.keystore.password", "x", "[hidden]"),
        ("listener.name.a.sasl.jaas.config", "x", "[hidden]"),
        ("ssl.keystore.password", None, None),
    ],
)
def test_of_configs_only_those_are_hidden_that_may_be_secret(name: str, value: str | None, shown: str | None) -> None:
    config = ConfigRecord(resource_type=2, resource_name="orders", name=name, value=value)
    found = decoded("__cluster_metadata", metadata(4, 0, config.encode(0))).value
    assert found is not None
    assert found["value"] == shown


@pytest.mark.parametrize(
    ("topic", "unreadable", "why"),
    [
        ("__consumer_offsets", record(None, None), "the key is too short"),
        ("__consumer_offsets", record(b"\x7f\xff", None), "has the type 32767"),
        ("__consumer_offsets", record(b"\0\2\0\1g", b"\0"), "the value is too short"),
        ("__consumer_offsets", record(b"\0\2\0\1g", b"\0\x63"), "not 99"),
        ("__consumer_offsets", record(b"\0\2\0\x09g", None), "."),
        ("__cluster_metadata", record(None, None), "too short for a frame"),
        ("__cluster_metadata", metadata(200, 0, b""), "type 200"),
        ("__cluster_metadata", metadata(2, 0, b"", frame_version=7), "frame version 7"),
    ],
)
def test_what_cannot_be_read_is_a_kafka_error_that_says_why(topic: str, unreadable: Record, why: str) -> None:
    with pytest.raises(KafkaError, match=why):
        decoded(topic, unreadable)


def test_control_records_are_read_by_their_type() -> None:
    marker = decode_control(record(control_key(ControlType.ABORT), struct.pack(">hi", 0, 5)))
    assert marker == Decoded("ABORT", None, {"coordinatorEpoch": 5})
    footer = decode_control(record(control_key(ControlType.SNAPSHOT_FOOTER), b"\0\x07\0"))
    assert footer == Decoded("SNAPSHOT_FOOTER", None, {"version": 7})
    assert decode_control(record(struct.pack(">hh", 0, 99), b"")).kind == "unknown control record"
    with pytest.raises(KafkaError, match="too short"):
        decode_control(record(control_key(ControlType.LEADER_CHANGE), None))
