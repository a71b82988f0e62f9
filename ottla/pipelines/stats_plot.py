"""Statistics of topics drawn: as a PNG, or as one HTML file that loads nothing else.

Four drawings for each topic: rate over time, records by partition, the most frequent keys, and how late records are.
The reports are those of stats_report.py; nothing is computed here.
"""

from __future__ import annotations

import html
import io
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ottla.commands import UsageError
from ottla.commands.terminal import Column, Row
from ottla.commands.text_form import shown
from ottla.pipelines import PipelineFailed
from ottla.pipelines.stats_report import KEY_COLUMNS, PARTITION_COLUMNS, TOPIC_COLUMNS, span_text

KINDS = (".html", ".png")
TOPICS_MAX = 20
LABEL_WIDTH = 16
STYLE = (
    "body{font:14px sans-serif;margin:2em;max-width:75em}table{border-collapse:collapse;margin:1em 0}"
    "td,th{padding:.2em .6em;text-align:right;border-bottom:1px solid #ddd}svg{max-width:100%;height:auto}"
    "td:first-child,th:first-child{text-align:left}"
)

Times = Mapping[str, Sequence[Mapping[str, Any]]]


def check_path(path: str) -> None:
    """UsageError before anything is read, where a drawing could not be written."""
    if Path(path).suffix.lower() not in KINDS:
        raise UsageError(f"--plot: {path} ends with none of {', '.join(KINDS)}")
    if not Path(path).absolute().parent.is_dir():
        raise UsageError(f"--plot: the directory of {path} does not exist")


def write_plot(path: str, reports: Sequence[Row], times: Times, bucket_ms: int) -> None:
    """Draw the topics that have records; the first twenty of them, where there are more."""
    drawn = [report for report in reports if report["records"]][:TOPICS_MAX]
    suffix = Path(path).suffix.lower()
    image = figure_bytes(drawn, times, bucket_ms, "png" if suffix == ".png" else "svg")
    try:
        Path(path).write_bytes(image if suffix == ".png" else page(drawn, image.decode()).encode())
    except OSError as error:
        raise PipelineFailed(f"{path} cannot be written: {error}") from error


def figure_bytes(reports: Sequence[Row], times: Times, bucket_ms: int, kind: str) -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(16, max(1, len(reports)) * 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(max(1, len(reports)), 4, squeeze=False)
    for row, report in zip(axes, reports, strict=False):
        _draw_rate(row[0], report, times.get(report["topic"], ()), bucket_ms)
        _draw_partitions(row[1], report)
        _draw_keys(row[2], report)
        _draw_lateness(row[3], report)
    for one in () if reports else axes[0]:
        one.set_axis_off()
    written = io.BytesIO()
    figure.savefig(written, format=kind, dpi=100)
    return written.getvalue()


def _draw_rate(axes: Any, report: Row, times: Sequence[Mapping[str, Any]], bucket_ms: int) -> None:
    moments = [datetime.fromtimestamp(row["at_ms"] / 1000, UTC) for row in times]
    axes.plot(moments, [row["records"] * 1000 / bucket_ms for row in times], marker=".")
    axes.set_title(f"{report['topic']}: records a second", parse_math=False)
    axes.tick_params(axis="x", rotation=30)


def _draw_partitions(axes: Any, report: Row) -> None:
    rows = report["byPartition"]
    axes.bar([row["partition"] for row in rows], [row["records"] for row in rows])
    axes.set_title(f"by partition, skew {report['partitionSkew']:.2f}")


def _draw_keys(axes: Any, report: Row) -> None:
    rows = list(reversed(report["byKey"]))
    axes.barh(range(len(rows)), [row["records"] for row in rows])
    # A key may hold anything: no dollar sign of it is taken for mathematics.
    axes.set_yticks(range(len(rows)), [shown(row["key"], LABEL_WIDTH) for row in rows], parse_math=False)
    axes.set_title(f"most frequent of {report['distinctKeys']:,} keys")


def _draw_lateness(axes: Any, report: Row) -> None:
    lateness = report["lateness"]
    axes.bar(list(lateness), [value / 1000 for value in lateness.values()])
    axes.set_title(f"seconds late; {report['late']:,} of {report['records']:,} records")


def page(reports: Sequence[Row], svg: str) -> str:
    """A page with the drawing and the tables."""
    parts = [table(TOPIC_COLUMNS, reports)]
    for report in reports:
        parts.append(f"<h2>{html.escape(report['topic'])}</h2><p>{span_text(report)}</p>")
        parts += [table(PARTITION_COLUMNS, report["byPartition"]), table(KEY_COLUMNS, report["byKey"])]
    drawing = svg[max(0, svg.find("<svg")) :]  # what comes before it is for files of its own
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Topics</title>'
        f"<style>{STYLE}</style></head><body><h1>Topics</h1>{drawing}{''.join(parts)}</body></html>\n"
    )


def table(columns: Sequence[Column], rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{html.escape(column.title)}</th>" for column in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(column.show(row))}</td>" for column in columns) + "</tr>" for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"
