"""Administration, by every client that can: topics made, described, grown, emptied and deleted, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from compat_tests.clients.confluent_face import Confluent, ConfluentAdmin
from compat_tests.clients.conftest import MakeTopic, wait_until_known
from compat_tests.clients.records import AdminFace, Refused, Sent
from compat_tests.clients.waiting import eventually
from compat_tests.kafka_process import CLUSTER_ID, NODE_ID
from compat_tests.side_by_side import Side
from ottla.wire.errors import ErrorCode

NAME_CHARACTERS_MAX = 249


def refusal(call: Callable[[], object]) -> ErrorCode:
    with pytest.raises(Refused) as caught:
        call()
    return caught.value.code


def test_a_topic_is_made_as_asked_listed_and_deleted(
    admin_face: AdminFace, admin: ConfluentAdmin, new_name: Iterator[str]
) -> None:
    topic = next(new_name)
    admin_face.create_topic(topic, 4, {"retention.ms": "1234567", "cleanup.policy": "compact,delete"})
    wait_until_known(admin, topic)
    assert topic in admin_face.topics()
    assert admin_face.replicas(topic) == {number: [NODE_ID] for number in range(4)}
    configs = {"retention.ms": "1234567", "cleanup.policy": "compact,delete"}
    eventually(lambda: admin_face.configs(topic), configs)
    admin_face.delete_topic(topic)
    assert refusal(lambda: admin_face.delete_topic(topic)) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_replicas_go_where_they_are_told(admin_face: AdminFace, admin: ConfluentAdmin, new_name: Iterator[str]) -> None:
    topic = next(new_name)
    admin_face.create_topic(topic, assignments=[[NODE_ID], [NODE_ID], [NODE_ID]])
    wait_until_known(admin, topic)
    assert admin_face.replicas(topic) == {number: [NODE_ID] for number in range(3)}


def test_a_topic_that_is_only_checked_is_not_made(admin_face: AdminFace, new_name: Iterator[str]) -> None:
    topic = next(new_name)
    admin_face.create_topic(topic, is_only_checked=True)
    assert refusal(lambda: admin_face.delete_topic(topic)) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_topics_that_cannot_be_are_refused_by_name(
    admin_face: AdminFace, make_topic: MakeTopic, new_name: Iterator[str]
) -> None:
    there, topic = make_topic(), next(new_name)
    create = admin_face.create_topic
    refusals = {
        "existing": refusal(lambda: create(there)),
        "no partitions": refusal(lambda: create(topic, 0)),
        "too many replicas": refusal(lambda: create(topic, replication_factor=3)),
        "no such broker": refusal(lambda: create(topic, assignments=[[NODE_ID + 7]])),
        "a broker twice": refusal(lambda: create(topic, assignments=[[NODE_ID, NODE_ID]])),
        "unknown key": refusal(lambda: create(topic, configs={"no.such.key": "1"})),
        "wrong value": refusal(lambda: create(topic, configs={"retention.ms": "soon"})),
        "wrong choice": refusal(lambda: create(topic, configs={"compression.type": "rar"})),
        "name with a space": refusal(lambda: create("no spaces")),
        "name not in Latin": refusal(lambda: create("žluťoučký")),
        "name of dots": refusal(lambda: create("..")),
        "no name": refusal(lambda: create("")),
        "name too long": refusal(lambda: create("x" * (NAME_CHARACTERS_MAX + 1))),
        "name that collides": refusal(lambda: create(there.replace(".", "_"))),
    }
    invalid_name = ErrorCode.INVALID_TOPIC_EXCEPTION
    assert refusals == {
        "existing": ErrorCode.TOPIC_ALREADY_EXISTS,
        "no partitions": ErrorCode.INVALID_PARTITIONS,
        "too many replicas": ErrorCode.INVALID_REPLICATION_FACTOR,
        "no such broker": ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        "a broker twice": ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        "unknown key": ErrorCode.INVALID_CONFIG,
        "wrong value": ErrorCode.INVALID_CONFIG,
        "wrong choice": ErrorCode.INVALID_CONFIG,
        "name with a space": invalid_name,
        "name not in Latin": invalid_name,
        "name of dots": invalid_name,
        "no name": invalid_name,
        "name too long": invalid_name,
        "name that collides": invalid_name,
    }


def test_a_topic_grows_and_never_shrinks(
    admin_face: AdminFace, make_topic: MakeTopic, confluent: Confluent, new_name: Iterator[str]
) -> None:
    topic = make_topic(2)
    confluent.produce(topic, [Sent(b"before", partition=1)])
    admin_face.create_partitions(topic, 5)
    confluent.produce(topic, [Sent(b"after", partition=4)])
    found = confluent.read(topic, {1: 0, 4: 0}, 2)
    assert [(record.partition, record.value) for record in found] == [(1, b"before"), (4, b"after")]
    eventually(lambda: sorted(admin_face.replicas(topic)), [0, 1, 2, 3, 4])
    refusals = {
        "fewer": refusal(lambda: admin_face.create_partitions(topic, 3)),
        "as many": refusal(lambda: admin_face.create_partitions(topic, 5)),
        "unknown": refusal(lambda: admin_face.create_partitions(next(new_name), 5)),
    }
    assert refusals == {
        "fewer": ErrorCode.INVALID_PARTITIONS,
        "as many": ErrorCode.INVALID_PARTITIONS,
        "unknown": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }


def test_records_are_deleted_up_to_an_offset(
    admin_face: AdminFace, make_topic: MakeTopic, confluent: Confluent
) -> None:
    topic = make_topic()
    confluent.produce(topic, [Sent(b"%d" % number) for number in range(10)])
    assert admin_face.delete_records(topic, 0, 4) == 4
    assert confluent.earliest(topic, 0) == 4
    assert admin_face.delete_records(topic, 0, 2) == 4  # gone already
    assert refusal(lambda: admin_face.delete_records(topic, 0, 11)) is ErrorCode.OFFSET_OUT_OF_RANGE


def test_the_cluster_is_described(admin_face: AdminFace, broker: Side) -> None:
    assert admin_face.cluster() == (CLUSTER_ID, NODE_ID, [broker.bootstrap])
