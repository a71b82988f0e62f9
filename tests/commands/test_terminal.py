"""Tables, colours and progress."""

from __future__ import annotations

import pytest

from ottla.commands.terminal import BLOCK_ROWS, Column, Progress, Table, Terminal
from tests.commands.sample_logs import Tty, plain

COLUMNS = (Column("NAME", lambda row: row["name"]), Column("N", lambda row: str(row["n"]), is_number=True))


def test_columns_are_aligned_and_lines_go_in_between() -> None:
    terminal, stream = plain()
    with Table(terminal, COLUMNS) as table:
        table.row({"name": "a", "n": 1})
        table.line("a remark that is wider than the table")
        table.row({"name": "longer", "n": 1000})
    assert stream.getvalue().splitlines() == [
        "NAME       N",
        "a          1",
        "a remark that is wider than the table",
        "longer  1000",
    ]


def test_a_table_is_written_by_the_block_and_its_columns_only_grow() -> None:
    terminal, stream = plain()
    with Table(terminal, COLUMNS) as table:
        table.row({"name": "longest", "n": 1})
        for number in range(BLOCK_ROWS - 2):
            table.row({"name": "x", "n": number})
        assert len(stream.getvalue().splitlines()) == BLOCK_ROWS
        table.row({"name": "y", "n": 7})
    assert stream.getvalue().splitlines()[-1] == "y         7"


def test_what_was_gathered_is_written_when_an_error_ends_the_table() -> None:
    terminal, stream = plain()
    with pytest.raises(KeyError):
        failing(Table(terminal, COLUMNS), KeyError())
    assert stream.getvalue().endswith("a     1\n")


def test_nothing_more_is_written_to_a_reader_that_has_left() -> None:
    terminal, stream = plain()
    with pytest.raises(BrokenPipeError):
        failing(Table(terminal, COLUMNS), BrokenPipeError())
    assert stream.getvalue() == ""


def failing(table: Table, error: Exception) -> None:
    with table:
        table.row({"name": "a", "n": 1})
        raise error


def test_colours_are_for_terminals_only_and_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert Terminal(Tty()).bad("x") == "\033[31mx\033[0m"
    assert plain()[0].bad("x") == "x"
    monkeypatch.setenv("NO_COLOR", "1")
    assert Terminal(Tty()).good("x") == "x"


def test_every_colour_ends_where_it_should() -> None:
    terminal, _ = plain(colours=True)
    for painted in (terminal.bold, terminal.dim, terminal.bad, terminal.good, terminal.remarkable):
        assert painted("x").endswith("mx\033[0m")


def test_progress_is_shown_on_a_terminal_once_per_percent_and_erased() -> None:
    stream = Tty()
    progress = Progress(stream, "reading", 1000)
    for done in (0, 5, 9, 10, 1000, 2000):
        progress.reached(done)
    progress.erase()
    progress.erase()
    assert stream.getvalue() == "\rreading:   0 %\rreading:   1 %\rreading: 100 %\r\033[K"


def test_there_is_no_progress_in_a_pipe_or_without_work() -> None:
    _, stream = plain()
    for progress in (Progress(stream, "reading", 1000), Progress(Tty(), "reading", 0)):
        progress.reached(500)
        progress.erase()
        assert progress.stream.getvalue() == ""  # type: ignore[attr-defined]
