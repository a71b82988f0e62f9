"""What processes and their children have cost: CPU time and memory, as Linux counts them.

It knows process ids and nothing of what runs in them.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
SCHEDULER_CLOCK = 2
PROC = Path("/proc")


def tree(pid: int) -> list[int]:
    """The process and all that descend from it."""
    found = [pid]
    for one in found:
        with suppress(FileNotFoundError, ProcessLookupError):
            for task in (PROC / str(one) / "task").iterdir():
                found += map(int, (task / "children").read_text().split())
    return found


def cpu_seconds(*pids: int) -> float:
    """User and system time since the start, of threads and children that have ended too."""
    return sum(_own_cpu_seconds(one) + _ended_children_cpu_seconds(one) for pid in pids for one in tree(pid))


def _own_cpu_seconds(pid: int) -> float:
    """To the nanosecond, where /proc counts hundredths: the clock of another process (clock_getcpuclockid(3))."""
    with suppress(OSError):
        return time.clock_gettime((~pid << 3) | SCHEDULER_CLOCK)
    return 0.0


def _ended_children_cpu_seconds(pid: int) -> float:
    with suppress(FileNotFoundError, ProcessLookupError):
        text = (PROC / str(pid) / "stat").read_text()
        # The name is in brackets and may hold anything; cutime and cstime are fields 16 and 17 (proc(5)).
        fields = text.rpartition(")")[2].split()
        return sum(map(int, fields[13:15])) / TICKS_PER_SECOND
    return 0.0


def memory_mb(*pids: int) -> float:
    """Resident memory; what is shared with others counts in part (PSS)."""
    return sum(_pss_kb(one) for pid in pids for one in tree(pid)) / 1024


def _pss_kb(pid: int) -> int:
    with suppress(FileNotFoundError, ProcessLookupError):
        for line in (PROC / str(pid) / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0
