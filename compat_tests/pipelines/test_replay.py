"""`ottla pipeline replay` on a real Spark: an archive becomes the topics that it was made of."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from compat_tests.pipelines.copies import copies, originals, settings
from compat_tests.pipelines.filled_topics import create, fill
from compat_tests.side_by_side import Side
from tests.commands.command_line import CommandLine, Told

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.jvm

NUMBERS = itertools.count(1)


class Story:
    """A topic of Ottla, archived, and a cluster to write it to."""

    def __init__(self, source: str, target: str, directory: Path) -> None:
        self.source, self.target = source, target
        self.topic = f"replayed.{next(NUMBERS)}"
        self.copy = f"{self.topic}.again"
        self.path = str(directory / "archive")
        self.ottla = CommandLine(target)
        create(source, self.topic)

    def archive(self, *words: str) -> None:
        told = self.ottla("pipeline", "archive", self.topic, "-b", self.source, "-o", self.path, "--once", *words)
        assert told.status == 0, told

    def replay(self, *words: str) -> Told:
        return self.ottla("pipeline", "replay", "-i", self.path, "--rename", f"{self.topic}={self.copy}", *words)

    def total(self, *words: str) -> dict[str, Any]:
        told = self.replay("--json", *words)
        assert told.status == 0, told
        total: dict[str, Any] = told.rows[-1]["total"]
        return total


@pytest.fixture(params=["ottla", "kafka"])
def story(request: pytest.FixtureRequest, spark: SparkSession, ottla_side: Side, tmp_path: Path) -> Story:
    return Story(ottla_side.bootstrap, request.getfixturevalue(f"{request.param}_side").bootstrap, tmp_path)


@pytest.fixture
def on_ottla(spark: SparkSession, ottla_side: Side, tmp_path: Path) -> Story:
    return Story(ottla_side.bootstrap, ottla_side.bootstrap, tmp_path)


def test_a_replay_is_what_was_archived_and_the_next_one_goes_on(story: Story) -> None:
    fill(story.source, story.topic, range(500))
    story.archive("--by", "date")
    first = story.total("--compression", "lz4")
    assert (first["partitions"], first["archived"], first["written"]) == (3, 500, 500)
    assert copies(story.target, story.copy) == originals(story.source, story.topic)
    assert settings(story.target, story.copy) == {"retention.ms": "-1"}
    assert story.total()["written"] == 0
    fill(story.source, story.topic, range(500, 560))
    story.archive("--by", "date")
    assert story.total()["written"] == 60
    assert copies(story.target, story.copy) == originals(story.source, story.topic)


def test_a_mirror_goes_on_where_a_replay_ends(story: Story) -> None:
    fill(story.source, story.topic, range(50))
    story.archive()
    story.total()
    fill(story.source, story.topic, range(50, 70))
    rename = ("--rename", f"{story.topic}={story.copy}")
    told = story.ottla(
        "pipeline", "mirror", story.topic, "--from", story.source, "--to", story.target, "--once", *rename
    )
    assert (told.status, told.lines) == (0, ["20 records copied"]), told
    assert copies(story.target, story.copy) == originals(story.source, story.topic)


def test_what_cannot_be_done_is_told_in_a_sentence(on_ottla: Story, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    told = on_ottla.ottla("pipeline", "replay", "-i", str(empty))
    assert told.status == 1
    assert "there is no archive in" in told.err
    fill(on_ottla.source, on_ottla.topic, range(5))
    on_ottla.archive()
    told = on_ottla.replay("nowhere")
    assert (told.status, told.err) == (1, f"ottla: the archive holds no topic nowhere; it has {on_ottla.topic}\n")
    told = on_ottla.ottla("pipeline", "replay", "-i", on_ottla.path)
    assert told.status == 1
    assert "that somebody else wrote" in told.err
