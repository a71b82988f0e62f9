"""What answers to Metadata say, and what is raised about what they do not."""

from __future__ import annotations

import pytest

from ottla.client.addresses import Address
from ottla.client.metadata import ClusterMetadata, TopicPartition
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.primitives import ZERO_UUID
from tests.client.stub_cluster import TOPIC, TOPIC_ID, StubBroker, metadata

ONE, TWO = StubBroker(1), StubBroker(2)


def known(leaders: dict[int, int], **options: object) -> ClusterMetadata:
    return ClusterMetadata().updated(metadata([ONE, TWO], leaders, **options))  # type: ignore[arg-type]


def test_leaders_and_addresses_are_known() -> None:
    described = known({0: 1, 1: 2})
    assert [described.leader(TopicPartition(TOPIC, index)) for index in (0, 1)] == [1, 2]
    assert described.brokers == {1: ONE.address, 2: TWO.address}
    assert described.topic(TOPIC).topic_id == TOPIC_ID
    assert described.controller_id == 1


def test_topics_that_an_answer_does_not_name_are_kept_and_brokers_are_not() -> None:
    described = known({0: 1}).updated(metadata([TWO], {0: 2}, topic="other"))
    assert set(described.topics) == {TOPIC, "other"}
    assert set(described.brokers) == {2}


def test_a_broker_may_be_learned_elsewhere() -> None:
    assert known({}).with_broker(9, Address("nine", 9)).brokers[9] == Address("nine", 9)


def test_a_topic_without_a_name_is_left_out() -> None:
    assert known({0: 1}, topic=None).topics == {}


@pytest.mark.parametrize(
    ("described", "code", "why"),
    [
        (ClusterMetadata(), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "topic topic: it has not been described"),
        (known({0: 1}, error_code=29), ErrorCode.TOPIC_AUTHORIZATION_FAILED, "topic topic: "),
        (known({0: 1}), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "topic-7: there is no such partition"),
        (known({7: -1}), ErrorCode.LEADER_NOT_AVAILABLE, "topic-7: no broker leads it now"),
        (known({7: 3}), ErrorCode.LEADER_NOT_AVAILABLE, "topic-7: no broker leads it now"),
    ],
)
def test_who_has_no_leader_is_named(described: ClusterMetadata, code: ErrorCode, why: str) -> None:
    with pytest.raises(KafkaError, match=why) as raised:
        described.leader(TopicPartition(TOPIC, 7))
    assert raised.value.code == code


def test_partitions_with_a_leader_are_available_or_else_all() -> None:
    assert known({2: 1, 0: 2, 1: -1}).available(TOPIC) == [0, 2]
    assert known({1: -1, 0: -1}).available(TOPIC) == [0, 1]


@pytest.mark.parametrize(
    ("topic_id", "epoch", "leader"),
    [
        (TOPIC_ID, 4, 1),  # old news of the same topic
        (TOPIC_ID, 6, 2),
        (bytes(15) + b"x", 0, 2),  # the topic was made again
        (ZERO_UUID, 4, 2),  # without ids nobody can tell
    ],
)
def test_a_leader_epoch_never_goes_back(topic_id: bytes, epoch: int, leader: int) -> None:
    before = known({0: 1}, epoch=5)
    after = before.updated(metadata([ONE, TWO], {0: 2, 1: 2}, epoch=epoch, topic_id=topic_id))
    assert after.leader(TopicPartition(TOPIC, 0)) == leader
    assert after.leader(TopicPartition(TOPIC, 1)) == 2
