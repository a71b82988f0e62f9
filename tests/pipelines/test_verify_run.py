"""What is asked around a comparison. The whole of it, on Spark: compat_tests/pipelines/test_verify.py."""

from __future__ import annotations

import json

import pytest

from ottla import cli
from ottla.client.metadata import TopicPartition
from ottla.commands import UsageError
from ottla.pipelines.verify_run import check_arguments, reading_options


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--from", "x:1", "--to", "y:1"], "say which topics"),
        (["a", "--pattern", "a", "--from", "x:1", "--to", "y:1"], "say which topics"),
        (["--pattern", "a", "--from-archive", "x", "--to", "y:1"], "--pattern chooses among the topics of a cluster"),
        (["--from-archive", "x", "--to-archive", "y"], "one of the two has to be a cluster"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(words: list[str], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        check_arguments(cli.parser("pipeline").parse_args(["pipeline", "verify", *words]))


@pytest.mark.parametrize("words", [["a", "--from", "x:1", "--to", "y:1"], ["--from-archive", "x", "--to", "y:1"]])
def test_arguments_that_fit_are_taken(words: list[str]) -> None:
    check_arguments(cli.parser("pipeline").parse_args(["pipeline", "verify", *words]))


def test_the_options_of_the_format_fix_the_extent() -> None:
    starts = {TopicPartition("a", 0): 5, TopicPartition("a", 1): 0, TopicPartition("b", 0): 7}
    options = reading_options("x:1", starts, dict.fromkeys(starts, 9))
    assert json.loads(options["assign"]) == {"a": [0, 1], "b": [0]}
    assert json.loads(options["startingOffsets"]) == {"a": {"0": 5, "1": 0}, "b": {"0": 7}}
    assert json.loads(options["endingOffsets"]) == {"a": {"0": 9, "1": 9}, "b": {"0": 9}}
    assert options["kafka.bootstrap.servers"] == "x:1"
    assert (options["includeHeaders"], options["kafka.isolation.level"]) == ("true", "read_committed")
