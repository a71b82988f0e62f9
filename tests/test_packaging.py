"""What a user gets: the wheel, and `pip install .` into an empty environment.

The versions that pip picks there are held to the pins of the extra `dev`, so the gate does not change by itself.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

import ottla

pytestmark = pytest.mark.packaging

ROOT = Path(__file__).resolve().parent.parent
PINS: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]["dev"]
# They come with a virtual environment, or are what is being tested.
NOT_PINNED = {"pip", "setuptools", "wheel", "ottla"}
BUILD = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir")
COMPILED, SOURCE = "ottla.wire.records.compiled_look", "ottla.wire.records.look"


def run(command: Sequence[str | Path], **environment: str) -> str:
    """Run a command and return what it printed; its errors are shown if it fails."""
    finished = finish(command, **environment)
    assert finished.returncode == 0, f"{command}\n{finished.stdout}\n{finished.stderr}"
    return finished.stdout.strip()


def finish(command: Sequence[str | Path], **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command],
        cwd=ROOT,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def built(directory: Path, **environment: str) -> Path:
    run([*BUILD, directory, ROOT], **environment)
    (wheel,) = directory.glob("*.whl")
    return wheel


def looks_with(python: str | Path, **environment: str) -> str:
    """The module by which records are looked into."""
    return run([python, "-P", "-c", "from ottla.wire.records.check import look; print(look.__module__)"], **environment)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin directory of an environment that was empty before `pip install .`."""
    directory = tmp_path_factory.mktemp("empty")
    constraints = directory / "constraints.txt"
    constraints.write_text("\n".join(PINS), encoding="utf-8")
    venv.create(directory / "venv", with_pip=True)
    programs = directory / "venv" / "bin"
    run([programs / "python", "-m", "pip", "install", "--quiet", "."], PIP_CONSTRAINT=str(constraints))
    return programs


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"ottla", f"ottla-{ottla.__version__}.dist-info"}
    assert [name for name in names if re.search(r"(^|/)(tests?|conftest\.py)(/|$)|/test_", name)] == []


def test_the_wheel_is_typed_and_carries_its_license(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "ottla/py.typed" in names
    assert [name for name in names if name.endswith("/LICENSE")]


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    written = {str(path.relative_to(ROOT)) for path in (ROOT / "ottla").rglob("*.py")}
    assert written <= set(zipfile.ZipFile(wheel).namelist())


def test_a_fresh_install_answers_with_its_version(installed: Path) -> None:
    assert run([installed / "ottla", "--version"]) == f"ottla {ottla.__version__}"
    assert run([installed / "python", "-m", "ottla", "--version"]) == f"ottla {ottla.__version__}"


def test_a_fresh_install_adds_one_name_and_speaks_the_protocol(installed: Path) -> None:
    top_level = "import importlib.metadata as m; print(*{f.parts[0] for f in m.files('ottla')} - {'..'})"
    names = run([installed / "python", "-I", "-c", top_level]).split()
    assert sorted(names) == ["ottla", f"ottla-{ottla.__version__}.dist-info"]
    assert "def " in run([installed / "ottla", "describe-codec", "FetchRequest", "17"])


def test_a_fresh_install_looks_into_records_with_what_was_compiled(wheel: Path, installed: Path) -> None:
    assert not wheel.name.endswith("-none-any.whl")
    assert looks_with(installed / "python") == COMPILED


@pytest.mark.parametrize("environment", [{"OTTLA_COMPILE": "no"}, {"CC": "false"}], ids=["unwanted", "no compiler"])
def test_a_wheel_without_what_is_compiled_is_one_for_all(tmp_path: Path, environment: dict[str, str]) -> None:
    wheel = built(tmp_path, **environment)
    assert wheel.name.endswith("-py3-none-any.whl")
    assert [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".so")] == []
    unpacked = tmp_path / "unpacked"
    zipfile.ZipFile(wheel).extractall(unpacked)
    assert looks_with(sys.executable, PYTHONPATH=str(unpacked)) == SOURCE


def test_who_insists_on_compiling_is_told_that_it_cannot_be_done(tmp_path: Path) -> None:
    finished = finish([*BUILD, tmp_path, ROOT], OTTLA_COMPILE="yes", CC="false")
    assert finished.returncode != 0
    assert "CannotCompile" in finished.stdout + finished.stderr


def test_every_distribution_that_the_gate_installed_is_pinned() -> None:
    pinned = {normalized(pin.partition("==")[0]) for pin in PINS}
    installed = {normalized(distribution.name) for distribution in importlib.metadata.distributions()}
    assert installed - pinned - NOT_PINNED == set()


def normalized(name: str) -> str:
    """One spelling for a distribution's name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()
