"""The quorum-state file: byte for byte what Kafka writes, and nothing half right is believed."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.cluster.quorum_state import ElectionState, QuorumStateError, format_quorum_state, parse_quorum_state
from ottla.cluster.voters import ReplicaKey
from ottla.wire.primitives import uuid_bytes

SAMPLE = Path(__file__).parent.parent / "commands" / "kafka_4_3_1" / "__cluster_metadata-0" / "quorum-state"
DIRECTORY = uuid_bytes("J8aAPcfLQt2bqs1JT_rMgQ")


def test_a_file_of_kafka_is_read_and_written_again_byte_for_byte() -> None:
    text = SAMPLE.read_text()
    state = parse_quorum_state(text)
    assert state == ElectionState(1, 1, None)
    assert format_quorum_state(state, 0, [1]) == text


def test_version_1_has_the_directory_of_the_vote_and_no_voters() -> None:
    state = ElectionState(2, None, ReplicaKey(1, DIRECTORY))
    text = format_quorum_state(state, 1, [1, 2, 3])
    assert text == (
        '{"leaderId":-1,"leaderEpoch":2,"votedId":1,"votedDirectoryId":"J8aAPcfLQt2bqs1JT_rMgQ","data_version":1}'
    )
    assert parse_quorum_state(text) == state


def test_version_1_without_a_vote_has_a_directory_of_zeros() -> None:
    text = format_quorum_state(ElectionState(3, 2), 1, [])
    assert '"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA"' in text
    assert parse_quorum_state(text) == ElectionState(3, 2)


def test_version_0_forgets_the_directory_of_the_vote() -> None:
    text = format_quorum_state(ElectionState(3, None, ReplicaKey(2, DIRECTORY)), 0, [1, 2])
    assert parse_quorum_state(text) == ElectionState(3, None, ReplicaKey(2))


GOOD = '{"leaderId":-1,"leaderEpoch":2,"votedId":1,"votedDirectoryId":"J8aAPcfLQt2bqs1JT_rMgQ","data_version":1}'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "[" * 100_000,
        "{}",
        GOOD.replace('"data_version":1', '"data_version":2'),
        GOOD.replace('"data_version":1', '"data_version":true'),
        GOOD.replace('"leaderEpoch":2,', ""),
        GOOD.replace('"leaderEpoch":2', '"leaderEpoch":-1'),
        GOOD.replace('"leaderEpoch":2', '"leaderEpoch":"2"'),
        GOOD.replace('"votedId":1', '"votedId":-7'),
        GOOD.replace("J8aAPcfLQt2bqs1JT_rMgQ", "short"),
    ],
)
def test_a_file_that_cannot_be_trusted_keeps_the_node_from_starting(text: str) -> None:
    with pytest.raises(QuorumStateError, match="quorum-state"):
        parse_quorum_state(text)
