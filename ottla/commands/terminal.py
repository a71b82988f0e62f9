"""Where a command writes: lines, aligned tables, colours on a terminal only, and progress that erases itself.

Knows nothing of what it shows. A table is written by the block, so that a log of millions of batches needs no more
memory than one of a hundred; from block to block columns only grow wider.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, NamedTuple, TextIO

from ottla.commands.text_form import compact_json, printable

BLOCK_ROWS = 100

_BOLD, _DIM, _RED, _GREEN, _YELLOW = 1, 2, 31, 32, 33


class Terminal:
    """A stream, with colours if it is a terminal and the user has not switched them off (NO_COLOR)."""

    def __init__(self, stream: TextIO, *, colours: bool | None = None) -> None:
        self.stream = stream
        self.is_terminal = stream.isatty()
        self.colours = self.is_terminal and not os.environ.get("NO_COLOR") if colours is None else colours

    def line(self, text: str = "") -> None:
        self.stream.write(text + "\n")

    def bold(self, text: str) -> str:
        return self._painted(text, _BOLD)

    def dim(self, text: str) -> str:
        return self._painted(text, _DIM)

    def bad(self, text: str) -> str:
        return self._painted(text, _RED)

    def good(self, text: str) -> str:
        return self._painted(text, _GREEN)

    def remarkable(self, text: str) -> str:
        return self._painted(text, _YELLOW)

    def _painted(self, text: str, colour: int) -> str:
        return f"\033[{colour}m{text}\033[0m" if self.colours else text


Row = dict[str, Any]


class Column(NamedTuple):
    """A title, how to show a row's value, whether it is a number, and in which rows one should notice it."""

    title: str
    show: Callable[[Row], str]
    is_number: bool = False
    is_remarkable: Callable[[Row], bool] | None = None


class Cell(NamedTuple):
    text: str
    is_remarkable: bool = False


class Table:
    """Rows in columns, with lines in between that span all of them. Everything is written at the end of the `with`."""

    def __init__(self, terminal: Terminal, columns: Sequence[Column]) -> None:
        self.terminal = terminal
        self.columns = columns
        self.widths = [len(column.title) for column in columns]
        self.pending: list[list[Cell] | str] = [[Cell(column.title) for column in columns]]
        self.is_first = True

    def __enter__(self) -> Table:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not isinstance(error, BrokenPipeError):
            self.write()

    def row(self, row: Row) -> None:
        self._add(
            [
                Cell(printable(column.show(row)), column.is_remarkable is not None and column.is_remarkable(row))
                for column in self.columns
            ]
        )

    def line(self, text: str) -> None:
        self._add(text)

    def _add(self, cells: list[Cell] | str) -> None:
        self.pending.append(cells)
        if len(self.pending) >= BLOCK_ROWS:
            self.write()

    def write(self) -> None:
        rows = [cells for cells in self.pending if isinstance(cells, list)]
        for number in range(len(self.widths)):
            self.widths[number] = max([self.widths[number], *(len(cells[number].text) for cells in rows)])
        for cells in self.pending:
            text = cells if isinstance(cells, str) else self._aligned(cells)
            self.terminal.line(self.terminal.bold(text) if self.is_first else text)
            self.is_first = False
        self.pending = []

    def _aligned(self, cells: list[Cell]) -> str:
        padded = []
        for cell, width, column in zip(cells, self.widths, self.columns, strict=True):
            blanks = " " * (width - len(cell.text))
            text = self.terminal.remarkable(cell.text) if cell.is_remarkable else cell.text
            padded.append(blanks + text if column.is_number else text + blanks)
        return "  ".join(padded).rstrip()


def show(terminal: Terminal, columns: Sequence[Column], rows: Iterable[Row], *, as_json: bool) -> None:
    """Rows as a table, or each as a JSON object on a line of its own."""
    if as_json:
        for row in rows:
            terminal.line(compact_json(row))
        return
    with Table(terminal, columns) as table:
        for row in rows:
            table.row(row)


class Redrawn:
    """Lines of a terminal that are written again in the same place, over those of the last time."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.line_count = 0

    def draw(self, text: str) -> None:
        if self.line_count:
            self.terminal.stream.write(f"\033[{self.line_count}A\033[J")
        self.terminal.stream.write(text)
        self.terminal.stream.flush()
        self.line_count = text.count("\n")


class Tally:
    """How much has been done of work whose end is not known, on one line of a terminal that is erased in the end."""

    def __init__(self, stream: TextIO, what: str) -> None:
        self.stream = stream
        self.what = what
        self.is_written = False

    def reached(self, done: int) -> None:
        if self.stream.isatty():
            self.stream.write(f"\r{self.what}: {done:,}")
            self.stream.flush()
            self.is_written = True

    def erase(self) -> None:
        if self.is_written:
            self.stream.write("\r\033[K")
            self.stream.flush()
            self.is_written = False


class Progress:
    """How much of the work is done, on one line of a terminal that is erased in the end; elsewhere nothing."""

    def __init__(self, stream: TextIO, what: str, total: int) -> None:
        self.stream = stream
        self.what = what
        self.total = total
        self.is_shown = stream.isatty() and total > 0
        self.percent = -1

    def reached(self, done: int) -> None:
        if not self.is_shown:
            return
        percent = min(100, done * 100 // self.total)
        if percent != self.percent:
            self.percent = percent
            self.stream.write(f"\r{self.what}: {percent:3d} %")
            self.stream.flush()

    def erase(self) -> None:
        if self.percent >= 0:
            self.stream.write("\r\033[K")
            self.stream.flush()
            self.percent = -1
