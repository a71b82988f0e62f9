"""`ottla` run inside of the test's process, with what it wrote; against a node that is a process of its own."""

from __future__ import annotations

import io
import json
import os
import sys
import tempfile
from dataclasses import dataclass
from typing import Any

import pytest

from ottla import cli
from ottla.commands.asking import ENVIRONMENT


@dataclass
class Told:
    """How a command ended, and what it wrote."""

    status: int
    data: bytes
    err: str

    @property
    def out(self) -> str:
        return self.data.decode()

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]


class TerminalInput(io.StringIO):
    """What somebody types."""

    def isatty(self) -> bool:
        return True


class CommandLine:
    """Call it with words; `stdin` is bytes in a pipe, or what is typed on a terminal."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def __call__(self, *words: str, stdin: bytes | TerminalInput = b"") -> Told:
        out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
        with tempfile.TemporaryFile() as file, pytest.MonkeyPatch.context() as patch:
            patch.setenv(ENVIRONMENT, self.bootstrap)
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            if isinstance(stdin, bytes):
                file.write(stdin)
                file.seek(0)
                patch.setattr(sys, "stdin", io.TextIOWrapper(io.FileIO(os.dup(file.fileno())), encoding="utf-8"))
            else:
                patch.setattr(sys, "stdin", stdin)
            try:
                status = cli.main(words)
            except SystemExit as stopped:
                status = int(stopped.code or 0)
            finally:
                sys.stdin.close()
        out.flush()
        buffer = out.buffer
        assert isinstance(buffer, io.BytesIO)
        return Told(status, buffer.getvalue(), err.getvalue())

    def ok(self, *words: str, stdin: bytes | TerminalInput = b"") -> Told:
        """The same, for what must succeed."""
        told = self(*words, stdin=stdin)
        assert told.status == 0, told
        return told
