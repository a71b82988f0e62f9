"""The README says what is so: its recorded session is run, and every command that it shows can be parsed."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from ottla import cli
from tests.server.node_process import ANNOUNCEMENT, a_node

README = Path(__file__).resolve().parent.parent / "README.md"
SERVE = "ottla serve --ephemeral &"
# Settings are no arguments that the parser knows.
SERVE_WORDS = {"serve"}


def fenced(kind: str) -> list[str]:
    """The blocks of code of a kind."""
    parts = re.split(r"^```(.*)\n", README.read_text("utf-8"), flags=re.MULTILINE)
    # Text, opening fence, code, closing fence, and so on.
    return [code for opening, code in zip(parts[1::4], parts[2::4], strict=True) if opening == kind]


def session() -> list[tuple[str, str]]:
    """Each command of the recorded session, with what it printed."""
    (block,) = fenced("console")
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [(command, output) for command, _, output in (part.partition("\n") for part in parts)]


def run(command: str, bootstrap: str) -> str:
    """What a shell shows, where `ottla` is this one."""
    script = f'ottla() {{ "{sys.executable}" -m ottla "$@"; }}\n{command}'
    environment = os.environ | {"OTTLA_BOOTSTRAP_SERVERS": bootstrap}
    done = subprocess.run(
        ["bash", "-c", script],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_the_recorded_session_is_what_happens() -> None:
    (serve, announced), *rest = session()
    assert serve == SERVE
    assert ANNOUNCEMENT.fullmatch(announced.rstrip("\n"))
    assert len(rest) >= 5
    with a_node(None) as node:
        told = [(command, run(command, node.address)) for command, _ in rest]
    assert told == rest


def test_every_command_that_is_shown_exists() -> None:
    lines = [line for block in fenced("") for line in block.splitlines() if line.startswith("ottla ")]
    assert len(lines) > 10
    for line in lines:
        words = shlex.split(line.partition(" < ")[0], comments=True)[1:]
        parsed, rest = cli.parser().parse_known_args(cli.joined(words))
        assert callable(parsed.command)
        assert not rest or words[0] in SERVE_WORDS
