"""Processes for brokers: all from one that is started once, and that is started again if it has gone."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ottla.testing import Broker, BrokerError, forking
from tests.testing.leftovers import SECONDS_MAX, a_program, children, descriptors, wait_for_end


@pytest.fixture(autouse=True)
def _ended() -> Iterator[None]:
    forking.end()
    yield
    forking.end()


@contextmanager
def a_fork(path: Path) -> Iterator[tuple[forking.Forked, socket.socket]]:
    """A process that waits for its first order, and ends with an error when there is none."""
    ours, theirs = socket.socketpair()
    with ours, (path / "output.txt").open("ab") as output:
        with theirs:
            process = forking.fork(theirs.fileno(), output.fileno())
        try:
            yield process, ours
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait(SECONDS_MAX)


def server_id() -> int:
    """The process that forks, which is one of ours; other tests in this process may have others."""
    assert forking._server is not None
    found = forking._server._process.pid
    assert str(found) in children(os.getpid())
    return found


def test_brokers_are_forked_from_one_process(tmp_path: Path) -> None:
    forking.prepare()
    server = server_id()
    with a_fork(tmp_path) as (first, _), a_fork(tmp_path) as (second, _):
        assert server_id() == server
        assert children(server) == {str(first.pid), str(second.pid)}


def test_the_end_of_a_process_is_told_with_its_status(tmp_path: Path) -> None:
    before = descriptors()
    with a_fork(tmp_path) as (process, channel):
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0)
        channel.close()
        assert process.wait(SECONDS_MAX) == 1
        assert process.poll() == process.returncode == 1
        process.send_signal(signal.SIGKILL)  # nobody is there to get it
    with a_fork(tmp_path) as (process, _):
        process.send_signal(signal.SIGKILL)
        assert process.wait(SECONDS_MAX) == -signal.SIGKILL
    forking.end()
    assert descriptors() <= before, "others may have been closed meanwhile"


def test_an_answer_that_nobody_has_waited_for_is_not_taken_for_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with a_fork(tmp_path) as (first, _):
        server = forking._server
        assert server is not None
        with monkeypatch.context() as patch:
            patch.setattr(forking, "FORKED", None)  # stands for a Ctrl-C while the answer is awaited
            with pytest.raises(AttributeError), a_fork(tmp_path):
                pass
        with a_fork(tmp_path) as (second, _):
            assert forking._server is server
            assert second.pid != first.pid
            assert second.poll() is None
            assert str(second.pid) in children(server_id())


def test_a_server_that_has_gone_is_started_again(tmp_path: Path) -> None:
    forking.prepare()
    first = server_id()
    os.kill(first, signal.SIGKILL)
    wait_for_end(first)
    with a_fork(tmp_path) as (process, _):
        assert process.poll() is None
        assert server_id() != first


def test_brokers_whose_server_was_killed_are_not_left_alone(tmp_path: Path) -> None:
    with a_fork(tmp_path) as (process, _):
        os.kill(server_id(), signal.SIGKILL)
        assert process.wait(SECONDS_MAX) == -signal.SIGKILL
        wait_for_end(process.pid)


def test_a_server_that_cannot_start_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forking, "CODE", "raise SystemExit(1)")
    before = descriptors()
    with pytest.raises(BrokerError, match="does not start"), a_fork(tmp_path):
        pass
    forking.end()
    assert descriptors() <= before, "others may have been closed meanwhile"


def test_a_fork_of_the_test_has_brokers_of_its_own(tmp_path: Path) -> None:
    text = """
    import os
    from ottla.testing import Broker, forking
    with Broker() as broker:
        if (forked := os.fork()) == 0:
            with Broker() as other:
                print(other.bootstrap_servers != broker.bootstrap_servers, flush=True)
            forking.end()
            os._exit(0)
        print(os.waitpid(forked, 0)[1])
        print(broker.create_topic("t"))
    """
    with a_program(tmp_path, text) as program:
        said, _ = program.communicate(timeout=SECONDS_MAX)
    assert said == "True\n0\nNone\n"


def test_nothing_is_kept_open_by_brokers_that_came_later(tmp_path: Path) -> None:
    with Broker() as first, Broker() as second:
        assert first._host is not None
        first.kill()
        assert not first.is_running
        assert second.is_running
