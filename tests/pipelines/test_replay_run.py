"""What is asked around a replay. The whole of it, on Spark: compat_tests/pipelines/test_replay.py."""

from __future__ import annotations

import pytest

from ottla.pipelines.archive_settings import FILE, ArchiveSettings
from ottla.pipelines.replay_run import cluster_of
from tests.pipelines.memory_files import MemoryFiles


@pytest.mark.parametrize(
    ("text", "cluster"),
    [
        (ArchiveSettings("b3R0bGE", ("a",), None, None).to_json(), "b3R0bGE"),
        (ArchiveSettings("", ("a",), None, None).to_json(), "archive"),
        ("{", "archive"),
        ("{}", "archive"),
        (None, "archive"),
    ],
)
def test_records_are_said_to_come_from_the_cluster_that_was_archived(text: str | None, cluster: str) -> None:
    archive = MemoryFiles()
    if text is not None:
        archive.write(FILE, text)
    assert cluster_of(archive) == cluster
