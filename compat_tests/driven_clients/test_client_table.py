"""docs/clients.md says what the tests of today do with each client."""

from __future__ import annotations

from compat_tests.driven_clients.programs import CLIENTS
from tools import client_table


def test_the_page_is_current() -> None:
    assert client_table.PAGE.read_text(encoding="utf-8") == client_table.page(), "run: python -m tools.client_table"


def test_every_client_has_one_row() -> None:
    rows = [line.split("|")[1].strip() for line in client_table.page().splitlines() if line.startswith("| ")]
    assert rows == ["client", *(client.name for client in CLIENTS)]
