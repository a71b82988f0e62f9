"""Topics: the two tables, and what records do to them."""

from __future__ import annotations

import pytest

from ottla.cluster.image.partitions import Partition
from ottla.cluster.image.topics import Topics, TopicsDelta
from ottla.cluster.metadata_log import MetadataLogError
from ottla.wire.stored.metadata_records import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)

ONE, TWO = b"1" * 16, b"2" * 16
ELIGIBLE = Partition((1, 2), (b"a" * 16, b"b" * 16), (1,), leader=1, elr=(2,))


def partition_record(topic_id: bytes, partition_id: int = 0) -> PartitionRecord:
    return ELIGIBLE.to_record(topic_id, partition_id)


@pytest.fixture
def topics() -> Topics:
    """Topics one and two, a partition each."""
    delta = TopicsDelta(Topics())
    for name, topic_id in (("one", ONE), ("two", TWO)):
        delta.add(TopicRecord(name=name, topic_id=topic_id))
        delta.add_partition(partition_record(topic_id))
    return delta.apply()


def test_a_topic_is_found_by_name_and_by_id(topics: Topics) -> None:
    assert topics.by_name["one"] is topics.by_id[ONE]
    assert topics.partition("one", 0) == topics.partition_by_id(ONE, 0) == ELIGIBLE
    assert topics.partition("one", 1) is None
    assert topics.partition("three", 0) is None
    assert topics.partition_by_id(b"3" * 16, 0) is None
    assert [(topic.name, id) for topic, id, _ in topics.all_partitions()] == [("one", 0), ("two", 0)]


def test_nothing_changed_is_the_same_object(topics: Topics) -> None:
    assert TopicsDelta(topics).apply() is topics


def test_a_change_leaves_the_image_before_it_alone_and_shares_the_rest(topics: Topics) -> None:
    delta = TopicsDelta(topics)
    delta.change_partition(PartitionChangeRecord(partition_id=0, topic_id=ONE, isr=[2]))
    delta.change_partition(PartitionChangeRecord(partition_id=0, topic_id=ONE, isr=[1, 2]))
    after = delta.apply()
    assert topics.partition("one", 0) == ELIGIBLE
    assert after.by_name["one"].partitions[0].isr == (1, 2)
    assert after.by_name["two"] is topics.by_name["two"]
    assert delta.touched == {ONE: [0, 0]}


def test_a_removed_topic_is_in_neither_table_and_its_name_is_free(topics: Topics) -> None:
    delta = TopicsDelta(topics)
    assert delta.remove(RemoveTopicRecord(topic_id=ONE)) == "one"
    delta.add(TopicRecord(name="one", topic_id=b"3" * 16))
    after = delta.apply()
    assert after.by_name["one"].id == b"3" * 16
    assert ONE not in after.by_id
    assert delta.removed == {ONE: topics.by_id[ONE]}


def test_a_topic_that_came_and_went_in_one_delta_leaves_no_trace(topics: Topics) -> None:
    delta = TopicsDelta(topics)
    delta.add(TopicRecord(name="three", topic_id=b"3" * 16))
    delta.add_partition(partition_record(b"3" * 16))
    delta.remove(RemoveTopicRecord(topic_id=b"3" * 16))
    assert delta.apply() is topics


def test_a_changed_topic_can_be_removed(topics: Topics) -> None:
    delta = TopicsDelta(topics)
    delta.add_partition(partition_record(ONE, 1))
    delta.remove(RemoveTopicRecord(topic_id=ONE))
    assert list(delta.apply().by_name) == ["two"]


def test_clearing_elrs_reaches_one_topic_or_all_also_new_ones(topics: Topics) -> None:
    delta = TopicsDelta(topics)
    delta.clear_elr(ClearElrRecord(topic_name="one"))
    after = delta.apply()
    assert (after.by_name["one"].partitions[0].elr, after.by_name["two"].partitions[0].elr) == ((), (2,))

    delta = TopicsDelta(after)
    delta.add(TopicRecord(name="three", topic_id=b"3" * 16))
    delta.add_partition(partition_record(b"3" * 16))
    delta.clear_elr(ClearElrRecord(topic_name=""))
    last = delta.apply()
    assert [topic.partitions[0].elr for topic in last.by_name.values()] == [(), (), ()]
    assert last.by_name["one"] is after.by_name["one"], "there was nothing to clear"


def test_clearing_elrs_passes_over_removed_topics_and_finds_changed_ones(topics: Topics) -> None:
    delta = TopicsDelta(topics)
    delta.remove(RemoveTopicRecord(topic_id=TWO))
    delta.add(TopicRecord(name="new", topic_id=b"3" * 16))
    delta.add_partition(partition_record(b"3" * 16))
    delta.clear_elr(ClearElrRecord(topic_name="new"))
    delta.add_partition(partition_record(ONE, 1))
    delta.clear_elr(ClearElrRecord(topic_name="one"))
    after = delta.apply()
    assert [p.elr for _, _, p in after.all_partitions()] == [(), (), ()]


@pytest.mark.parametrize(
    "replay",
    [
        lambda delta: delta.add(TopicRecord(name="one", topic_id=b"3" * 16)),
        lambda delta: delta.add(TopicRecord(name="three", topic_id=ONE)),
        lambda delta: delta.add_partition(partition_record(b"3" * 16)),
        lambda delta: delta.change_partition(PartitionChangeRecord(partition_id=0, topic_id=b"3" * 16)),
        lambda delta: delta.change_partition(PartitionChangeRecord(partition_id=5, topic_id=ONE)),
        lambda delta: delta.remove(RemoveTopicRecord(topic_id=b"3" * 16)),
        lambda delta: delta.clear_elr(ClearElrRecord(topic_name="three")),
        lambda delta: (delta.remove(RemoveTopicRecord(topic_id=ONE)), delta.remove(RemoveTopicRecord(topic_id=ONE))),
    ],
)
def test_a_record_that_does_not_fit_is_refused(topics: Topics, replay: object) -> None:
    with pytest.raises(MetadataLogError):
        replay(TopicsDelta(topics))  # type: ignore[operator]
