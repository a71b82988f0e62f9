"""Tables, colours and progress."""

from __future__ import annotations

import pytest

from ottla.commands.terminal import BLOCK_ROWS, Column, Progress, Redrawn, Table, Tally, Terminal, show
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


def test_what_is_remarkable_is_coloured_and_stays_aligned() -> None:
    columns = (*COLUMNS, Column("BIG", lambda row: str(row["n"]), True, lambda row: row["n"] > 9))
    terminal, stream = plain(colours=True)
    with Table(terminal, columns) as table:
        table.row({"name": "a", "n": 1})
        table.row({"name": "b", "n": 10})
    assert stream.getvalue().splitlines()[1:] == ["a      1    1", "b     10   \033[33m10\033[0m"]


def test_rows_are_shown_as_a_table_or_as_json() -> None:
    rows = [{"name": "a", "n": 1}, {"name": "b", "n": 2}]
    terminal, stream = plain()
    show(terminal, COLUMNS, rows, as_json=False)
    assert stream.getvalue() == "NAME  N\na     1\nb     2\n"
    terminal, stream = plain()
    show(terminal, COLUMNS, rows, as_json=True)
    assert stream.getvalue() == '{"name":"a","n":1}\n{"name":"b","n":2}\n'


def test_lines_are_drawn_over_those_of_the_last_time() -> None:
    terminal, stream = plain()
    screen = Redrawn(terminal)
    for text in ("a\nb\n", "c\n", "d\n"):
        screen.draw(text)
    assert stream.getvalue() == "a\nb\n\033[2A\033[Jc\n\033[1A\033[Jd\n"


def test_a_tally_is_for_terminals_and_erased() -> None:
    stream = Tty()
    tally = Tally(stream, "records")
    tally.reached(1000)
    tally.erase()
    tally.erase()
    assert stream.getvalue() == "\rrecords: 1,000\r\033[K"
    _, pipe = plain()
    tally = Tally(pipe, "records")
    tally.reached(1000)
    tally.erase()
    assert pipe.getvalue() == ""


def test_what_a_peer_chose_cannot_give_orders_to_a_terminal() -> None:
    terminal, stream = plain()
    with Table(terminal, COLUMNS) as table:
        table.row({"name": "\033[2Jgone\n", "n": 1})
    assert stream.getvalue().splitlines()[1] == r"\x1b[2Jgone\n  1"
