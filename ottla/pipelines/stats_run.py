"""`ottla pipeline stats`, as it runs: asked, counted, told, drawn. What is counted: stats_frames.py."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ottla.commands import EXIT_OK, UsageError
from ottla.commands.terminal import Row, Terminal, show
from ottla.commands.text_form import compact_json
from ottla.pipelines import PipelineFailed
from ottla.pipelines.archive_run import Source, asked_source
from ottla.pipelines.job_progress import progress_shown
from ottla.pipelines.running import pipeline_session
from ottla.pipelines.stats_frames import key_rows, measured, partition_rows, time_rows, topic_rows
from ottla.pipelines.stats_plot import check_path, write_plot
from ottla.pipelines.stats_report import (
    KEY_COLUMNS,
    PARTITION_COLUMNS,
    TOPIC_COLUMNS,
    bucket_ms,
    span_text,
    topic_reports,
)
from ottla.pipelines.streaming import StatusLine


def stats(parsed: argparse.Namespace) -> int:
    if bool(parsed.topics) == (parsed.pattern is not None):
        raise UsageError("name topics, or give a --pattern")
    if parsed.plot is not None:
        check_path(parsed.plot)
    source = asked_source(parsed)
    if not source.partitions:
        raise PipelineFailed(f"no topic matches {parsed.pattern!r}; `ottla topics list` shows the topics")
    reports = counted(parsed, source)
    tell(Terminal(sys.stdout), reports, as_json=parsed.json)
    return EXIT_OK


def counted(parsed: argparse.Namespace, source: Source) -> list[Row]:
    """The reports; drawn as well if that is asked for."""
    status = StatusLine()
    with pipeline_session(parsed) as session, measured(session, reading_options(parsed, source)) as frame:
        with progress_shown(session, "reading topics", status):
            topics = topic_rows(frame)
        with progress_shown(session, "counting partitions and keys", status):
            partitions, keys = partition_rows(frame), key_rows(frame, parsed.keys)
        partition_counts = {topic: len(numbers) for topic, numbers in source.partitions.items()}
        reports = topic_reports(topics, partitions, keys, partition_counts)
        if parsed.plot is not None:
            status.show("drawing ...")
            first_ms = min((row["first_ms"] for row in topics), default=0)
            width_ms = bucket_ms(first_ms, max((row["last_ms"] for row in topics), default=0), parsed.buckets)
            times: dict[str, list[Row]] = {}
            for row in time_rows(frame, width_ms):
                times.setdefault(row["topic"], []).append(row)
            write_plot(parsed.plot, reports, times, width_ms)
        status.erase()
    return reports


def reading_options(parsed: argparse.Namespace, source: Source) -> dict[str, str]:
    """Options of the `kafka` format. The topics are those that were found, so that both see the same."""
    options = {
        "kafka.bootstrap.servers": source.bootstrap,
        "subscribe": ",".join(source.partitions),
        "startingOffsets": "earliest",
        "endingOffsets": "latest",
    }
    return options | {f"kafka.{key}": value for key, value in parsed.client}


def tell(terminal: Terminal, reports: Sequence[Row], *, as_json: bool) -> None:
    if as_json:
        for report in reports:
            terminal.line(compact_json(report))
        return
    told = [report for report in reports if report["records"]]
    for report in reports:
        if not report["records"]:
            terminal.line(f"{report['topic']} has no records")
    if told:
        show(terminal, TOPIC_COLUMNS, told, as_json=False)
    for report in told:
        terminal.line()
        terminal.line(f"{terminal.bold(report['topic'])}, {span_text(report)}")
        show(terminal, PARTITION_COLUMNS, report["byPartition"], as_json=False)
        if report["byKey"]:
            terminal.line()
            show(terminal, KEY_COLUMNS, report["byKey"], as_json=False)
