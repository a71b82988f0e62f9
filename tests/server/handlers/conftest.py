"""A world for each test of the handlers of groups."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.handlers.group_world import GroupWorld, a_group_world


@pytest.fixture
def groups(tmp_path: Path) -> Iterator[GroupWorld]:
    """The world of handlers' tests, with the topic that keeps groups."""
    with a_group_world(tmp_path) as made:
        yield made
