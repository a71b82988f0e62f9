"""What a replay writes."""

from __future__ import annotations

import pytest

from ottla.client.metadata import TopicPartition
from ottla.pipelines import PipelineFailed
from ottla.pipelines.archive_layout import ArchivedFile
from ottla.pipelines.copying import WantedTopic
from ottla.pipelines.replay_plan import chosen, places_of, unwritten, wanted_topics

FILES = [
    ArchivedFile("topic=a/date=2024-05-06", 0, 0, 9, 10),
    ArchivedFile("topic=a/date=2024-05-07", 0, 10, 19, 10),
    ArchivedFile("topic=a/date=2024-05-06", 2, 0, 4, 5),
    ArchivedFile("topic=b", 1, 7, 7, 1),
]


def test_topics_are_chosen_by_name() -> None:
    assert chosen(FILES, []) == FILES
    assert chosen(FILES, ["b"]) == FILES[3:]
    with pytest.raises(PipelineFailed, match=r"the archive holds no topic c; it has a, b$"):
        chosen(FILES, ["c"])
    many = [ArchivedFile(f"topic=t{number}", 0, 0, 0, 1) for number in range(11)]
    with pytest.raises(PipelineFailed, match=r"it has t0, t1, t10, .*t8, \.\.\.$"):
        chosen(many, ["c"])


def test_a_topic_has_as_many_partitions_as_were_archived() -> None:
    assert places_of(FILES) == [TopicPartition("a", 0), TopicPartition("a", 2), TopicPartition("b", 1)]
    assert wanted_topics(FILES, {"a": "a", "b": "c"}, {"retention.ms": "5", "x": "y"}) == [
        WantedTopic("a", 3, {"retention.ms": "5", "x": "y"}),
        WantedTopic("c", 2, {"retention.ms": "5", "x": "y"}),
    ]


def test_old_records_are_not_deleted_as_they_come() -> None:
    assert wanted_topics(FILES[3:], {"b": "b"}, {}) == [WantedTopic("b", 2, {"retention.ms": "-1"})]


def test_files_that_are_written_are_not_read_again() -> None:
    assert unwritten(FILES, {}) == FILES
    after = {TopicPartition("a", 0): 9, TopicPartition("a", 2): 3, TopicPartition("b", 1): 7}
    assert unwritten(FILES, after) == [FILES[1], FILES[2]]
