"""The node's own log: lines for people, or one JSON object a line (`ottla.log.format`, `ottla.log.level`).

`set_up` is for the one who owns the process; an embedded broker leaves logging as its host has it. Everybody else
calls `logging.getLogger(__name__)`. What goes with `extra={...}` becomes fields of the JSON object; the sentence must
do without them, since people see it alone.

Nothing that a peer sent can pass for a line of ours, nor make one endless. Secrets (failure class 15, CVE-2026-33558):
messages hide their secret fields themselves, and so do passwords of the configuration; raw bytes are never shown here,
nor are the arguments of a line that could not be formatted.
"""

from __future__ import annotations

import json
import logging
import math
import reprlib
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from ottla.config.broker import BrokerConfig

TEXT_CHARS_MAX = 4096
TRACEBACK_CHARS_MAX = 32 << 10
ITEMS_MAX = 50

# Kafka's names for the levels.
LEVEL_NAMES = {logging.WARNING: "WARN", logging.CRITICAL: "ERROR"}
# What every record has; anything else came in `extra`.
STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


@contextmanager
def set_up(config: BrokerConfig, stream: TextIO | None = None) -> Iterator[None]:
    """Write the log of the whole process to the stream, standard error by default, until the end of the block."""
    handler = Handler(stream)
    handler.setFormatter(JsonFormatter(config.node_id) if config.ottla_log_format == "json" else TextFormatter())
    root = logging.getLogger()
    level = root.level
    root.setLevel(config.ottla_log_level)
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


class Handler(logging.StreamHandler[TextIO]):
    """A stream that cannot be written loses lines, and nothing else."""

    def handleError(self, record: logging.LogRecord) -> None:
        # The one of the standard library prints the arguments.
        with suppress(OSError, ValueError):
            self.stream.write(f"a line of {record.name}:{record.lineno} could not be written\n")


class Formatter(logging.Formatter):
    """What both forms have in common: the sentence, the time, the traceback, each made safe."""

    def sentence(self, record: logging.LogRecord) -> str:
        text = str(record.msg)
        if isinstance(record.args, Mapping):
            text %= {name: shown(value) for name, value in record.args.items()}
        elif record.args:
            text %= tuple(map(shown, record.args))
        return shortened(text)

    def time(self, record: logging.LogRecord) -> str:
        """UTC, so that the logs of several nodes can be laid side by side."""
        part, seconds = math.modf(record.created)
        return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{int(part * 1000):03}Z"

    def level(self, record: logging.LogRecord) -> str:
        return LEVEL_NAMES.get(record.levelno, record.levelname)

    def traceback(self, record: logging.LogRecord) -> str:
        parts = [self.formatException(record.exc_info)] if record.exc_info and record.exc_info[0] else []
        parts += [record.stack_info] if record.stack_info else []
        # The end says what happened.
        return "\n".join(parts)[-TRACEBACK_CHARS_MAX:]


class TextFormatter(Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = f"{self.time(record)} {self.level(record):<5} {record.name}: {one_line(self.sentence(record))}"
        # Lines below are set in: what an exception says may come from a peer, and must not look like a line of ours.
        below = [f"    {one_line(text)}" for text in self.traceback(record).splitlines()]
        return "\n".join([line, *below])


class JsonFormatter(Formatter):
    def __init__(self, node_id: int) -> None:
        super().__init__()
        self._node_id = node_id

    def format(self, record: logging.LogRecord) -> str:
        extra = {name: plain(value) for name, value in vars(record).items() if name not in STANDARD}
        fields: dict[str, Any] = {
            "time": self.time(record),
            "level": self.level(record),
            "node_id": self._node_id,
            "logger": record.name,
            "message": self.sentence(record),
        }
        traceback = self.traceback(record)
        if traceback:
            fields["traceback"] = traceback
        return json.dumps(fields | {name: value for name, value in extra.items() if name not in fields})


_RAW = (bytes, bytearray, memoryview)
_CONTAINERS = (list, tuple, dict, set, frozenset)


class _Repr(reprlib.Repr):
    """Containers of bounded size, in which bytes are but a number."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = self.maxfrozenset = ITEMS_MAX
        self.maxstring = self.maxother = self.maxlong = TEXT_CHARS_MAX

    def repr1(self, value: Any, level: int) -> str:
        if isinstance(value, _RAW):
            return f"<{memoryview(value).nbytes} bytes>"
        # Named tuples print all that they hold; those that know how to be shown do it themselves.
        if isinstance(value, tuple) and type(value).__str__ is object.__str__:
            return self.repr_tuple(value, level)
        return super().repr1(value, level)


_repr = _Repr()


class _Shown(str):
    """Text that is the same for %s and %r."""

    __slots__ = ()

    __repr__ = str.__str__


def shown(value: object) -> object:
    """What a line may show of an argument."""
    is_container = isinstance(value, _CONTAINERS) and type(value).__str__ is object.__str__
    return _Shown(_repr.repr(value)) if is_container or isinstance(value, _RAW) else value


def plain(value: object) -> object:
    """A value that JSON has: numbers and truths as they are, anything else as text."""
    if value is None or type(value) in (bool, int) or (type(value) is float and math.isfinite(value)):
        return value
    return shortened(str(shown(value)))


def shortened(text: str) -> str:
    more = len(text) - TEXT_CHARS_MAX
    return f"{text[:TEXT_CHARS_MAX]}... and {more} characters more" if more > 0 else text


def one_line(text: str) -> str:
    """Without line ends, terminal controls, and whatever else does not print: escaped as in Python."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
