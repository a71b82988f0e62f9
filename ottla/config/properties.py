"""A `server.properties`, and command-line settings: texts by key, before anything is known about any key.

Bytes and words come in, texts come out; files are opened by whoever was given their names. A line or word that cannot
be read is a ConfigError that says which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ottla.config.values import ConfigError


def parse_properties(data: bytes, source: str) -> dict[str, str]:
    """The keys and values of a Java properties file, which is Latin-1 with escapes; `source` is for the message."""
    from ottla.storage.meta_properties import parse_properties  # storage comes with files, which not all callers need

    try:
        return parse_properties(data.decode("latin-1"))
    except ValueError as error:
        raise ConfigError(f"{source}: {error}") from None


def parse_arguments(words: Sequence[str]) -> dict[str, str]:
    """`--KEY VALUE` and `--KEY=VALUE`, with Kafka's names; `--KEY` before another one or at the end means true."""
    found: dict[str, str] = {}
    at = 0
    while at < len(words):
        name, equals, value = words[at].removeprefix("--").partition("=")
        if not words[at].startswith("--") or not name:
            raise ConfigError(f"{words[at]!r} is not a setting: write --KEY VALUE or --KEY=VALUE")
        at += 1
        if not equals:
            has_value = at < len(words) and not words[at].startswith("--")
            value = words[at] if has_value else "true"
            at += has_value
        found[name] = value
    return found


def merged(*layers: Mapping[str, str]) -> dict[str, str]:
    """One mapping from several, later ones first. A node's id has two names, and the later layer's name wins."""
    texts: dict[str, str] = {}
    for layer in layers:
        if "node.id" in layer or "broker.id" in layer:
            texts.pop("node.id", None)
            texts.pop("broker.id", None)
        texts |= layer
    return texts
