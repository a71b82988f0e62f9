"""Power cuts on a loop-mounted ext4 image: what the fake disk promises, a real file system keeps.

Needs root and loop devices, for which reason the part is called `loop`. The work is done by power_cut_images.py, in a
mount namespace of its own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.storage.power_cut_images import ROOT

POWER_CUTS = 20
SECONDS_MAX = 240
TOOLS = ("unshare", "mount", "umount", "mkfs.ext4", "cp")
LINE = re.compile(r"seed \d+: (\d+) appended, (\d+) flushed, (\d+) found")


def missing() -> list[str]:
    """What this machine lacks."""
    lacking = [tool for tool in TOOLS if shutil.which(tool) is None]
    if os.geteuid() != 0:
        lacking.append("root")
    if not os.path.exists("/dev/loop-control"):
        lacking.append("loop devices")
    return lacking


pytestmark = [
    pytest.mark.loop,
    pytest.mark.skipif(bool(missing()), reason=f"loop: power cuts on an image need {', '.join(missing())}"),
]


def cut_power(directory: Path, histories: int) -> str:
    """Run so many histories; returns what was printed of them."""
    result = subprocess.run(
        (
            *("unshare", "--mount", "--propagation", "private"),
            *(sys.executable, "-m", "tests.storage.power_cut_images", str(directory), str(histories)),
        ),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    return result.stdout


def test_what_is_called_durable_survives_a_power_cut_of_a_real_file_system(tmp_path: Path) -> None:
    cut_power(tmp_path, 0)


def test_what_was_flushed_survives_power_cuts_of_a_real_file_system(tmp_path: Path) -> None:
    printed = cut_power(tmp_path, POWER_CUTS)
    cuts = [tuple(map(int, numbers)) for numbers in LINE.findall(printed)]
    assert len(cuts) == POWER_CUTS
    assert all(found >= flushed for _, flushed, found in cuts)
    # A power cut that loses nothing is none.
    assert sum(found < appended for appended, _, found in cuts) >= POWER_CUTS // 2, printed
