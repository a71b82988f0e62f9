"""Freed buffers are gone. In a process of its own: the setting is the whole process's and cannot be taken back."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ottla.server import large_memory

MEASURE = """
import sys
from ottla.server.large_memory import map_large_buffers

def resident_mb():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 >> 20

if sys.argv[1] == "mapped":
    assert map_large_buffers()
bytearray(20 << 20)  # freed: from now on the library would keep buffers of this size
before = resident_mb()
kept = []
for _ in range(10):
    gone = bytearray(8 << 20)
    kept.append(bytearray(64 << 10))  # what comes after it in memory stays
    del gone
    kept.append(bytearray(2 << 20))
print(resident_mb() - before)
"""


def grown_mb(how: str) -> int:
    """How much ten buffers of 8 MB that are freed, and as many of 2 MB that are not, add to a process."""
    done = subprocess.run([sys.executable, "-c", MEASURE, how], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_only_what_is_held_is_held() -> None:
    assert grown_mb("mapped") <= 22
    assert grown_mb("as it is") >= 26, "the library does so by itself: nothing is to be told any more"


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_memory.ctypes, "CDLL", lambda name: object())
    assert not large_memory.map_large_buffers()
