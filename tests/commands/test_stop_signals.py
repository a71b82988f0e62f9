"""The first signal stops, an echo of it does nothing, and a second Ctrl-C after a while ends the process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading

import pytest

from ottla.commands.stop_signals import ECHO_SECONDS, STOPPING, StopSignals, stop_signals

SERVE_AND_TELL = """
import os, signal, sys, tempfile
from ottla import cli
from ottla.commands import serve

first, second = (signal.Signals[name] for name in sys.argv[1:3])
cleanup = tempfile.TemporaryDirectory.cleanup

def announce(node):
    print(node.config.log_directories[0], flush=True)
    os.kill(os.getpid(), first)

def tell_again(directory):
    os.kill(os.getpid(), second)
    cleanup(directory)

serve.announce = announce
tempfile.TemporaryDirectory.cleanup = tell_again
sys.exit(cli.main(["serve", "--ephemeral", "--listeners", "PLAINTEXT://127.0.0.1:0"]))
"""


class Clock:
    seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def test_the_first_signal_stops_and_what_follows_does_nothing() -> None:
    told: list[str] = []
    clock = Clock()
    signals = StopSignals(clock)
    with signals.stopping(lambda: told.append("stop")):
        assert told == []
        signals.tell(signal.SIGTERM)
        assert told == ["stop"]
        signals.tell(signal.SIGINT)
        clock.seconds += ECHO_SECONDS + 1
        signals.tell(signal.SIGTERM)
        assert told == ["stop"]


def test_who_comes_to_be_stopped_after_the_signal_is_stopped_at_once() -> None:
    told: list[str] = []
    signals = StopSignals()
    signals.tell(signal.SIGTERM)
    with signals.stopping(lambda: told.append("stop")):
        assert told == ["stop"]


def test_a_signal_when_there_is_nothing_left_to_stop_does_nothing() -> None:
    told: list[str] = []
    signals = StopSignals()
    with signals.stopping(lambda: told.append("stop")):
        pass
    signals.tell(signal.SIGTERM)
    assert told == []


def test_a_second_ctrl_c_after_a_while_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[tuple[object, ...]] = []
    monkeypatch.setattr(signal, "signal", lambda *arguments: done.append(arguments))
    monkeypatch.setattr(signal, "raise_signal", lambda *arguments: done.append(arguments))
    clock = Clock()
    signals = StopSignals(clock)
    signals.tell(signal.SIGINT)
    clock.seconds += ECHO_SECONDS
    signals.tell(signal.SIGINT)
    assert done == []
    clock.seconds += 0.1
    signals.tell(signal.SIGINT)
    assert done == [(signal.SIGINT, signal.SIG_DFL), (signal.SIGINT,)]


def test_signals_are_heeded_inside_of_the_block_alone() -> None:
    before = [signal.getsignal(number) for number in STOPPING]
    told: list[str] = []
    with stop_signals() as signals, signals.stopping(lambda: told.append("stop")):
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)
    assert told == ["stop"]
    assert [signal.getsignal(number) for number in STOPPING] == before


def test_other_threads_leave_signals_alone() -> None:
    found: list[object] = []

    def work() -> None:
        with stop_signals():
            found.extend(signal.getsignal(number) for number in STOPPING)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.getsignal(number) for number in STOPPING]


@pytest.mark.parametrize("names", [("SIGTERM", "SIGTERM"), ("SIGINT", "SIGINT"), ("SIGINT", "SIGTERM")], ids=" ".join)
def test_a_broker_that_is_told_twice_stops_cleanly(names: tuple[str, str]) -> None:
    """As `timeout` does. What it kept in a temporary directory goes."""
    ended = subprocess.run(
        [sys.executable, "-c", SERVE_AND_TELL, *names], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 0, ended
    directory = ended.stdout.splitlines()[0]
    assert directory.startswith(tempfile.gettempdir())
    assert not os.path.exists(directory)
