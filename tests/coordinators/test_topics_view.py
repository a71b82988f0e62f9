"""A table of topics answers by name and by id."""

from __future__ import annotations

from ottla.coordinators.topics_view import FixedTopics, TopicInfo


def test_topics_are_found_by_name_and_by_id() -> None:
    orders = TopicInfo("orders", b"o" * 16, 3)
    topics = FixedTopics([orders])
    assert topics.by_name("orders") == topics.by_id(b"o" * 16) == orders
    assert topics.by_name("bills") is None
    assert topics.by_id(b"b" * 16) is None
    assert list(topics.names()) == ["orders"]
    assert list(FixedTopics().names()) == []
