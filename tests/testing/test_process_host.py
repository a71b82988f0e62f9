"""A broker in a process: what it is told, what it says, and how it ends."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.testing import forking
from ottla.testing.failures import BrokerError
from ottla.testing.process_host import ProcessHost
from tests.testing.leftovers import wait_for_end


def new_host(home: Path, **more: str) -> ProcessHost:
    return ProcessHost({"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(home / "data"), **more}, home)


@pytest.fixture
def host(tmp_path: Path) -> Iterator[ProcessHost]:
    host = new_host(tmp_path)
    host.start()
    yield host
    host.kill()


def test_it_is_a_process_of_its_own_in_a_session_of_its_own(host: ProcessHost) -> None:
    assert host.process_id != os.getpid()
    assert os.getsid(host.process_id) == host.process_id
    host.stop()
    assert not host.is_running
    with pytest.raises(ProcessLookupError):
        os.kill(host.process_id, 0)


def test_a_process_that_was_ended_by_others_is_told_of(host: ProcessHost) -> None:
    os.kill(host.process_id, signal.SIGKILL)
    with pytest.raises(BrokerError, match="not running any more: status -9"):
        host.call("remove_faults", {})
    assert not host.is_running


def test_a_process_that_fails_is_told_of_with_what_it_said(host: ProcessHost) -> None:
    os.kill(host.process_id, signal.SIGINT)  # nobody but the test's own terminal sends this, and it is not in that
    wait_for_end(host.process_id)  # or the order would fail for what is being taken down
    with pytest.raises(BrokerError, match=r"(?s)status 1, it said: .*KeyboardInterrupt"):
        host.call("fence_member", {"group_id": "g", "member": None})
    assert "KeyboardInterrupt" in host.output


def test_a_second_end_does_nothing(host: ProcessHost) -> None:
    host.stop()
    host.kill()
    host.stop()


def test_a_node_that_cannot_start_says_why_and_is_gone(host: ProcessHost, tmp_path: Path) -> None:
    second = new_host(tmp_path)
    with pytest.raises(BrokerError, match="did not start: LogDirectoryError"):
        second.start()
    assert not second.is_running
    assert host.is_running


def test_a_process_that_cannot_be_made_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forking.end()
    before = os.listdir("/proc/self/fd")
    monkeypatch.setattr("sys.executable", str(tmp_path / "none"))
    with pytest.raises(FileNotFoundError):
        new_host(tmp_path)
    assert os.listdir("/proc/self/fd") == before


def test_a_channel_that_is_closed_ends_the_process_and_its_home(host: ProcessHost, tmp_path: Path) -> None:
    host._channel.close()
    wait_for_end(host.process_id)
    assert not tmp_path.exists()
