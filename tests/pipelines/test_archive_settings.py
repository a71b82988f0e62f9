"""An archive remembers what it was begun with, and arguments that cannot be meant together are refused."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

import pytest

from ottla.commands import UsageError
from ottla.pipelines import PipelineFailed
from ottla.pipelines.archive_settings import (
    FILE,
    ArchiveSettings,
    check_arguments,
    differences,
    settle,
    settle_checkpoint,
)
from tests.pipelines.memory_files import MemoryFiles

BEGUN = ArchiveSettings("cluster-1", ("a", "b"), None, "date", {"a": "id-a"})


def test_going_on_with_the_same_is_fine_and_new_topics_are_remembered() -> None:
    archive = MemoryFiles()
    settle(archive, BEGUN)
    settle(archive, BEGUN)
    settle(archive, replace(BEGUN, topic_ids={"b": "id-b"}))
    kept = ArchiveSettings.from_json(archive.read(FILE))
    assert kept == replace(BEGUN, topic_ids={"a": "id-a", "b": "id-b"})


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"cluster_id": "cluster-2"}, "made from the cluster cluster-1, and this one is cluster-2"),
        ({"topics": ("a",)}, "it holds the topics a, b, and not the topics a"),
        ({"topics": None, "pattern": "a.*"}, "and not the topics that match 'a.*'"),
        ({"by": None}, "divided by date, and not by topic only"),
        ({"topic_ids": {"a": "another"}}, "the topic a was deleted and made anew"),
    ],
)
def test_something_else_is_refused_and_changes_nothing(changed: dict[str, Any], told: str) -> None:
    archive = MemoryFiles()
    settle(archive, BEGUN)
    before = dict(archive.texts)
    with pytest.raises(PipelineFailed, match="of another archive") as refused:
        settle(archive, replace(BEGUN, **changed))
    assert told in str(refused.value)
    assert archive.texts == before
    assert differences(BEGUN, BEGUN) == []


def test_a_checkpoint_that_lies_elsewhere_is_told_from_that_of_something_else() -> None:
    checkpoint = MemoryFiles()
    settle_checkpoint(checkpoint, BEGUN)
    checkpoint.texts["metadata"] = ""
    settle_checkpoint(checkpoint, BEGUN)
    with pytest.raises(PipelineFailed, match=r"it holds the topics a, b, and not the topics c.* another --checkpoint"):
        settle_checkpoint(checkpoint, replace(BEGUN, topics=("c",)))
    with pytest.raises(PipelineFailed, match="a checkpoint of something else"):
        settle_checkpoint(MemoryFiles(metadata=""), BEGUN)


@pytest.mark.parametrize("text", ["", "[]", "{}"])
def test_a_file_that_cannot_be_read_is_named(text: str) -> None:
    with pytest.raises(PipelineFailed, match=f"memory:/archive/{FILE} cannot be read"):
        settle(MemoryFiles(**{FILE: text}), BEGUN)


def arguments(**given: Any) -> argparse.Namespace:
    usual = {"topics": ["a"], "pattern": None, "decode": None, "schema": None, "confluent": False}
    return argparse.Namespace(**(usual | {"compact_only": False, "once": False} | given))


@pytest.mark.parametrize(
    "given",
    [
        {"topics": []},
        {"pattern": "x"},
        {"decode": "json"},
        {"schema": "id long"},
        {"confluent": True},
        {"decode": "json", "schema": "id long", "confluent": True},
        {"compact_only": True},
        {"topics": [], "compact_only": True, "once": True},
    ],
)
def test_what_cannot_be_meant_together_is_a_mistake(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        check_arguments(arguments(**given))


@pytest.mark.parametrize(
    "given",
    [{}, {"topics": [], "pattern": "x"}, {"topics": [], "compact_only": True}, {"decode": "avro", "schema": ""}],
)
def test_the_rest_is_none(given: dict[str, Any]) -> None:
    check_arguments(arguments(**given))
