"""Kafka Connect's file source and sink on Ottla: no line is lost or comes twice, and all is as it is on Apache Kafka.

Standalone and distributed; who does what when is in copied_lines.py.
"""

from __future__ import annotations

import pytest

from compat_tests.java_applications.connect_worker import CONFIGS, OFFSETS, STATES, TOPIC
from compat_tests.java_applications.copied_lines import Story, copy_distributed, copy_standalone
from compat_tests.side_by_side import KafkaSide, OttlaSide, a_side

pytestmark = pytest.mark.jvm

COPY = {"standalone": copy_standalone, "distributed": copy_distributed}


@pytest.fixture(scope="module", params=COPY)
def stories(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Story]:
    found = {}
    for kind in (OttlaSide, KafkaSide):
        directory = tmp_path_factory.mktemp(kind.name)
        with a_side(kind, directory / "broker") as side:
            found[kind.name] = COPY[request.param](side, directory)
    return found


def test_every_line_is_copied_once_and_in_order(stories: dict[str, Story]) -> None:
    for story in stories.values():
        assert story.copied == story.given
        assert len(story.given) == story.end_offset


def test_all_was_committed(stories: dict[str, Story]) -> None:
    for story in stories.values():
        assert story.commits == {(TOPIC, 0): story.end_offset}


def test_topics_are_made_as_on_kafka(stories: dict[str, Story]) -> None:
    assert stories["ottla"].topics == stories["kafka"].topics
    made = stories["ottla"].topics
    assert made[TOPIC][0] == 1
    for name in made.keys() & {OFFSETS, CONFIGS, STATES}:
        assert made[name][1]["cleanup.policy"] == "compact"
