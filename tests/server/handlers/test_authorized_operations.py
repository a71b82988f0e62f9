"""The bits of KIP-430, as Kafka tells them where there is no authorizer."""

from __future__ import annotations

from ottla.server.handlers.authorized_operations import CLUSTER_OPERATIONS, TOPIC_OPERATIONS, Operation, bits


def test_every_operation_has_its_bit() -> None:
    assert bits(Operation.READ, Operation.DESCRIBE) == 0b1_0000_1000
    assert bits() == 0


def test_topics_and_the_cluster_have_the_operations_that_kafka_gives_them() -> None:
    assert TOPIC_OPERATIONS == 3576
    assert CLUSTER_OPERATIONS == 8096
