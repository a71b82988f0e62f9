"""Who holds an archive, and how one sees that nobody does any more."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys

import pytest

from ottla.pipelines import PipelineFailed
from ottla.pipelines.archive_lock import LOCK, is_gone, locked
from tests.pipelines.memory_files import MemoryFiles


def held_by(host: str, pid: int) -> str:
    return json.dumps({"host": host, "pid": pid})


def dead_process() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def test_it_is_held_inside_of_the_block_and_after_errors_no_more() -> None:
    archive = MemoryFiles()
    with locked(archive):
        assert json.loads(archive.texts[LOCK])["pid"] == os.getpid()
    assert not archive.texts
    with pytest.raises(ValueError, match="inside"), locked(archive):
        raise ValueError("inside")
    assert not archive.texts


@pytest.mark.parametrize("holder", [held_by("elsewhere", 1), held_by(socket.gethostname(), os.getppid()), "who?"])
def test_one_that_may_live_is_left_alone_and_named(holder: str) -> None:
    archive = MemoryFiles(**{LOCK: holder})
    with pytest.raises(PipelineFailed, match="another process writes to memory:/archive") as told, locked(archive):
        pass
    assert holder in str(told.value)
    assert f"remove {archive.url}/{LOCK}" in str(told.value)
    assert archive.texts == {LOCK: holder}


def test_one_of_this_machine_that_is_dead_holds_nothing() -> None:
    archive = MemoryFiles(**{LOCK: held_by(socket.gethostname(), dead_process())})
    with locked(archive):
        assert json.loads(archive.texts[LOCK])["pid"] == os.getpid()


def test_a_process_that_died_while_it_wrote_the_file_is_gone_and_one_of_another_user_is_not() -> None:
    assert is_gone("")
    assert is_gone(held_by(socket.gethostname(), os.getpid())), "the id was given again: to us"
    assert not is_gone(held_by(socket.gethostname(), 1))
