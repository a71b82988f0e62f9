"""Every deliberate mistake in tests/mutants is noticed by the test that its patch names."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.mutants import runner
from tests.mutants.runner import Mutant, StalePatch
from tests.storage import test_power_cut_images

# Those that a comparison with Apache Kafka must notice are in compat_tests/test_broker_mutants.py.
MUTANTS = [mutant for mutant in runner.mutants() if mutant.tests]
# The failure classes that storage answers for, those of groups, and those of the cluster.
STORAGE_CLASSES = {23, 25, 26, 27, 28, 29, 30, 31, 37, 38}
GROUP_CLASSES = {33, 34, 35}
CLUSTER_CLASSES = {10, 17, 24, 36, 39}
# For the tests of all patches together.
ALL_SECONDS_MAX = 600


def lacking(mutant: Mutant) -> list[str]:
    return test_power_cut_images.missing() if "loop" in mutant.needs else []


@pytest.fixture(scope="session")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the code for one mistake after the other."""
    root = tmp_path_factory.mktemp("code")
    runner.copy_code(root)
    return root


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mistake_is_noticed(mutant: Mutant, code: Path, counted: Callable[[str, dict[str, float]], None]) -> None:
    if missing := lacking(mutant):
        pytest.skip(f"{mutant.name} needs {', '.join(missing)}")
    started = time.monotonic()
    try:
        runner.apply(mutant, code)
        result = runner.run_tests(mutant.tests, code)
    finally:
        runner.restore(mutant, code)
    seconds = time.monotonic() - started
    counted("seconds until a mistake was noticed", {mutant.name: round(seconds, 1)})
    assert result.returncode == runner.TESTS_FAILED, f"nobody noticed: {mutant.breaks}\n{result.stdout}{result.stderr}"


def test_the_tests_that_notice_mistakes_pass_without_them(code: Path) -> None:
    runnable = [mutant for mutant in MUTANTS if not lacking(mutant)]
    tests = sorted({test for mutant in runnable for test in mutant.tests})
    result = runner.run_tests(tests, code, seconds_max=ALL_SECONDS_MAX)
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_failure_class_that_somebody_answers_for_has_a_mutant() -> None:
    classes = {int(number) for mutant in MUTANTS for number in re.findall(r"\d+", mutant.failure_class.split("(")[0])}
    assert (STORAGE_CLASSES | GROUP_CLASSES | CLUSTER_CLASSES) - classes == set()


# -- the runner itself ------------------------------------------------------------------------------------------------

PATCH = """\
# breaks: two is three
# class: 0 (arithmetic)
# test: tests/test_x.py
--- a/code.py
+++ b/code.py
@@ -1,3 +1,3 @@
 def two():
-    return 2
+    return 3

"""


def mutant_of(tmp_path: Path, text: str = PATCH) -> Mutant:
    path = tmp_path / "arithmetic.patch"
    path.write_text(text, encoding="utf-8")
    return runner.read(path)


def test_a_patch_is_applied_wherever_its_lines_are(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text("one = 1\n\n\ndef two():\n    return 2\n\nthree = 3\n", encoding="utf-8")
    runner.apply(mutant_of(tmp_path), tmp_path)
    assert (tmp_path / "code.py").read_text(encoding="utf-8") == "one = 1\n\n\ndef two():\n    return 3\n\nthree = 3\n"


@pytest.mark.parametrize("code", [None, "def two():\n    return 1 + 1\n\n", "def two():\n    return 2\n\n" * 2])
def test_a_patch_that_does_not_fit_exactly_once_is_stale(tmp_path: Path, code: str | None) -> None:
    if code is not None:
        (tmp_path / "code.py").write_text(code, encoding="utf-8")
    with pytest.raises(StalePatch, match=r"arithmetic.*code\.py"):
        runner.apply(mutant_of(tmp_path), tmp_path)


@pytest.mark.parametrize("line", ["# breaks: two is three\n", "# class: 0 (arithmetic)\n", "# test: tests/test_x.py\n"])
def test_a_patch_says_what_it_breaks_and_who_notices(tmp_path: Path, line: str) -> None:
    with pytest.raises(ValueError, match="lacks"):
        mutant_of(tmp_path, PATCH.replace(line, ""))
