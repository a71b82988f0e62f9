"""The page about clusters says what works: its commands are run, one after the other, on ports of the kernel's."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

from ottla import cli
from tests.held_ports import HOST, held_port

PAGE = Path(__file__).resolve().parent.parent / "docs" / "cluster.md"
SECONDS_MAX = 300
# The page's ports, which a reader has free and a test may not have.
PORTS = range(9092, 9100)
# A reader waits until a node says that it serves.
PRELUDE = """
set -e
serves() { until grep -q serves out-$1 2>/dev/null; do kill -0 %$1; done; }
trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT
"""


def blocks() -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```", PAGE.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)


def script(ports: dict[int, int]) -> str:
    """The page, with waiting where it says that something is started."""
    text = re.sub(r"\b909[2-9]\b", lambda found: str(ports[int(found[0])]), "\n".join(blocks()))
    count = 0
    lines = []
    started: list[int] = []
    for line in text.replace("localhost", HOST).splitlines():
        if line.endswith(" &"):
            count += 1
            started.append(count)
            lines.append(f"{line[:-2]} > out-{count} 2>&1 &")
            continue
        if not line.startswith("ottla serve"):
            lines += [f"serves {number}" for number in started]
            started = []
        lines.append(line)
    return PRELUDE + "\n".join(lines) + "\necho all is done\n"


def test_what_the_page_shows_works(tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        ports = {port: stack.enter_context(held_port()) for port in PORTS}
        program = tmp_path / "ottla"
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m ottla "$@"\n')
        program.chmod(0o755)
        environment = os.environ | {
            "OTTLA_BOOTSTRAP_SERVERS": f"{HOST}:{ports[9092]}",
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "PYTHONPATH": str(PAGE.parent.parent),
        }
        with subprocess.Popen(
            ["bash", "-c", script(ports)],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as shell:
            try:
                printed, _ = shell.communicate(timeout=SECONDS_MAX)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(shell.pid, signal.SIGKILL)  # whatever is left of it
    assert printed.splitlines()[-1] == "all is done", printed
    assert "6 partitions moved" in printed
    assert "votes; 4 voters" in printed
    assert "broker 4 is forgotten" in printed
    assert "6 partitions: all in sync" in printed


def test_every_command_in_the_text_can_be_parsed() -> None:
    text = re.sub(r"^```sh\n.*?^```", "", PAGE.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    commands = [one for one in re.findall(r"`(ottla [^`]+)`", text) if "serve" not in one]
    assert len(commands) >= 3
    for command in commands:
        words = shlex.split(command)[1:]
        if words[0] != "format" and words[1:2] != ["remove-voter"]:
            cli.parser(words[0]).parse_args(words)
