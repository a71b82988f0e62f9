"""`ottla groups list`, `describe` and `delete`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ottla.client.blocking import Client
from ottla.client.groups import delete_group, list_groups
from ottla.commands import EXIT_OK
from ottla.commands.asking import asking, confirmed
from ottla.commands.group_rows import MEMBER_COLUMNS, OFFSET_COLUMNS, group_rows, head_text
from ottla.commands.hints import not_there
from ottla.commands.terminal import Column, Row, Table, Terminal, show
from ottla.commands.text_form import compact_json
from ottla.wire.errors import ErrorCode, KafkaError

LIST_COLUMNS = (
    Column("GROUP", lambda row: str(row["groupId"])),
    Column("TYPE", lambda row: row["type"] or "?"),
    Column("PROTOCOL", lambda row: row["protocolType"] or "-"),
    Column("STATE", lambda row: row["state"] or "?"),
)


def list_all(parsed: argparse.Namespace) -> int:
    with asking(parsed) as client:
        found = client.call(list_groups)
    rows = [
        {"groupId": one.group_id, "type": one.group_type, "protocolType": one.protocol_type, "state": one.state}
        for one in found
        if _is_wanted(one.state, parsed.state) and _is_wanted(one.group_type, parsed.type)
    ]
    show(Terminal(sys.stdout), LIST_COLUMNS, rows, as_json=parsed.json)
    return EXIT_OK


def _is_wanted(value: str, wanted: str | None) -> bool:
    return wanted is None or value.lower() == wanted.lower()


def describe(parsed: argparse.Namespace) -> int:
    terminal = Terminal(sys.stdout)
    with asking(parsed) as client:
        rows = described(client, parsed.groups)
    for row in rows:
        if parsed.json:
            terminal.line(compact_json(row))
            continue
        terminal.line(terminal.bold(head_text(row)))
        columns, part = (MEMBER_COLUMNS, "members") if parsed.members else (OFFSET_COLUMNS, "offsets")
        with Table(terminal, columns) as table:
            for one in row[part]:
                table.row(one)
    return EXIT_OK


def delete(parsed: argparse.Namespace) -> int:
    with asking(parsed) as client:
        group_ids = list(dict.fromkeys(parsed.groups))
        rows = described(client, group_ids)
        count = sum(len(row["offsets"]) for row in rows)
        question = f"Delete {', '.join(group_ids)} with committed offsets of {count} partitions?"
        confirmed(question, is_said=parsed.yes)
        for group_id in group_ids:
            client.call(delete_group, group_id)
            sys.stderr.write(f"group {group_id} is gone\n")
    return EXIT_OK


def described(client: Client, group_ids: Sequence[str]) -> list[Row]:
    """The groups; CommandFailed with what may have been meant if one is not there."""
    try:
        return client.call(group_rows, list(group_ids))
    except KafkaError as error:
        if error.code != ErrorCode.GROUP_ID_NOT_FOUND:
            raise
        names = [one.group_id for one in client.call(list_groups)]
        missing = next((group_id for group_id in group_ids if group_id not in names), group_ids[0])
        raise not_there("group", missing, names) from error
