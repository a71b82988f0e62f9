"""What consumers say to each other: there and back, and what cannot be read."""

from __future__ import annotations

import struct

import pytest

from ottla.coordinators.embedded import assignment_bytes, assignment_of, subscription_of, version_of
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.stored.consumer_protocol import ConsumerProtocolSubscription


@pytest.mark.parametrize("version", range(4))
def test_assignments_go_there_and_back(version: int) -> None:
    data = assignment_bytes({"b": [2, 1], "a": {0}}, version)
    assert version_of(data) == version
    entries = assignment_of(data).assigned_partitions
    assert [(entry.topic, entry.partitions) for entry in entries] == [("a", [0]), ("b", [1, 2])]


def test_a_later_version_reads_as_the_last_one() -> None:
    message = ConsumerProtocolSubscription(topics=["a"], rack_id="r")
    data = struct.pack(">h", 9) + message.encode(3) + b"what is new"
    assert version_of(data) == 3
    assert subscription_of(data) == message


@pytest.mark.parametrize("data", [b"", b"\0", b"\xff\xff", b"\0\0", b"\0\1\0\0\0\5"])
def test_what_cannot_be_read_is_refused(data: bytes) -> None:
    with pytest.raises(KafkaError) as caught:
        subscription_of(data)
    assert caught.value.code is ErrorCode.INVALID_REQUEST
