"""`ottla cluster watch`: leaders, replicas and how far each has come, look after look.

On a terminal the table is drawn over the last one; elsewhere a line is written for each partition that changed. The
loop knows neither clock nor cluster: looks come in, so that tests need wait for neither.
"""

from __future__ import annotations

import argparse
import io
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from ottla.commands import EXIT_OK
from ottla.commands.asking import asking
from ottla.commands.cluster_rows import (
    OFFSET_COLUMNS,
    ask_partitions,
    ids_text,
    leader_text,
    offset_text,
    replicas_text,
    state_of,
)
from ottla.commands.terminal import Redrawn, Row, Table, Terminal, show
from ottla.commands.text_form import compact_json, count_text, printable, time_text
from ottla.commands.topic_commands import existing

# The line above the table, its title, and the one below.
FRAME_LINES = 3


def watch(parsed: argparse.Namespace) -> int:
    with asking(parsed) as client:
        if parsed.topics:
            existing(client, parsed.topics)  # whoever mistyped a name is told the right one
        names = parsed.topics or None

        def looks() -> Iterator[list[Row]]:
            count = 0
            while True:
                yield client.call(ask_partitions, names)
                count += 1
                if count == parsed.count:
                    return
                time.sleep(parsed.interval)

        terminal = Terminal(sys.stdout)
        if parsed.once:
            show(terminal, OFFSET_COLUMNS, client.call(ask_partitions, names), as_json=parsed.json)
        elif terminal.is_terminal and not parsed.json:
            redraw(terminal, looks(), line_count_max=shutil.get_terminal_size().lines - 1)
        else:
            write_changes(terminal, looks(), now_ms=lambda: time.time_ns() // 1_000_000, as_json=parsed.json)
    return EXIT_OK


def head_text(rows: Sequence[Row]) -> str:
    bad = [row for row in rows if state_of(row) != "ok"]
    lagging = sum(1 for row in rows for one in row["replicas"] if one["lag"])
    return (
        f"{count_text(len(rows), 'partition')}, {len(bad)} not in sync, {count_text(lagging, 'replica')} "
        f"{'lags' if lagging == 1 else 'lag'}"
    )


def redraw(terminal: Terminal, looks: Iterable[list[Row]], *, line_count_max: int) -> None:
    """The table, each time in the same place; where not all fit, those first that are not as they should be."""
    screen = Redrawn(terminal)
    row_count_max = max(1, line_count_max - FRAME_LINES)
    for rows in looks:
        drawn = Terminal(io.StringIO(), colours=terminal.colours)
        drawn.line(drawn.bold(head_text(rows)))
        shown = rows
        if len(rows) > row_count_max:
            shown = sorted(rows, key=lambda row: state_of(row) == "ok")[:row_count_max]
        with Table(drawn, OFFSET_COLUMNS) as table:
            for row in shown:
                table.row(row)
            if len(rows) > len(shown):
                table.line(f"and {len(rows) - len(shown)} more")
        assert isinstance(drawn.stream, io.StringIO)
        screen.draw(drawn.stream.getvalue())


def write_changes(terminal: Terminal, looks: Iterable[list[Row]], *, now_ms: Callable[[], int], as_json: bool) -> None:
    """A line for every partition that is not as it was at the last look; all of them at the first."""
    last: dict[tuple[str, int], Row] = {}
    for rows in looks:
        at_ms = now_ms()
        for row in rows:
            place = (row["topic"], row["partition"])
            if last.get(place) == row:
                continue
            last[place] = row
            terminal.line(_line({"time": at_ms, **row}, as_json))
        terminal.stream.flush()


def _line(row: Row, as_json: bool) -> str:
    if as_json:
        return compact_json(row)
    place = printable(f"{row['topic']}-{row['partition']}")
    return (
        f"{time_text(row['time'])} {place} leader={leader_text(row)} isr={ids_text(row['inSync'])} "
        f"osr={ids_text(row['outOfSync'])} hw={offset_text(row['highWatermark'])} leo={replicas_text(row)}"
    )
