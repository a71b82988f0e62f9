"""What all commands that ask a cluster share: which cluster, how long to wait, in what form to answer.

Loads the client only when a command runs. Errors of a broker come out as CommandFailed, with the way out where one is
known (hints.py).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from textwrap import fill, indent
from typing import TYPE_CHECKING, TextIO

from ottla.commands import UsageError

if TYPE_CHECKING:
    from ottla.client.blocking import Client

OPTION = "--bootstrap-server"
ENVIRONMENT = "OTTLA_BOOTSTRAP_SERVERS"
BOOTSTRAP = "localhost:9092"
TIMEOUT_SECONDS = 30.0
TEXT_WIDTH = 79

Commands = argparse._SubParsersAction  # its public name is only in comments of the standard library


def add_command(
    commands: Commands[argparse.ArgumentParser], name: str, runs: str, *, summary: str, more: str, examples: str
) -> argparse.ArgumentParser:
    """A command that asks a cluster, with the arguments that all of them have.

    `runs` is a function of this package, as `module:function`, that is loaded when it is called.
    """
    parser = commands.add_parser(
        name,
        help=summary,
        description=fill(more, TEXT_WIDTH),
        epilog="examples:\n" + indent(examples, "  "),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(command=partial(_run, runs))
    add_cluster(parser)
    return parser


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """Which cluster is asked, and for how long."""
    shared = parser.add_argument_group("cluster")
    shared.add_argument(
        "-b",
        OPTION,
        metavar="HOST:PORT",
        help=f"brokers to begin with, separated by commas (${ENVIRONMENT}, else {BOOTSTRAP})",
    )
    shared.add_argument(
        "--timeout",
        type=positive_seconds,
        metavar="SECONDS",
        default=TIMEOUT_SECONDS,
        help=f"how long to try what may still succeed ({TIMEOUT_SECONDS:g})",
    )


def _run(place: str, parsed: argparse.Namespace) -> int:
    module, _, function = place.partition(":")
    status: int = getattr(import_module(f"ottla.commands.{module}"), function)(parsed)
    return status


def add_json(parser: argparse.ArgumentParser, what: str = "one JSON object per line") -> None:
    parser.add_argument("--json", action="store_true", help=f"print {what}")


def positive_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return seconds


def positive(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 0 < int(text) < 2**31:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return int(text)


def natural(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) >= 2**63:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 on")
    return int(text)


def setting(text: str) -> tuple[str, str]:
    """KEY=VALUE."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form KEY=VALUE")
    return key, value


@contextmanager
def asking(parsed: argparse.Namespace, *, option: str = OPTION) -> Iterator[Client]:
    """A client of the cluster that the user means, which has answered once. All its errors are told with a way out.

    `option` is what the user has named it by.
    """
    from ottla.client.blocking import Client
    from ottla.client.cluster import Cluster
    from ottla.client.failures import ConnectionLost
    from ottla.client.settings import Settings
    from ottla.commands.hints import failure, no_broker
    from ottla.wire.errors import KafkaError

    bootstrap = parsed.bootstrap_server or os.environ.get(ENVIRONMENT) or BOOTSTRAP
    limit_ms = int(parsed.timeout * 1000)
    settings = Settings(
        client_id="ottla-cli", retry_timeout_ms=limit_ms, connect_timeout_ms=min(limit_ms, Settings.connect_timeout_ms)
    )
    try:
        client = Client(bootstrap, settings)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from error
    try:
        with client:
            try:
                client.call(Cluster.metadata)  # once: who gave a wrong address need not wait to hear of it
            except ConnectionLost as error:
                named_by = f"{option} or ${ENVIRONMENT}" if option == OPTION else option
                raise no_broker(bootstrap, error, named_by) from error
            yield client
    except KafkaError as error:
        raise failure(error) from error


def confirmed(question: str, *, is_said: bool, answers: TextIO | None = None) -> None:
    """Return if the user means it: by --yes, or by word on a terminal. UsageError otherwise."""
    if is_said:
        return
    answers = answers or sys.stdin
    if not answers.isatty():
        raise UsageError(f"{question} Say so with --yes: there is no terminal to ask on")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if answers.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("nothing was done")
