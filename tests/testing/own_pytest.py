"""A pytest of its own, in another process, on files that a test has written: as users of the fixtures run it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

SECONDS_MAX = 240
# Kafka-python reads its schemas in a way that Python deprecates; every other warning is an error.
SETTINGS = """\
[pytest]
addopts = -q -p no:cacheprovider --strict-markers
filterwarnings =
    error
    ignore:(open|read)_text is deprecated:DeprecationWarning
"""


def run_pytest(tmp_path: Path, **files: str) -> tuple[str, int]:
    """What pytest says about these files, and its exit status. It leaves no temporary files."""
    temporary = tmp_path / "temporary"
    tests = tmp_path / "tests"
    for directory in (temporary, tests):
        directory.mkdir()
    (tests / "pytest.ini").write_text(SETTINGS)
    for name, text in files.items():
        (tests / f"{name}.py").write_text(textwrap.dedent(text))
    finished = subprocess.run(
        [sys.executable, "-m", "pytest"],
        cwd=tests,
        env=os.environ | {"TMPDIR": str(temporary)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert list(temporary.iterdir()) == [], finished.stdout
    return finished.stdout, finished.returncode
