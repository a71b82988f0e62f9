"""Deliberate mistakes, kept as patches: reads one, puts it into a copy of the code, and runs the test that must notice.

A patch opens with `# key: value` lines, then comes a unified diff against the root of the repository:

    # breaks: what is wrong now, in one sentence
    # class: the failure class of the design that it belongs to
    # test: what pytest is to run; several lines for several
    # plays: instead of a test, the scenarios of compat_tests whose comparison must notice, as a regular expression
    # needs: loop               (only where the test needs more than Python: root and loop devices)

Lines may have moved since a patch was written, but its context must occur exactly once, so that a patch that has gone
stale is found out. The working tree is never touched.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PATCHES = Path(__file__).resolve().parent
COPIED = ("ottla", "tests", "hatch_build.py", "pyproject.toml")
SECONDS_MAX = 120
# Of pytest: some tests failed. Anything else is a run that proves nothing.
TESTS_FAILED = 1

_KEY = re.compile(r"# (breaks|class|test|plays|needs): (.+)")


class StalePatch(Exception):
    """A patch that does not fit the code any more, and where."""


@dataclass
class Hunk:
    path: str
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)


@dataclass
class Mutant:
    name: str
    breaks: str
    failure_class: str
    tests: list[str]
    plays: list[str]
    needs: list[str]
    hunks: list[Hunk]


def mutants() -> list[Mutant]:
    return [read(path) for path in sorted(PATCHES.glob("*.patch"))]


def read(path: Path) -> Mutant:
    """A mutant from its file; ValueError if the file is not what it should be."""
    keys: dict[str, list[str]] = {"breaks": [], "class": [], "test": [], "plays": [], "needs": []}
    hunks: list[Hunk] = []
    target = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if not target and (key := _KEY.fullmatch(line)) is not None:
            keys[key[1]].append(key[2])
        elif line.startswith("+++ "):
            target = line.removeprefix("+++ ").split("\t")[0].removeprefix("b/")
        elif line.startswith("@@ "):
            hunks.append(Hunk(target))
        elif hunks and line[:1] in (" ", "-", "+", ""):
            _add(hunks[-1], line)
    if len(keys["breaks"]) != 1 or len(keys["class"]) != 1 or not (keys["test"] or keys["plays"]) or not hunks:
        raise ValueError(f"{path} lacks what it breaks, its class, a test, or a change")
    return Mutant(path.stem, keys["breaks"][0], keys["class"][0], keys["test"], keys["plays"], keys["needs"], hunks)


def _add(hunk: Hunk, line: str) -> None:
    if line.startswith("--- "):
        return
    if not line.startswith("+"):
        hunk.old.append(line[1:])
    if not line.startswith("-"):
        hunk.new.append(line[1:])


def apply(mutant: Mutant, root: Path) -> None:
    """Change the files under a root as the patch says."""
    for hunk in mutant.hunks:
        path = root / hunk.path
        if not path.exists():
            raise StalePatch(f"{mutant.name}: there is no {hunk.path}")
        text = path.read_text(encoding="utf-8")
        old, new = "".join(f"{line}\n" for line in hunk.old), "".join(f"{line}\n" for line in hunk.new)
        count = len(re.findall(f"(?=\n{re.escape(old)})", f"\n{text}"))
        if count != 1:
            raise StalePatch(f"{mutant.name}: these lines are in {hunk.path} {count} times, not once:\n{old}")
        path.write_text(f"\n{text}".replace(f"\n{old}", f"\n{new}")[1:], encoding="utf-8")
        _forget_compiled(path)


def restore(mutant: Mutant, root: Path) -> None:
    """Take a mistake out of a copy again, so that the copy and all that is compiled in it serve the next one."""
    for hunk in mutant.hunks:
        if (ROOT / hunk.path).exists():
            shutil.copyfile(ROOT / hunk.path, root / hunk.path)
            _forget_compiled(root / hunk.path)


def _forget_compiled(path: Path) -> None:
    """Python tells by seconds and sizes whether a compiled file is of this source: that is too coarse."""
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
        compiled.unlink()


def copy_code(target: Path) -> None:
    """What the tests run on, as source: what is compiled from it would hide a mistake."""
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns(".*", "*.so"))
        else:
            shutil.copy2(ROOT / name, target / name)


def run_tests(tests: list[str], root: Path, *, seconds_max: int = SECONDS_MAX) -> subprocess.CompletedProcess[str]:
    """Run tests on the code under a root, in a process that finds no other."""
    ours = ("PYTEST_", "COV_", "PYTHONDONTWRITEBYTECODE")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return subprocess.run(
        (sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests),
        cwd=root,
        env={**environment, "PYTHONPATH": str(root)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds_max,
        check=False,
    )
