"""Every place that the walks through the code name is there: files, classes, methods, functions."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("docs/walk-produce.md", "docs/walk-fetch.md", "docs/non-obvious.md")
PLACE = re.compile(r"`((?:ottla|tests)/[\w/]+\.py)(?:: ([\w.]+))?`")


def places(page: str) -> list[tuple[str, str | None]]:
    return [(path, name or None) for path, name in PLACE.findall((ROOT / page).read_text())]


def defines(tree: ast.AST, name: str) -> bool:
    """Whether a module has this class or function; `Class.method` is looked for inside of the class."""
    first, _, rest = name.partition(".")
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name == first:
            return not rest or defines(node, rest)
    return False


@pytest.mark.parametrize("page", PAGES)
def test_every_place_on_the_page_exists(page: str) -> None:
    found = places(page)
    assert len(found) >= 10
    missing = []
    for path, name in found:
        file = ROOT / path
        if not file.is_file() or (name is not None and not defines(ast.parse(file.read_text()), name)):
            missing.append(f"{path}: {name}")
    assert missing == []


@pytest.mark.parametrize("page", PAGES)
def test_nothing_on_the_page_looks_like_a_place_and_is_not_checked(page: str) -> None:
    text = (ROOT / page).read_text()
    assert len(re.findall(r"(?:ottla|tests)/[\w/]+\.py", text)) == len(places(page))


def test_what_is_not_there_is_found_out() -> None:
    tree = ast.parse("class A:\n    def b(self): ...\n\ndef c(): ...\n")
    assert all(defines(tree, name) for name in ("A", "A.b", "c"))
    assert not any(defines(tree, name) for name in ("b", "A.c", "d", "c.b"))
