"""docs/compatibility.md says what the tests of today compare."""

from __future__ import annotations

import pytest

from ottla.server.handlers.every_route import ROUTES
from ottla.wire.catalog import messages
from tools import compatibility


def test_the_page_is_current() -> None:
    written = compatibility.PAGE.read_text(encoding="utf-8")
    assert written == compatibility.page(), "run: python -m tools.compatibility"


def test_every_message_has_one_row() -> None:
    compared = compatibility.page().partition("## What the codecs were compared with")[2]
    rows = [line.split("|")[1].split()[-1] for line in compared.splitlines() if line.startswith("| ")]
    assert sorted(name for name in rows if name != "message") == sorted(messages())


@pytest.mark.parametrize(
    ("known", "text"),
    [([], "-"), ([0, 1, 2, 3], "="), ([0, 1, 3], "0-1, 3"), ([2], "2")],
)
def test_versions_are_shown_as_ranges(known: list[int], text: str) -> None:
    assert compatibility.cell(known, range(4)) == text


def test_every_route_has_one_row() -> None:
    served = compatibility.page().partition("## Clients that were run against it")[0]
    rows = [line.split("|")[1].split()[0] for line in served.splitlines() if line.startswith("| ")]
    assert [row for row in rows if row != "API"] == [str(key) for key in sorted(int(route.key) for route in ROUTES)]
