"""`meta.properties`: to which cluster, node and directory id a log directory belongs.

Version 1 is KRaft's and the one written; version 0, from clusters that once used ZooKeeper, is read. Keys that are not
known are kept. The file is one of Java's properties: Latin-1, with escapes, read as java.util.Properties does.
Whether the ids are the right ones is for the caller to say.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ottla.storage.files import Disk
from ottla.wire.primitives import uuid_bytes, uuid_text

FILE_NAME = "meta.properties"
VERSION = 1
# In the order in which Kafka's file has them, which is that of a Java hash table.
_KEYS = ("node.id", "directory.id", "version", "cluster.id")

_NATURAL_LINE_END = re.compile(r"\r\n|\r|\n")
_TRAILING_BACKSLASHES = re.compile(r"\\*$")
_KEY = re.compile(r"(?:[^\\=: \t\f]|\\.)*", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
_ESCAPE = re.compile(r"\\(?:u(.{0,4})|(.))", re.DOTALL)
_HEX = re.compile(r"[0-9a-fA-F]{4}", re.ASCII)
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPED = {"\t": r"\t", "\n": r"\n", "\r": r"\r", "\f": r"\f"} | {sign: f"\\{sign}" for sign in "\\=:#!"}
_INT = re.compile(r"[+-]?[0-9]{1,10}", re.ASCII)


class MetaPropertiesError(Exception):
    """A `meta.properties` that cannot be used; the message names the file and the key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaProperties:
    """Directories formatted before Kafka 3.7 have no directory id."""

    cluster_id: str
    node_id: int
    directory_id: bytes | None = None
    other: Mapping[str, str] = field(default_factory=dict)


def write_meta_properties(disk: Disk, log_directory: str, meta: MetaProperties) -> None:
    """Durable on return. Kafka writes the date into a comment; equal contents are equal bytes here."""
    values = {"node.id": str(meta.node_id), "version": str(VERSION), "cluster.id": meta.cluster_id}
    if meta.directory_id is not None:
        values["directory.id"] = uuid_text(meta.directory_id)
    ordered = {key: values[key] for key in _KEYS if key in values} | dict(meta.other)
    disk.replace(os.path.join(log_directory, FILE_NAME), format_properties(ordered).encode("ascii"))


def read_meta_properties(disk: Disk, log_directory: str) -> MetaProperties | None:
    """None if the directory has not been formatted."""
    path = os.path.join(log_directory, FILE_NAME)
    try:
        data = disk.read(path)
    except FileNotFoundError:
        return None
    try:
        return _meta_properties(parse_properties(data.decode("latin-1")))
    except ValueError as error:
        raise MetaPropertiesError(f"{path}: {error}") from error


def _meta_properties(values: dict[str, str]) -> MetaProperties:
    version = values.pop("version", "0").strip()
    if version not in ("0", "1"):
        raise ValueError(f"version {version!r} is not known")
    node_key = "node.id" if version == "1" else "broker.id"
    node_text = values.pop(node_key, None)
    cluster_id = values.pop("cluster.id", None)
    directory_text = values.pop("directory.id", None)
    if node_text is None or cluster_id is None:
        raise ValueError(f"{node_key} or cluster.id is missing")
    if not _INT.fullmatch(node_text):
        raise ValueError(f"{node_key} {node_text!r} is not a number")
    directory_id = None if directory_text is None else uuid_bytes(directory_text)
    return MetaProperties(cluster_id=cluster_id, node_id=int(node_text), directory_id=directory_id, other=values)


# Java's .properties


def format_properties(values: Mapping[str, str]) -> str:
    return "".join(f"{_escaped(key, is_key=True)}={_escaped(value)}\n" for key, value in values.items())


def parse_properties(text: str) -> dict[str, str]:
    """Keys and values; a key that comes twice has its last value. ValueError for a bad \\u escape."""
    values = {}
    for line in _logical_lines(text):
        key = _KEY.match(line)
        assert key is not None
        separator = _SEPARATOR.match(line, key.end())
        assert separator is not None
        values[_unescaped(key[0])] = _unescaped(line[separator.end() :])
    return values


def _logical_lines(text: str) -> Iterator[str]:
    """Lines without leading blanks, comments and empty lines left out, continued ones joined."""
    parts: list[str] = []
    for natural in _NATURAL_LINE_END.split(text):
        line = natural.lstrip(" \t\f")
        if not parts and (not line or line[0] in "#!"):
            continue
        backslashes = _TRAILING_BACKSLASHES.search(line)
        assert backslashes is not None
        if len(backslashes[0]) % 2:
            parts.append(line[:-1])
            continue
        yield "".join([*parts, line])
        parts = []
    if parts:
        yield "".join(parts)


def _unescaped(text: str) -> str:
    # UTF-16 halves that belong together come as two escapes.
    plain = _ESCAPE.sub(_escape_meaning, text)
    return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _escape_meaning(escape: re.Match[str]) -> str:
    digits, letter = escape.groups()
    if digits is None:
        return _LETTERS.get(letter, str(letter))
    if not _HEX.fullmatch(digits):
        raise ValueError(f"malformed escape \\u{digits}")
    return chr(int(digits, 16))


def _escaped(text: str, *, is_key: bool = False) -> str:
    pieces = []
    for index, sign in enumerate(text):
        if sign == " ":
            pieces.append("\\ " if is_key or index == 0 else " ")
        elif sign in _ESCAPED:
            pieces.append(_ESCAPED[sign])
        elif " " <= sign <= "~":
            pieces.append(sign)
        else:
            units = sign.encode("utf-16-be")
            pieces += [f"\\u{units[at : at + 2].hex().upper()}" for at in range(0, len(units), 2)]
    return "".join(pieces)
