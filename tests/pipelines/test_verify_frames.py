"""Nothing here can be tried without Spark: see compat_tests/pipelines/test_verify.py. But loading it starts no Java."""

from __future__ import annotations

import subprocess
import sys


def test_loading_it_starts_no_java() -> None:
    program = "import ottla.pipelines.verify_frames; from pyspark import SparkContext; print(SparkContext._gateway)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "None\n"
