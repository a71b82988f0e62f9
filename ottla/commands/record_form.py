"""A record as a line of output: raw, by a template, as JSON, or for the eyes.

Raw output is bytes as they are. On a terminal nothing in a record can move the cursor or change the colours.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable

from ottla.commands.terminal import Row, Terminal
from ottla.commands.text_form import bytes_json, compact_json, shown, time_text
from ottla.wire.records import Record

NULL = b"null"
LINE_END = b"\n"

Form = Callable[[int, Record], bytes]

_ESCAPES = {r"\n": "\n", r"\t": "\t", r"\r": "\r", r"\0": "\0", r"\\": "\\"}
_ESCAPE = re.compile(r"\\[ntr0\\]")


def raw_form(partition: int, record: Record) -> bytes:
    """The value alone, as Kafka's console consumer shows it."""
    return (NULL if record.value is None else record.value) + LINE_END


def json_form(topic: str) -> Form:
    def form(partition: int, record: Record) -> bytes:
        return compact_json(record_row(topic, partition, record)).encode() + LINE_END

    return form


def record_row(topic: str, partition: int, record: Record) -> Row:
    return {
        "topic": topic,
        "partition": partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": bytes_json(record.key),
        "value": bytes_json(record.value),
        "headers": [{"key": bytes_json(key), "value": bytes_json(value)} for key, value in record.headers],
    }


def terminal_form(terminal: Terminal) -> Form:
    """Place, time, key and value on a line."""

    def form(partition: int, record: Record) -> bytes:
        place = terminal.dim(f"{partition}:{record.offset} {time_text(record.timestamp)}")
        key = "" if record.key is None else terminal.good(_safe(record.key)) + " "
        headers = "".join(f" {terminal.dim(f'{_safe(name)}={_safe(value)}')}" for name, value in record.headers)
        return f"{place} {key}{_safe(record.value)}{headers}\n".encode()

    return form


def _safe(data: bytes | None) -> str:
    """Text as it is if it is one harmless line, otherwise quoted or in hexadecimal."""
    value = bytes_json(data)
    return value if isinstance(value, str) and value.isprintable() else shown(value, 0)


FIELDS: dict[str, Callable[[str, int, Record], bytes]] = {
    "topic": lambda topic, partition, record: topic.encode(),
    "partition": lambda topic, partition, record: b"%d" % partition,
    "offset": lambda topic, partition, record: b"%d" % record.offset,
    "timestamp": lambda topic, partition, record: b"%d" % record.timestamp,
    "time": lambda topic, partition, record: time_text(record.timestamp).encode(),
    "key": lambda topic, partition, record: NULL if record.key is None else record.key,
    "value": lambda topic, partition, record: NULL if record.value is None else record.value,
    "headers": lambda topic, partition, record: b",".join(
        name + b"=" + (NULL if value is None else value) for name, value in record.headers
    ),
}


def template_form(topic: str, template: str, *, is_terminal: bool = False) -> Form:
    """By a template with fields in braces; `{{` is a brace. ValueError for a field that there is not."""
    filled_in = _shielded if is_terminal else bytes
    parts: list[bytes | Callable[[str, int, Record], bytes]] = []
    for literal, name, spec, conversion in string.Formatter().parse(unescaped(template)):
        parts.append(literal.encode())
        if name is None:
            continue
        if name not in FIELDS or spec or conversion:
            raise ValueError(f"{{{name}}} is no field; there are {', '.join(FIELDS)}")
        parts.append(FIELDS[name])

    def form(partition: int, record: Record) -> bytes:
        filled = [part if isinstance(part, bytes) else filled_in(part(topic, partition, record)) for part in parts]
        return b"".join(filled) + LINE_END

    return form


def _shielded(data: bytes) -> bytes:
    return _safe(data).encode()


def unescaped(template: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPES[found[0]], template)
