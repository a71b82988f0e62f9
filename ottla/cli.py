"""The command line: `ottla COMMAND`.

Each command is a function from parsed arguments to an exit status; the parser is the table that names them. Nothing
is imported before it is needed, so `ottla --version` answers at once. What the user got wrong is told on standard
error in one sentence, with status 2 and no traceback; what Ottla cannot do is status 1.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from ottla import __version__
from ottla.commands import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, CommandFailed, UsageError

# Each is a module of `commands`, which adds the parser of the command that it is named after.
MODULES = (
    *("serve", "format", "topics", "produce", "consume", "groups", "configs"),
    *("cluster", "log", "pipeline", "spark"),
)
TIME_OPTIONS = ("--since", "--until", "--to-time")

Command = Callable[[argparse.Namespace], int]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status of the process."""
    words = sys.argv[1:] if arguments is None else arguments
    parsed, rest = parser(words[0] if words else "").parse_known_args(joined(words))
    command: Command = parsed.command
    try:
        if getattr(parsed, "takes_settings", False):
            parsed.settings = rest
        elif rest:
            raise UsageError(f"{rest[0]} is not an argument of this command")
        status = command(parsed)
        sys.stdout.flush()
        return status
    except (UsageError, CommandFailed) as error:
        from ottla.commands.text_form import printable

        print(f"ottla: {printable(str(error))}", file=sys.stderr)
        return EXIT_USAGE if isinstance(error, UsageError) else EXIT_FAILED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # Whoever read us has seen enough (`ottla ... | head`). Python flushes once more on its way out: into nothing.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED


def parser(first_word: str = "") -> argparse.ArgumentParser:
    """Every command with its arguments and its help; that of the first word alone where it is a command."""
    root = argparse.ArgumentParser(prog="ottla", description="Kafka's little sister: a Kafka broker in Python.")
    root.add_argument("--version", action="version", version=f"ottla {__version__}")
    commands = root.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in (first_word,) if first_word in MODULES else MODULES:
        import_module(f"ottla.commands.{name}").add_parser(commands)
    if first_word not in MODULES:
        add_describe_codec(commands)
    return root


def add_describe_codec(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    codec_parser = commands.add_parser(
        "describe-codec",
        help="print the code that encodes and decodes a message",
        description="Print the Python source that is compiled for one message at one version.",
        epilog="example: ottla describe-codec FetchRequest 17",
    )
    codec_parser.add_argument("name", metavar="NAME", help="a message as Kafka names it, such as FetchRequest")
    codec_parser.add_argument("version", metavar="VERSION", type=int, help="a version of it, such as 17")
    codec_parser.set_defaults(command=describe_codec)


def joined(words: Sequence[str]) -> list[str]:
    """With `--since -10m` as one word, `--since=-10m`: alone, argparse would take the time for an option."""
    found: list[str] = []
    for word in words:
        if found and found[-1] in TIME_OPTIONS and word.startswith("-") and word[1:2].isdecimal():
            found[-1] += f"={word}"
        else:
            found.append(word)
    return found


def describe_codec(parsed: argparse.Namespace) -> int:
    """Print the source that the schema compiler generates."""
    from ottla import wire

    names = wire.message_names()
    if parsed.name not in names:
        raise UsageError(f"no message is called {parsed.name!r}{suggestion(parsed.name, names)}")
    try:
        source = wire.describe_codec(parsed.name, parsed.version)
    except LookupError as error:
        raise UsageError(str(error)) from error
    print(source, end="" if source.endswith("\n") else "\n")
    return EXIT_OK


def suggestion(name: str, names: Sequence[str]) -> str:
    """The names that the user may have meant, as the end of a sentence; nothing where none is close."""
    import difflib

    by_lower_case = {known.lower(): known for known in names}
    # People type the API's name: both of its messages are what they may have meant.
    whole = [known for known in (f"{name}request".lower(), f"{name}response".lower()) if known in by_lower_case]
    close = whole or difflib.get_close_matches(name.lower(), by_lower_case, n=3, cutoff=0.7)
    if not close:
        return ""
    return f"; did you mean {' or '.join(by_lower_case[known] for known in close)}?"
