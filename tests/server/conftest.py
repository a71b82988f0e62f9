"""A world for each test that calls handlers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.handler_world import World, a_world


@pytest.fixture
def world(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[World]:
    """A broker with one node. `@pytest.mark.parametrize("world", [{...}], indirect=True)` sets keys."""
    with a_world(tmp_path, getattr(request, "param", {})) as made:
        yield made
