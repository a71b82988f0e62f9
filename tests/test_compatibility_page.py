"""docs/compatibility.md says what the tests of today compare."""

from __future__ import annotations

import pytest

from ottla.wire.catalog import messages
from tools import compatibility


def test_the_page_is_current() -> None:
    written = compatibility.PAGE.read_text(encoding="utf-8")
    assert written == compatibility.page(), "run: python -m tools.compatibility"


def test_every_message_has_one_row() -> None:
    rows = [line.split("|")[1].split()[-1] for line in compatibility.page().splitlines() if line.startswith("| ")]
    assert sorted(name for name in rows if name != "message") == sorted(messages())


@pytest.mark.parametrize(
    ("known", "text"),
    [([], "-"), ([0, 1, 2, 3], "="), ([0, 1, 3], "0-1, 3"), ([2], "2")],
)
def test_versions_are_shown_as_ranges(known: list[int], text: str) -> None:
    assert compatibility.cell(known, range(4)) == text
