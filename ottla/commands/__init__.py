"""What `ottla COMMAND` does, a module per command; `ottla/cli.py` is the front that parses and calls.

A command is a function from parsed arguments to an exit status. It writes to the stream it is given, so that tests can
read it. Here is only what the front and all commands share: nothing is loaded before a command runs.
"""

from __future__ import annotations

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
# What a shell says of a process that Ctrl-C has ended.
EXIT_INTERRUPTED = 130


class CommandFailed(Exception):
    """What was asked for could not be done; the message says why and, where there is a way, what to do."""


class UsageError(Exception):
    """What the user typed cannot be done; the message says why and what can."""
