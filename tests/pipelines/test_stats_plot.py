"""Drawings are what their names say, and nothing in a topic can break them or get out of them."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from ottla.commands import UsageError
from ottla.pipelines import PipelineFailed
from ottla.pipelines.stats_plot import check_path, write_plot
from ottla.pipelines.stats_report import topic_reports
from tests.pipelines.counted_rows import counted

HOSTILE = b"<script>$\\frac$&"


def reports() -> list[dict[str, Any]]:
    keys = [counted(60, key=bytearray(HOSTILE)), counted(1, key=bytearray(b""))]
    return topic_reports([counted(100)], [counted(100, partition=0)], keys, {"orders": 3, "empty": 1})


TIMES = {"orders": [{"at_ms": 1_700_000_000_000 + number * 1000, "records": 10} for number in range(10)]}


class Page(HTMLParser):
    """What a browser would load or run, and what it would show."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.shown = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href")]

    def handle_data(self, data: str) -> None:
        self.shown += data


def test_a_png_is_one(tmp_path: Path) -> None:
    path = tmp_path / "drawn.PNG"
    write_plot(str(path), reports(), TIMES, 1000)
    assert path.read_bytes().startswith(b"\x89PNG\r\n")
    assert path.stat().st_size > 10_000


def test_a_page_has_drawing_and_tables_and_loads_nothing(tmp_path: Path) -> None:
    path = tmp_path / "drawn.html"
    write_plot(str(path), reports(), TIMES, 1000)
    page = Page(path.read_text(encoding="utf-8"))
    assert page.tags.count("svg") == 1
    assert page.tags.count("table") == 3
    assert "script" not in page.tags
    assert [address for address in page.addresses if not address.startswith("#")] == []
    assert "<script>$" in page.shown, "the key is there, as text"


def test_nothing_to_draw_is_drawn_as_nothing(tmp_path: Path) -> None:
    write_plot(str(tmp_path / "a.html"), [], {}, 1000)
    write_plot(str(tmp_path / "a.png"), topic_reports([], [], [], {"empty": 1}), {}, 1000)
    assert len(list(tmp_path.iterdir())) == 2


def test_where_it_cannot_be_written_is_told_before_and_after(tmp_path: Path) -> None:
    check_path(str(tmp_path / "a.html"))
    for wrong in ("a.pdf", "a", str(tmp_path / "none" / "a.png")):
        with pytest.raises(UsageError, match="--plot"):
            check_path(wrong)
    (tmp_path / "b.png").mkdir()
    with pytest.raises(PipelineFailed, match="cannot be written"):
        write_plot(str(tmp_path / "b.png"), [], {}, 1000)
