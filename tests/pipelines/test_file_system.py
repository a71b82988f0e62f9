"""The directory that tests have in memory. compat_tests/pipelines/test_file_system.py asks it and Hadoop's the same."""

from __future__ import annotations

from ottla.pipelines.file_system import Files
from tests.pipelines.memory_files import MemoryFiles


def test_the_directory_in_memory_can_stand_for_a_real_one() -> None:
    files: Files = MemoryFiles(a="1")
    files.rename("a", "b/c")
    assert files.files() == [("b/c", 1)]
    assert files.files("b") == [("b/c", 1)]
