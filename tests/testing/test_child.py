"""The broker's process ends with the test's, whatever ends that, and takes the directory along."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.testing.leftovers import SECONDS_MAX, a_program, wait_for_end

BEGINNING = """
    import os, signal, sys
    from ottla.testing import Broker
"""
SERVE = """
    with Broker() as broker:
        broker.create_topic("t")
        print(broker._host.process_id, flush=True)
        input()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_test_that_is_ended_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    with a_program(tmp_path, BEGINNING + SERVE) as program:
        assert program.stdout is not None
        process_id = int(program.stdout.readline())
        os.killpg(program.pid, number)  # as a terminal does
        assert program.wait(SECONDS_MAX) == -number
        wait_for_end(process_id)
    assert list(tmp_path.iterdir()) == []


def test_a_copy_of_the_channel_in_another_process_does_not_keep_the_broker_alive(tmp_path: Path) -> None:
    fork = """
    with Broker() as broker:
        if os.fork() == 0:
            signal.pause()
        print(broker._host.process_id, flush=True)
        input()
    """
    with a_program(tmp_path, BEGINNING + fork) as program:
        assert program.stdout is not None
        process_id = int(program.stdout.readline())
        program.kill()
        program.wait(SECONDS_MAX)
        wait_for_end(process_id)
        assert list(tmp_path.iterdir()) == []


def test_a_test_that_is_ended_while_its_broker_starts_leaves_nothing(tmp_path: Path) -> None:
    start = """
    from ottla.testing.process_host import ProcessHost
    broker = Broker()
    start = ProcessHost.start

    def interrupted(host):
        print(host.process_id, flush=True)
        signal.raise_signal(signal.SIGINT)

    ProcessHost.start = lambda host: interrupted(host) or start(host)
    try:
        with broker:
            print("not reached")
    except KeyboardInterrupt:
        print(os.listdir(os.environ["TMPDIR"]), flush=True)
    """
    with a_program(tmp_path, BEGINNING + start) as program:
        said, _ = program.communicate(timeout=SECONDS_MAX)
    process_id, listed = said.splitlines()
    assert listed == "[]"
    with pytest.raises(ProcessLookupError):
        os.kill(int(process_id), 0)
