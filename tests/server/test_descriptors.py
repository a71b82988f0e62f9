"""Descriptors are taken at the start and shared so that nobody meets EMFILE."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ottla.server import descriptors
from tests.server.node_process import ANNOUNCEMENT, a_process

SCRIPT = """
import resource
from ottla.server.descriptors import raise_limit
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
raise_limit()
assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
"""


def limited(monkeypatch: pytest.MonkeyPatch, soft: int) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (soft, soft))


def test_a_process_takes_what_it_may_have() -> None:
    subprocess.run([sys.executable, "-c", SCRIPT], check=True, timeout=60)


def test_a_node_takes_what_it_may_have(tmp_path: Path) -> None:
    few = ("sh", "-c", 'ulimit -S -n 128; exec "$@"', "sh")
    place = ("--log.dirs", str(tmp_path), "--listeners", "PLAINTEXT://127.0.0.1:0")
    with a_process(*place, inside=few) as node:
        node.line(ANNOUNCEMENT)
        (line,) = [line for line in Path(f"/proc/{node.pid}/limits").read_text().splitlines() if "open files" in line]
        soft, hard = line.split()[3:5]
        assert soft == hard != "128"


def test_a_system_that_refuses_that_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any) -> None:
        raise ValueError("not so many")

    monkeypatch.setattr(resource, "setrlimit", refuse)
    descriptors.raise_limit()


@pytest.mark.parametrize("limit", [200, 1024, 4096, 20_000, 65_536, 1 << 20])
def test_connections_and_segments_fit_into_the_limit_together(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    limited(monkeypatch, limit)
    connections = descriptors.connections_max()
    assert connections == limit // 2
    segments = descriptors.open_segments_max()
    used = connections + segments * descriptors.DESCRIPTORS_PER_SEGMENT + descriptors.RESERVE_COUNT
    assert used <= limit or segments == descriptors.OPEN_SEGMENTS_MIN
    assert segments == min((limit // 2 - 64) // 5, 10_000) or limit == 200


def test_no_limit_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, resource.RLIM_INFINITY)
    assert descriptors.connections_max() is None
    assert descriptors.open_segments_max() == descriptors.OPEN_SEGMENTS_MAX
