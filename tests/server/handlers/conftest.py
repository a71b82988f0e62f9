"""A world for each test of handlers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.handler_world import World, a_world
from tests.server.handlers.group_world import GroupWorld, a_group_world


@pytest.fixture
def world(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[World]:
    """A broker with one node. `@pytest.mark.parametrize("world", [{...}], indirect=True)` sets keys."""
    with a_world(tmp_path, getattr(request, "param", {})) as made:
        yield made


@pytest.fixture
def groups(tmp_path: Path) -> Iterator[GroupWorld]:
    """The same with the topic that keeps groups."""
    with a_group_world(tmp_path) as made:
        yield made
