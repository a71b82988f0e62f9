"""The process that brokers are forked from ends with its test, or when it has nothing to do."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ottla.testing import fork_server
from ottla.testing.forking import DESCRIPTOR_COUNT, FORK, FORKED, NO_PROCESS
from tests.testing.leftovers import SECONDS_MAX, a_program, wait_for_end

PROGRAM = """
    import os
    from ottla.testing import Broker, forking
    with Broker() as broker:
        print(forking._server._process.pid, broker._host.process_id, flush=True)
        {then}
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_it_ends_with_its_test_whatever_ends_that(tmp_path: Path, number: signal.Signals) -> None:
    with a_program(tmp_path, PROGRAM.format(then="input()")) as program:
        assert program.stdout is not None
        process_ids = [int(word) for word in program.stdout.readline().split()]
        os.killpg(program.pid, number)
        program.wait(SECONDS_MAX)
        for process_id in process_ids:
            wait_for_end(process_id)


def test_it_has_ended_when_the_test_ends_by_itself(tmp_path: Path) -> None:
    with a_program(tmp_path, PROGRAM.format(then="pass")) as program:
        said, _ = program.communicate(timeout=SECONDS_MAX)
        assert program.returncode == 0
    for word in said.split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(word), 0)


def test_a_copy_of_its_line_does_not_keep_it(tmp_path: Path) -> None:
    then = "os.fork() or __import__('signal').pause(); input()"
    with a_program(tmp_path, PROGRAM.format(then=then)) as program:
        assert program.stdout is not None
        server_id, _ = (int(word) for word in program.stdout.readline().split())
        program.kill()
        program.wait(SECONDS_MAX)
        wait_for_end(server_id)


def test_it_loads_more_at_leisure_and_ends_when_no_broker_is_wanted_for_a_while() -> None:
    """In a process of its own, since it takes signals."""
    code = """
import os, socket, sys
from ottla.testing import fork_server
assert not sys.modules.keys() & set(fork_server.AT_LEISURE)
fork_server.IDLE_SECONDS_MAX = fork_server.PATIENCE_SECONDS = 0.0
ours, theirs = socket.socketpair()
fork_server.ForkServer(theirs, os.getpid()).run()
assert sys.modules.keys() >= set(fork_server.AT_LEISURE)
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=SECONDS_MAX, check=False).returncode == 0


def test_a_fork_that_fails_is_told_and_the_server_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_fork() -> int:
        raise BlockingIOError

    monkeypatch.setattr("os.fork", no_fork)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        server = fork_server.ForkServer(theirs, os.getpid())
        with server._woken, server._wakes:
            socket.send_fds(ours, [FORK.pack(5)], [ours.fileno()] * DESCRIPTOR_COUNT)
            assert server._fork()
            assert FORKED.unpack(ours.recv(100)) == (5, NO_PROCESS)
            ours.shutdown(socket.SHUT_WR)
            assert not server._fork()
