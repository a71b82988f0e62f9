"""What is told of topics, and what is asked before. With a real Spark: compat_tests/pipelines/test_stats.py."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from ottla import cli
from ottla.commands import UsageError
from ottla.commands.terminal import Terminal
from ottla.pipelines.archive_run import Source
from ottla.pipelines.stats_report import topic_reports
from ottla.pipelines.stats_run import reading_options, stats, tell
from tests.pipelines.counted_rows import counted


def parsed(*words: str) -> Any:
    return cli.parser("pipeline").parse_args(["pipeline", "stats", *words])


@pytest.mark.parametrize("words", [[], ["a", "--pattern", "b"], ["a", "--plot", "a.txt"]])
def test_what_cannot_be_meant_is_a_mistake_before_anything_is_asked(words: list[str]) -> None:
    with pytest.raises(UsageError):
        stats(parsed(*words))


def test_the_options_of_the_source_name_the_topics_that_were_found() -> None:
    options = reading_options(
        parsed("--pattern", "x", "--client", "a.b=c"), Source("host:1", "id", {"x": (0,), "y": (0,)})
    )
    assert (options["subscribe"], options["kafka.bootstrap.servers"], options["kafka.a.b"]) == ("x,y", "host:1", "c")
    assert (options["startingOffsets"], options["endingOffsets"]) == ("earliest", "latest")


def told(*, as_json: bool) -> list[str]:
    partitions = [counted(100, partition=0)]
    reports = topic_reports([counted(100)], partitions, [counted(9, key=bytearray(b"k"))], {"orders": 1, "empty": 2})
    stream = io.StringIO()
    tell(Terminal(stream, colours=False), reports, as_json=as_json)
    return stream.getvalue().splitlines()


def test_tables_for_people_and_an_object_per_topic_for_programs() -> None:
    lines = told(as_json=False)
    assert lines[0] == "empty has no records"
    assert [line.split()[0] for line in lines if line][1:] == [
        "TOPIC",
        "orders",
        "orders,",
        "PARTITION",
        "0",
        "KEY",
        '"k"',
    ]
    assert [json.loads(line)["topic"] for line in told(as_json=True)] == ["empty", "orders"]
