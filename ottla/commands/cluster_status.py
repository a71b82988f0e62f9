"""`ottla cluster status`: is all well? Brokers with what they lead, the quorum, and each partition that is not as it
should be."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from functools import partial
from typing import Any

from ottla.client.cluster import Cluster
from ottla.client.partition_admin import Move, moves
from ottla.client.together import together
from ottla.client.topic_admin import describe_topics
from ottla.commands import EXIT_OK
from ottla.commands.asking import asking
from ottla.commands.cluster_info import BROKER_COLUMNS, VOTER_COLUMNS, ask
from ottla.commands.cluster_rows import PARTITION_COLUMNS, partition_rows, state_of
from ottla.commands.terminal import Column, Row, Terminal, show
from ottla.commands.text_form import compact_json, count_text, printable
from ottla.wire.errors import ErrorCode, KafkaError

STATUS_COLUMNS = (
    *BROKER_COLUMNS,
    Column("LEADS", lambda row: str(row["leads"]), is_number=True),
    Column("REPLICAS", lambda row: str(row["replicas"]), is_number=True),
    Column("OUT OF SYNC", lambda row: str(row["outOfSync"]), True, lambda row: row["outOfSync"] > 0),
)
BAD_COLUMNS = (*PARTITION_COLUMNS, Column("STATE", lambda row: str(row["state"]), is_remarkable=lambda row: True))


def status(parsed: argparse.Namespace) -> int:
    with asking(parsed) as client:
        picture = client.call(ask_status)
    terminal = Terminal(sys.stdout)
    if parsed.json:
        terminal.line(compact_json(picture))
    else:
        tell(terminal, picture)
    return EXIT_OK


def tell(terminal: Terminal, picture: Row) -> None:
    terminal.line(f"cluster {terminal.bold(printable(picture['clusterId']))}")
    terminal.line()
    show(terminal, STATUS_COLUMNS, picture["brokers"], as_json=False)
    quorum = picture["quorum"]
    if quorum is not None:
        terminal.line()
        terminal.line(f"quorum: leader {quorum['leader']}, epoch {quorum['epoch']}")
        show(terminal, VOTER_COLUMNS, quorum["replicas"], as_json=False)
    terminal.line()
    terminal.line(summary(picture))
    if picture["badPartitions"]:
        show(terminal, BAD_COLUMNS, picture["badPartitions"], as_json=False)


def summary(picture: Row) -> str:
    counts = Counter(row["state"] for row in picture["badPartitions"])
    whole = count_text(picture["partitionCount"], "partition")
    bad = ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
    moving = f", {picture['movingCount']} on the move" if picture["movingCount"] else ""
    return f"{whole}: {bad or 'all in sync'}{moving}"


async def ask_status(cluster: Cluster) -> Row:
    """The picture, as a JSON object."""
    questions: list[Any] = [partial(ask, cluster), partial(describe_topics, cluster), partial(_moves, cluster)]
    known, topics, moving = await together(questions)
    rows = partition_rows(topics)
    leads = Counter(row["leader"] for row in rows)
    holds = Counter(broker for row in rows for broker in row["assigned"])
    lacks = Counter(broker for row in rows for broker in row["outOfSync"])
    brokers = [
        {**one, "leads": leads[one["id"]], "replicas": holds[one["id"]], "outOfSync": lacks[one["id"]]}
        for one in known["brokers"]
    ]
    return {
        "clusterId": known["clusterId"],
        "brokers": brokers,
        "quorum": known["quorum"],
        "partitionCount": len(rows),
        "movingCount": len(moving),
        "badPartitions": [{**row, "state": state_of(row)} for row in rows if state_of(row) != "ok"],
    }


async def _moves(cluster: Cluster) -> dict[Any, Move]:
    """Nothing where a cluster cannot tell, or may not."""
    try:
        return dict(await moves(cluster))
    except KafkaError as error:
        if error.code not in (ErrorCode.UNSUPPORTED_VERSION, ErrorCode.CLUSTER_AUTHORIZATION_FAILED):
            raise
        return {}
