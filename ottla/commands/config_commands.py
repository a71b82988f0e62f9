"""What the commands of `ottla configs` do."""

from __future__ import annotations

import argparse
import sys

from ottla.client.blocking import Client
from ottla.client.configs import (
    CLUSTER_DEFAULT,
    ConfigSource,
    Entry,
    Resource,
    ResourceType,
    alter_configs,
    describe_configs,
)
from ottla.commands import EXIT_OK, CommandFailed, UsageError
from ottla.commands.asking import asking
from ottla.commands.hints import not_there
from ottla.commands.terminal import Column, Row, Terminal, show
from ottla.commands.text_form import count_text
from ottla.commands.topic_commands import existing

ALL_BROKERS = "default"
COLUMNS = (
    Column("KEY", lambda row: str(row["name"])),
    Column("VALUE", lambda row: _value_text(row)),
    Column("SOURCE", lambda row: str(row["source"]), is_remarkable=lambda row: row["source"].startswith("DYNAMIC")),
    Column("WITHOUT IT", lambda row: _synonym_text(row)),
)


def describe(parsed: argparse.Namespace) -> int:
    with asking(parsed) as client:
        resource = _resource(client, parsed)
        entries = client.call(describe_configs, resource, parsed.keys or None)
    known = {entry.name for entry in entries}
    for key in parsed.keys:
        if key not in known:
            command = f"ottla configs describe {parsed.kind} {parsed.name} --all"
            raise CommandFailed(f"{resource} has no key {key}; `{command}` shows all")
    rows = [
        entry_row(entry)
        for entry in entries
        if parsed.all or parsed.keys or entry.config_source != ConfigSource.DEFAULT_CONFIG
    ]
    show(Terminal(sys.stdout), COLUMNS, rows, as_json=parsed.json)
    return EXIT_OK


def set_values(parsed: argparse.Namespace) -> int:
    return _change(parsed, dict(parsed.settings), "set")


def delete_values(parsed: argparse.Namespace) -> int:
    return _change(parsed, dict.fromkeys(parsed.keys), "put back")


def _change(parsed: argparse.Namespace, changes: dict[str, str | None], done: str) -> int:
    with asking(parsed) as client:
        resource = _resource(client, parsed)
        client.call(alter_configs, resource, changes)
    sys.stderr.write(f"{resource}: {count_text(len(changes), 'value')} {done}\n")
    return EXIT_OK


def _resource(client: Client, parsed: argparse.Namespace) -> Resource:
    """What the user means, if it can be there."""
    kind = ResourceType[parsed.kind.upper().replace("-", "_")]
    name: str = parsed.name
    if kind == ResourceType.TOPIC:
        existing(client, [name])
    if kind in (ResourceType.BROKER, ResourceType.BROKER_LOGGER):
        if kind == ResourceType.BROKER and name == ALL_BROKERS:
            return Resource(kind, CLUSTER_DEFAULT)
        if not name.isascii() or not name.isdecimal():
            raise UsageError(f"{name!r} is not the id of a broker; `ottla cluster info` shows them")
        brokers = client.metadata().brokers
        if int(name) not in brokers:
            raise not_there("broker", name, map(str, brokers))
    return Resource(kind, name)


def entry_row(entry: Entry) -> Row:
    return {
        "name": entry.name,
        "value": entry.value,
        "source": source_name(entry.config_source),
        "isReadOnly": entry.read_only,
        "isSensitive": entry.is_sensitive,
        "synonyms": [
            {"name": synonym.name, "value": synonym.value, "source": source_name(synonym.source)}
            for synonym in entry.synonyms
        ],
    }


def source_name(number: int) -> str:
    """A source that only a later Kafka knows is told by its number."""
    try:
        return ConfigSource(number).name
    except ValueError:
        return f"SOURCE_{number}"


def _value_text(row: Row) -> str:
    if row["isSensitive"]:
        return "(secret)"
    return "" if row["value"] is None else str(row["value"])


def _synonym_text(row: Row) -> str:
    """What would hold if the first source said nothing."""
    if len(row["synonyms"]) < 2:
        return "-"
    synonym = row["synonyms"][1]
    return f"{'' if synonym['value'] is None else synonym['value']} ({synonym['source']})"
