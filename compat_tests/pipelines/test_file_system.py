"""Hadoop's directory and the one that unit tests have in memory answer alike."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ottla.pipelines.file_system import Directory, Files
from tests.pipelines.memory_files import MemoryFiles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.jvm


@pytest.fixture(params=["hadoop", "memory"])
def directory(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    if request.param == "memory":
        return MemoryFiles()
    session: SparkSession = request.getfixturevalue("spark")
    return Directory(session, str(tmp_path / "a directory"))


def test_files_are_written_read_listed_renamed_and_removed(directory: Files) -> None:
    assert directory.files() == []
    assert not directory.exists("a/b")
    directory.write("a/b", "härter")
    directory.write("_hidden/c", "")
    assert directory.exists("a")
    assert directory.read("a/b") == "härter"
    assert [path for path, _ in directory.files()] == ["a/b"]
    assert [path for path, _ in directory.files("_hidden")] == ["_hidden/c"]
    directory.write("a/b", "again")
    directory.write("d", "x")
    directory.rename("a/b", "d")
    assert (directory.read("d"), directory.exists("a/b")) == ("again", False)
    directory.rename("d", "new/place/e")
    assert directory.files() == [("new/place/e", 5)]
    directory.remove("new")
    directory.remove("new")
    assert directory.files() == []


def test_what_must_be_new_is_refused_where_something_is(directory: Files) -> None:
    directory.write("lock", "mine", is_new=True)
    with pytest.raises(FileExistsError):
        directory.write("lock", "yours", is_new=True)
    assert directory.read("lock") == "mine"
