"""`pip install 'ottla[spark]'` brings every module that the pipelines load: nothing is there by chance."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_extra_brings_all_that_pipelines_import() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    brought = with_what_they_need([*project["dependencies"], *project["optional-dependencies"]["spark"]])
    found_in = importlib.metadata.packages_distributions()
    modules = {module for path in (ROOT / "ottla" / "pipelines").glob("*.py") for module in imported(path)}
    foreign = modules - set(sys.stdlib_module_names) - {"ottla"}
    assert {"fastavro", "matplotlib", "numpy", "pyarrow", "pyspark"} <= foreign
    missing = {module for module in foreign if brought.isdisjoint(map(normalized, found_in[module]))}
    assert missing == set()


def imported(path: Path) -> Iterator[str]:
    """The first part of the name of every module that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module).partition(".")[0]


def with_what_they_need(requirements: Iterable[str]) -> set[str]:
    """The distributions that are named, and those that they need without an extra of theirs."""
    found: set[str] = set()
    waiting = list(requirements)
    while waiting:
        requirement = waiting.pop()
        form = re.match(r"[\w.-]+", requirement)
        assert form is not None, requirement
        name = normalized(form[0])
        if name in found or "extra ==" in requirement:
            continue
        found.add(name)
        try:
            waiting += importlib.metadata.requires(name) or ()
        except importlib.metadata.PackageNotFoundError:  # for another Python, or another system
            continue
    return found


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
