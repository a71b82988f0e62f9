"""`ottla groups watch`: one look after another, drawn over the last one on a terminal, as changes elsewhere.

The loop knows neither clock nor cluster: looks and pauses come in, so that tests need wait for neither.
"""

from __future__ import annotations

import argparse
import io
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator

from ottla.commands import EXIT_OK
from ottla.commands.asking import asking
from ottla.commands.group_commands import described
from ottla.commands.group_rows import OFFSET_COLUMNS, head_text
from ottla.commands.terminal import Column, Redrawn, Row, Table, Terminal
from ottla.commands.text_form import compact_json, printable, time_text

# The lines above the partitions and the one below.
FRAME_LINES = 3
WATCH_COLUMNS: tuple[Column, ...] = OFFSET_COLUMNS[:6]


def watch(parsed: argparse.Namespace) -> int:
    with asking(parsed) as client:

        def looks() -> Iterator[Row]:
            count = 0
            while True:
                (row,) = described(client, [parsed.group])
                yield row
                count += 1
                if count == parsed.count:
                    return
                time.sleep(parsed.interval)

        terminal = Terminal(sys.stdout)
        if terminal.is_terminal and not parsed.json:
            redraw(terminal, looks(), line_count_max=shutil.get_terminal_size().lines - 1)
        else:
            write_changes(terminal, looks(), now_ms=lambda: time.time_ns() // 1_000_000, as_json=parsed.json)
    return EXIT_OK


def redraw(terminal: Terminal, looks: Iterable[Row], *, line_count_max: int) -> None:
    """The table, each time in the same place; what does not fit on the screen is counted."""
    screen = Redrawn(terminal)
    row_count_max = max(1, line_count_max - FRAME_LINES)
    for row in looks:
        drawn = Terminal(io.StringIO(), colours=terminal.colours)
        drawn.line(drawn.bold(head_text(row)))
        with Table(drawn, WATCH_COLUMNS) as table:
            for one in row["offsets"][:row_count_max]:
                table.row(one)
            if len(row["offsets"]) > row_count_max:
                table.line(f"and {len(row['offsets']) - row_count_max} more")
        assert isinstance(drawn.stream, io.StringIO)
        screen.draw(drawn.stream.getvalue())


def write_changes(terminal: Terminal, looks: Iterable[Row], *, now_ms: Callable[[], int], as_json: bool) -> None:
    """A line for every partition whose offsets or holder changed since the last look; all of them at the first."""
    last: dict[tuple[str, int], Row] = {}
    for row in looks:
        at_ms = now_ms()
        for one in row["offsets"]:
            place = (one["topic"], one["partition"])
            if last.get(place) == one:
                continue
            last[place] = one
            terminal.line(_line({"time": at_ms, "groupId": row["groupId"], "state": row["state"], **one}, as_json))
        terminal.stream.flush()


def _line(change: Row, as_json: bool) -> str:
    if as_json:
        return compact_json(change)
    committed = "-" if change["committedOffset"] is None else change["committedOffset"]
    end = "?" if change["endOffset"] is None else change["endOffset"]
    lag = "?" if change["lag"] is None else change["lag"]
    place = printable(f"{change['topic']}-{change['partition']}")
    return f"{time_text(change['time'])} {place} committed={committed} next={end} lag={lag}"
