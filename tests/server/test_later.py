"""What a node loads once it serves is not loaded before, and all of it is then."""

from __future__ import annotations

import subprocess
import sys

from ottla.server.later import MODULES

SECONDS_MAX = 60


def printed(code: str) -> set[str]:
    """What a new interpreter prints, in words."""
    finished = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=SECONDS_MAX
    )
    return set(finished.stdout.split())


def test_none_of_it_is_loaded_by_a_node_itself() -> None:
    assert printed("import sys, ottla.server.node; print(*sys.modules)") & set(MODULES) == set()


def test_everything_is_loaded_in_the_end_and_little_at_once() -> None:
    slowly = """
import sys, trio
from ottla.server import later
later.PATIENCE_SECONDS = later.PAUSE_SECONDS = 0.0
trio.run(later.load_slowly)
before = set(sys.modules)
import ottla.server.coordinating, ottla.server.handlers.every_route
print(*set(sys.modules) - before)
"""
    assert printed(slowly) == set()
    # The step that imports most: a list that has grown stale would leave nearly all of it to one of them.
    steps = f"""
import sys
from importlib import import_module
import ottla.server.node
for name in {MODULES}:
    before = set(sys.modules)
    import_module(name)
    print(sum(new.startswith("ottla") for new in set(sys.modules) - before))
"""
    assert max(map(int, printed(steps))) < 30
