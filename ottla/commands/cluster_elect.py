"""`ottla cluster elect`: let the first replica of each partition lead again, or any at all where none is in sync."""

from __future__ import annotations

import argparse
import sys

from ottla.client.metadata import TopicPartition
from ottla.client.partition_admin import PREFERRED, UNCLEAN, Elected, elect_leaders
from ottla.commands import EXIT_FAILED, EXIT_OK
from ottla.commands.asking import asking, confirmed
from ottla.commands.group_reset import chosen
from ottla.commands.terminal import Column, Row, Terminal, show
from ottla.commands.text_form import count_text
from ottla.wire.errors import ErrorCode

ELECTED, NOT_NEEDED = "elected", "not needed"

COLUMNS = (
    Column("TOPIC", lambda row: str(row["topic"])),
    Column("PARTITION", lambda row: str(row["partition"]), is_number=True),
    Column(
        "RESULT", lambda row: str(row["result"]), is_remarkable=lambda row: row["result"] not in (ELECTED, NOT_NEEDED)
    ),
)


def elect(parsed: argparse.Namespace) -> int:
    if parsed.unclean:
        question = "A replica that is not in sync loses what the others have and it has not. Elect one?"
        confirmed(question, is_said=parsed.yes)
    with asking(parsed) as client:
        places = None if parsed.all else chosen(client, "", parsed.topic, {})
        results = client.call(elect_leaders, places, UNCLEAN if parsed.unclean else PREFERRED)
    rows = rows_of(results)
    show(Terminal(sys.stdout), COLUMNS, rows, as_json=parsed.json)
    count = sum(1 for row in rows if row["result"] == ELECTED)
    sys.stderr.write(f"{count_text(count, 'leader')} elected\n")
    return EXIT_OK if all(row["result"] in (ELECTED, NOT_NEEDED) for row in rows) else EXIT_FAILED


def rows_of(results: dict[TopicPartition, Elected]) -> list[Row]:
    names = {ErrorCode.NONE: ELECTED, ErrorCode.ELECTION_NOT_NEEDED: NOT_NEEDED}
    return [
        {"topic": place.topic, "partition": place.partition, "result": names.get(one.code, one.code.name)}
        for place, one in sorted(results.items())
    ]
