"""A broker in a process of its own: started, told what to do, stopped or killed, and always waited for.

The child is in a session of its own, so that a Ctrl-C at the terminal is for the test alone. It ends by itself when
this process does, whatever ends it: see `child`. It is forked from a process that is there for that: see `forking`.
"""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ottla.testing.channel import SECONDS_MAX, Channel, ChannelClosed
from ottla.testing.failures import BrokerError
from ottla.testing.forking import fork

OUTPUT_CHARS_MAX = 4_000


class ProcessHost:
    """One life of a broker. `home` is a directory of the test's, which the child removes should the test be gone."""

    def __init__(self, settings: Mapping[str, str], home: Path) -> None:
        self._settings = settings
        self._home = home
        self._output = home / "output.txt"
        ours, theirs = socket.socketpair()
        try:
            with theirs, self._output.open("ab") as output:
                self._process = fork(theirs.fileno(), output.fileno())
        except BaseException:
            ours.close()
            raise
        self._channel = Channel(ours)

    def start(self) -> str:
        """The bootstrap servers, as soon as clients are served."""
        try:
            bootstrap: str = self.call("start", {"settings": dict(self._settings), "home": str(self._home)})
        except BaseException:
            self.kill()
            raise
        return bootstrap

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    @property
    def process_id(self) -> int:
        return self._process.pid

    @property
    def output(self) -> str:
        """The end of what the process has printed, in this life and those before."""
        return self._output.read_text(errors="replace")[-OUTPUT_CHARS_MAX:] if self._output.exists() else ""

    def call(self, order: str, arguments: Mapping[str, Any]) -> Any:
        try:
            return self._channel.call(order, arguments)
        except ChannelClosed:
            self._process.wait(SECONDS_MAX)
            raise self._ended() from None

    def stop(self) -> None:
        """End it as brokers are ended. BrokerError if it did not come to a clean end."""
        try:
            if self._process.poll() is None:
                self.call("stop", {})
            self._process.wait(SECONDS_MAX)
        except subprocess.TimeoutExpired:
            pass  # it is killed below
        finally:
            self.kill()
        if self._process.returncode != 0:
            raise self._ended()

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._channel.close()

    def _ended(self) -> BrokerError:
        said = self.output.strip()
        return BrokerError(
            f"the broker is not running any more: status {self._process.returncode}{said and f', it said: {said}'}"
        )
