"""The order of topics, and the names of assignors."""

from __future__ import annotations

from ottla.coordinators.assignors import ASSIGNORS
from ottla.coordinators.assignors.spec import Subscriber, by_topic_id


def test_topics_are_ordered_as_kafka_orders_its_ids() -> None:
    low, high = bytes(16), b"\x7f" + bytes(15)
    negative = b"\x80" + bytes(15)
    tail = bytes(8) + b"\xff" * 8
    assert by_topic_id([high, low, negative, tail]) == [negative, tail, low, high]


def test_a_new_subscriber_has_nothing() -> None:
    assert Subscriber(frozenset()).assigned == {}


def test_the_assignors_go_by_the_names_of_kafka() -> None:
    assert list(ASSIGNORS) == ["uniform", "range"]
