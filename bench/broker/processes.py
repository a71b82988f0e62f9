"""What a process and its children have cost: CPU time and memory, as Linux counts them in /proc.

It knows process ids and nothing of what runs in them. CPU time comes in hundredths of a second.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
PROC = Path("/proc")


def tree(pid: int) -> list[int]:
    """The process and all that descend from it."""
    found = [pid]
    for one in found:
        with suppress(FileNotFoundError, ProcessLookupError):
            for task in (PROC / str(one) / "task").iterdir():
                found += map(int, (task / "children").read_text().split())
    return found


def cpu_seconds(pid: int) -> float:
    """User and system time since the start, of threads and children that have ended too."""
    return sum(map(_ticks, tree(pid))) / TICKS_PER_SECOND


def _ticks(pid: int) -> int:
    try:
        text = (PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    # The name is in brackets and may hold anything; utime, stime, cutime and cstime are fields 14 to 17 (proc(5)).
    fields = text.rpartition(")")[2].split()
    return sum(map(int, fields[11:15]))


def memory_mb(pid: int) -> float:
    """Resident memory; what is shared with others counts in part (PSS)."""
    return sum(map(_pss_kb, tree(pid))) / 1024


def _pss_kb(pid: int) -> int:
    with suppress(FileNotFoundError, ProcessLookupError):
        for line in (PROC / str(pid) / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0
