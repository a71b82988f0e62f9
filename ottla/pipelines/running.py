"""What all pipelines share on the command line: their arguments, their session, and how their failures are told.

It loads PySpark only when a pipeline runs. Whatever goes wrong in Spark comes out as one sentence, the innermost
reason that Java gave, and never as a traceback of two languages; `--traceback` shows it all.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from textwrap import fill, indent
from types import FrameType
from typing import TYPE_CHECKING

from ottla.commands import CommandFailed
from ottla.commands.asking import TEXT_WIDTH, Commands, add_cluster, add_json, setting
from ottla.pipelines import PipelineFailed
from ottla.pipelines.session import LOCAL, open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What Java prints before the sentence that says something: `org.apache.x.SomeException: `.
_JAVA_CLASS = re.compile(r"^(?:[a-z_][\w$]*\.)+[A-Z][\w$]*: ")
_CAUSE = re.compile(r"^\s*(?:Caused by|\[Cause\]): (.*)$", re.MULTILINE)


def add_pipeline(
    commands: Commands[argparse.ArgumentParser],
    name: str,
    runs: str,
    *,
    summary: str,
    more: str,
    examples: str,
    asks_one_cluster: bool = True,
) -> argparse.ArgumentParser:
    """A pipeline with the arguments that all of them have; `--bootstrap-server` unless it asks several clusters.

    `runs` is a function of this package, as `module:function`, from parsed arguments to an exit status.
    """
    parser = commands.add_parser(
        name,
        help=summary,
        description=fill(more, TEXT_WIDTH),
        epilog="examples:\n" + indent(examples, "  "),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(command=partial(_run, runs), pipeline=name)
    if asks_one_cluster:
        add_cluster(parser)
    spark = parser.add_argument_group("spark")
    spark.add_argument("--master", default=LOCAL, metavar="URL", help=f"where Spark runs ({LOCAL})")
    spark.add_argument(
        "--conf", type=setting, metavar="KEY=VALUE", action="append", default=[], help="a setting of Spark"
    )
    spark.add_argument("--traceback", action="store_true", help="show all that Spark says of a failure")
    add_json(parser, "what was done as JSON, one object per line")
    return parser


def _run(place: str, parsed: argparse.Namespace) -> int:
    """Load the pipeline and run it."""
    module, _, function = place.partition(":")
    with failures_told(with_traceback=parsed.traceback):
        loaded = import_module(f"ottla.pipelines.{module}")
        status: int = getattr(loaded, function)(parsed)
    return status


@contextmanager
def failures_told(*, with_traceback: bool = False) -> Iterator[None]:
    """Whatever a pipeline fails with becomes a CommandFailed of one sentence."""
    try:
        yield
    except PipelineFailed as error:
        raise CommandFailed(str(error)) from error
    except ImportError as error:
        raise CommandFailed(f"this needs Spark for Python: pip install 'ottla[spark]' ({error})") from error
    except Exception as error:
        if with_traceback or not type(error).__module__.startswith(("pyspark.", "py4j.")):
            raise
        raise CommandFailed(f"Spark: {reason_of(str(error))} (--traceback shows more)") from error


def reason_of(told: str) -> str:
    """The sentence that matters among all that Spark says of a failure: the innermost cause, without its class."""
    causes = _CAUSE.findall(told)
    first = causes[-1] if causes else next((line for line in told.splitlines() if line.strip()), "no reason given")
    return _JAVA_CLASS.sub("", first.strip())


@contextmanager
def pipeline_session(parsed: argparse.Namespace) -> Iterator[SparkSession]:
    """The Spark session that the arguments ask for, named after the pipeline. SIGTERM ends it as Ctrl-C does."""
    with stopped_by_sigterm(), open_session(f"ottla-{parsed.pipeline}", parsed.master, dict(parsed.conf)) as session:
        yield session


@contextmanager
def stopped_by_sigterm() -> Iterator[None]:
    """Let SIGTERM raise KeyboardInterrupt, so that what is open is closed."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # not the main thread: whoever owns that one owns the signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def told(text: str) -> None:
    """A sentence for a person, beside what the pipeline answers."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
