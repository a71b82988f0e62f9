"""Which cluster is asked, how mistakes in arguments are told, and what needs a yes."""

from __future__ import annotations

import argparse
import importlib
import io
import subprocess
import sys
from collections.abc import Iterator

import pytest

from ottla import cli
from ottla.commands import UsageError
from ottla.commands.asking import ENVIRONMENT, confirmed, natural, positive, positive_seconds, setting
from tests.commands.command_line import CommandLine, TerminalInput

NOBODY = "127.0.0.1:1"


def leaves(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The commands that do something."""
    below = [action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not below:
        yield parser
    for choices in below:
        for one in choices.values():
            yield from leaves(one)


# Pipelines ask as well; they are in test_pipeline.py.
ASKING = {
    one.prog: one
    for one in leaves(cli.parser())
    if one.get_default("timeout") is not None and one.get_default("pipeline") is None
}


def test_there_are_commands_that_ask() -> None:
    assert len(ASKING) == 23


@pytest.mark.parametrize("name", ASKING)
def test_a_command_has_its_function_and_a_help_with_examples(name: str) -> None:
    parser = ASKING[name]
    (place,) = parser.get_default("command").args
    module, _, function = place.partition(":")
    assert callable(getattr(importlib.import_module(f"ottla.commands.{module}"), function))
    shown = parser.format_help()
    assert "examples:\n  " in shown
    assert f"  {name} " in shown.partition("examples:")[2] or f"| {name} " in shown or f"  {name}\n" in shown
    assert "--bootstrap-server" in shown


@pytest.mark.parametrize("name", ASKING)
def test_the_examples_of_a_help_can_be_parsed(name: str) -> None:
    import shlex

    examples = (ASKING[name].epilog or "").splitlines()[1:]
    for example in examples:
        _, _, command = example.rpartition("| ottla ") if "| ottla " in example else ("", "", example.strip()[6:])
        words = shlex.split(command.partition(" | ")[0].partition(" < ")[0].partition(" >")[0])
        cli.parser().parse_args(cli.joined(words))


def test_the_cluster_is_named_by_option_or_environment(ottla: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ottla("topics", "list", "-b", NOBODY, "--timeout", "5").status == 1
    elsewhere = CommandLine(NOBODY)
    assert elsewhere.ok("topics", "list", "--bootstrap-server", f"{NOBODY},{ottla.bootstrap}").out
    told = elsewhere("topics", "list")
    assert told.status == 1
    assert told.err.startswith(f"ottla: no broker answers at {NOBODY} (")
    assert "`ottla serve`" in told.err
    assert ENVIRONMENT in told.err


def test_an_address_that_is_none_is_a_mistake(ottla: CommandLine) -> None:
    told = ottla("topics", "list", "-b", "host:port")
    assert told.status == 2
    assert told.err == ("ottla: --bootstrap-server: 'host:port' is not an address such as host:9092 or [::1]:9092\n")


def test_an_option_that_is_not_there_is_a_mistake(ottla: CommandLine) -> None:
    told = ottla("topics", "list", "--jason")
    assert (told.status, told.err) == (2, "ottla: --jason is not an argument of this command\n")


@pytest.mark.parametrize("answer", ["y\n", "YES\n", " yes \n"])
def test_a_yes_on_a_terminal_is_a_yes(answer: str) -> None:
    confirmed("Sure?", is_said=False, answers=TerminalInput(answer))


@pytest.mark.parametrize("answer", ["\n", "", "n\n", "yesterday\n"])
def test_everything_else_is_a_no(answer: str) -> None:
    with pytest.raises(UsageError, match="nothing was done"):
        confirmed("Sure?", is_said=False, answers=TerminalInput(answer))


def test_nobody_is_asked_in_a_pipe() -> None:
    confirmed("Sure?", is_said=True, answers=io.StringIO())
    with pytest.raises(UsageError, match="--yes"):
        confirmed("Sure?", is_said=False, answers=io.StringIO("y\n"))


def test_values_are_read_or_refused() -> None:
    assert (positive("7"), natural("0"), positive_seconds("0.5"), setting("a=b=c")) == (7, 0, 0.5, ("a", "b=c"))
    for read, wrong in (
        (positive, "0"),
        (positive, "x"),
        (positive, str(2**31)),
        (natural, "-1"),
        (natural, str(2**63)),
        (positive_seconds, "0"),
        (positive_seconds, "nan"),
        (positive_seconds, "soon"),
        (setting, "=x"),
        (setting, "x"),
    ):
        with pytest.raises(argparse.ArgumentTypeError):
            read(wrong)


def test_help_loads_neither_client_nor_trio() -> None:
    loaded = "[name for name in sys.modules if name.startswith(('ottla.client', 'ottla.wire', 'trio'))]"
    code = f"import sys, ottla.cli; ottla.cli.parser().format_help(); print({loaded})"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert found.stdout == b"[]\n"
