"""Kafka Streams counts words on Ottla, at least once: the counts are right, and all is as it is on Apache Kafka.

The application repartitions, keeps its state in a changelog, purges what it has read, rebalances, is killed and comes
back. Who does what when is in word_counts.py.
"""

from __future__ import annotations

import pytest

from compat_tests.java_applications.word_counts import (
    CHANGES,
    PARTS,
    REPARTITIONED,
    Story,
    count_words,
    expected_counts,
)
from compat_tests.side_by_side import KafkaSide, OttlaSide, a_side

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def stories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Story]:
    found = {}
    for kind in (OttlaSide, KafkaSide):
        directory = tmp_path_factory.mktemp(kind.name)
        with a_side(kind, directory / "broker") as side:
            found[kind.name] = count_words(side, directory)
    return found


def test_every_word_was_counted_once_and_in_order(stories: dict[str, Story]) -> None:
    expected = {word: list(range(1, count + 1)) for word, count in expected_counts(PARTS).items()}
    assert stories["ottla"].told == expected
    assert stories["kafka"].told == expected


def test_the_applications_own_topics_are_as_on_kafka(stories: dict[str, Story]) -> None:
    assert stories["ottla"].topics == stories["kafka"].topics
    assert stories["ottla"].topics[CHANGES][1]["cleanup.policy"] == "compact"
    assert stories["ottla"].topics[REPARTITIONED][1]["cleanup.policy"] == "delete"


def test_all_was_committed(stories: dict[str, Story]) -> None:
    assert stories["ottla"].commits == stories["kafka"].commits
    assert stories["ottla"].ends == stories["kafka"].ends
    assert stories["ottla"].commits.items() <= stories["ottla"].ends.items()


def test_what_was_repartitioned_and_counted_is_deleted(stories: dict[str, Story]) -> None:
    assert all(stories["ottla"].purged)
    assert all(stories["kafka"].purged)
