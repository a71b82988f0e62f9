"""Every block of docs/testing-with-ottla.md is a file of tests, and all of them pass as they stand there.

The one that needs a Docker engine is run in compat_tests/containers.
"""

from __future__ import annotations

import re
from pathlib import Path

from ottla.testing import Broker
from tests.testing.own_pytest import run_pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "testing-with-ottla.md"
BLOCK = re.compile(r"^```python\n# (\w+)\.py\n(.*?)^```$", re.MULTILINE | re.DOTALL)
IN_CONTAINERS = "test_in_containers"


def test_the_blocks_run_and_every_one_is_run(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    blocks = BLOCK.findall(text)
    assert len(dict(blocks)) == len(blocks) == text.count("```") // 2
    here = {name: block for name, block in blocks if name != IN_CONTAINERS}
    said, status = run_pytest(tmp_path, **here)
    expected = len(re.findall(r"^def test_", "".join(here.values()), re.MULTILINE))
    assert expected >= 8
    assert (status, said.splitlines()[-1].split(" in ")[0]) == (0, f"{expected} passed"), said


def test_every_method_on_the_page_is_there() -> None:
    named = set(re.findall(r"`(\w+)\(", PAGE.read_text(encoding="utf-8"))) - {"Broker"}
    assert len(named) > 8
    assert [name for name in named if not callable(getattr(Broker, name, None))] == []
