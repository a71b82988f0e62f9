"""What pipelines share: their arguments, and how a failure of Spark becomes a sentence."""

from __future__ import annotations

import argparse
import os
import signal

import pytest

from ottla.commands import CommandFailed
from ottla.pipelines import PipelineFailed, running
from ottla.pipelines.running import add_pipeline, failures_told, reason_of, stopped_by_sigterm, told


def parsed(*words: str, asks_one_cluster: bool = True) -> argparse.Namespace:
    root = argparse.ArgumentParser()
    add_pipeline(
        root.add_subparsers(),
        "copy",
        "copy_run:copy",
        summary="copy",
        more="Copy.",
        examples="",
        asks_one_cluster=asks_one_cluster,
    )
    return root.parse_args(["copy", *words])


def test_words_become_values() -> None:
    found = parsed("--master", "spark://host:1", "--conf", "a.b=c=d", "--conf", "e=f", "-b", "host:9092", "--json")
    assert (found.master, found.conf) == ("spark://host:1", [("a.b", "c=d"), ("e", "f")])
    assert (found.bootstrap_server, found.json, found.pipeline) == ("host:9092", True, "copy")
    usual = parsed(asks_one_cluster=False)
    assert (usual.master, usual.conf, usual.json) == ("local[*]", [], False)
    assert not hasattr(usual, "bootstrap_server")


JAVA = """An error occurred while calling o1.load.
: org.apache.spark.SparkException: Job aborted.
\tat org.apache.spark.Foo.bar(Foo.scala:1)
Caused by: java.util.concurrent.ExecutionException: wrapped
\tat x.y
Caused by: org.apache.kafka.common.errors.TimeoutException: no brokers: none
\t... 3 more
"""


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (JAVA, "no brokers: none"),
        ("\n[PARSE_SYNTAX_ERROR] Syntax error at 'x'.\nmore", "[PARSE_SYNTAX_ERROR] Syntax error at 'x'."),
        ("java.lang.IllegalStateException: gone", "gone"),
        ("", "no reason given"),
    ],
)
def test_the_innermost_reason_is_found(said: str, reason: str) -> None:
    assert reason_of(said) == reason


class SparkSaid(Exception):
    __module__ = "pyspark.errors.exceptions.captured"


def test_failures_are_told_in_one_sentence_and_our_own_mistakes_are_not_hidden() -> None:
    with pytest.raises(CommandFailed, match=r"^no archive$"), failures_told():
        raise PipelineFailed("no archive")
    with pytest.raises(CommandFailed, match=r"^Spark: no brokers: none \(--traceback shows more\)$"), failures_told():
        raise SparkSaid(JAVA)
    with pytest.raises(SparkSaid), failures_told(with_traceback=True):
        raise SparkSaid(JAVA)
    with pytest.raises(ZeroDivisionError), failures_told():
        raise ZeroDivisionError


def test_without_pyspark_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError("No module named 'pyspark'", name="pyspark")

    monkeypatch.setattr(running, "import_module", missing)
    arguments = parsed()
    with pytest.raises(CommandFailed, match=r"pip install 'ottla\[spark\]'"):
        arguments.command(arguments)


def test_sigterm_ends_the_block_as_ctrl_c_does() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), stopped_by_sigterm():
        os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) == before


def test_what_is_told_goes_beside_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    told("a word")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "a word\n")
