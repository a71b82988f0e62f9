"""Kafka's text form of a small table: a version line, a line with the number of entries, then an entry a line.

Used by the leader epochs and the offset checkpoints, which know what an entry means. A file is written whole or not at
all. Reading is as strict as Kafka's: a wrong version, a wrong count or a line that does not parse condemn the whole
file, since a checkpoint that is believed half is worse than none. A file that is not there, or empty, or cut before
its count has no entries: Kafka makes empty files before it fills them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NoReturn

from ottla.storage.files import Disk

VERSION = 0
INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1

# What Java's readLine takes for the end of a line; str.splitlines takes more.
_LINE_END = re.compile(r"\r\n|\r|\n")
_WHITESPACE = re.compile(r"[ \t\x0b\f]+")
_NUMBER = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)


class CheckpointError(Exception):
    """A checkpoint file that cannot be what was written: `path`, the line's number from 1, and why."""

    def __init__(self, path: str, line_number: int, why: str) -> None:
        super().__init__(f"{path}, line {line_number}: {why}")
        self.path = path
        self.line_number = line_number


def write_entries(disk: Disk, path: str, entries: Sequence[str]) -> None:
    """Replace the file; it is durable on return."""
    disk.replace(path, "".join(f"{line}\n" for line in (VERSION, len(entries), *entries)).encode())


def read_entries(disk: Disk, path: str, field_count: int) -> list[list[str]]:
    """The fields of every entry, of which each line must have so many."""
    try:
        data = disk.read(path)
    except FileNotFoundError:
        return []
    lines = _lines(path, data)
    if not lines:
        return []
    if (version := number(path, 1, lines[0], INT32_MAX)) != VERSION:
        raise CheckpointError(path, 1, f"version {version}, only {VERSION} is known")
    if len(lines) == 1:
        return []
    count = number(path, 2, lines[1], INT32_MAX)
    entries = [_WHITESPACE.split(line) for line in lines[2:]]
    for line_number, fields in enumerate(entries, 3):
        if len(fields) != field_count:
            raise CheckpointError(path, line_number, f"{' '.join(fields)!r} has not {field_count} fields")
    if len(entries) != count:
        raise CheckpointError(path, 2, f"{count} entries are announced, {len(entries)} follow")
    return entries


def number(path: str, line_number: int, text: str, maximum: int) -> int:
    """A number from 0 to the maximum. Kafka would take negative ones; none of its own files has them."""
    if not _NUMBER.fullmatch(text):
        raise CheckpointError(path, line_number, f"{text!r} is not a number")
    value = int(text)
    if not 0 <= value <= maximum:
        raise CheckpointError(path, line_number, f"{value} is out of range")
    return value


def _lines(path: str, data: bytes) -> list[str]:
    try:
        lines = _LINE_END.split(data.decode())
    except UnicodeDecodeError as error:
        _not_utf8(path, data, error)
    if not lines[-1]:
        lines.pop()
    return lines


def _not_utf8(path: str, data: bytes, error: UnicodeDecodeError) -> NoReturn:
    raise CheckpointError(path, data.count(b"\n", 0, error.start) + 1, "is not UTF-8") from error
