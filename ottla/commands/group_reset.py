"""`ottla groups reset-offsets`: a plan first, and the deed only if it is asked for.

The rules are those of Kafka's own tool: the group must have no members, and an offset outside of a log is moved to the
nearest end of it. A time that no record is as young as stands for the end.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial

from ottla.client.blocking import Client
from ottla.client.cluster import Cluster
from ottla.client.group_description import DEAD, EMPTY, describe_group
from ottla.client.groups import commit_offsets, committed_offsets
from ottla.client.metadata import TopicPartition
from ottla.client.offsets import EARLIEST, LATEST, list_offsets
from ottla.client.together import together
from ottla.commands import EXIT_OK, CommandFailed, UsageError
from ottla.commands.asking import asking
from ottla.commands.moments import parse_moment
from ottla.commands.terminal import Column, Row, Terminal, show
from ottla.commands.topic_commands import existing
from ottla.wire.errors import ErrorCode, KafkaError

Offsets = Mapping[TopicPartition, int]

COLUMNS = (
    Column("TOPIC", lambda row: str(row["topic"])),
    Column("PARTITION", lambda row: str(row["partition"]), is_number=True),
    Column(
        "COMMITTED", lambda row: "-" if row["committedOffset"] is None else str(row["committedOffset"]), is_number=True
    ),
    Column("NEW", lambda row: str(row["newOffset"]), True, lambda row: row["newOffset"] != row["committedOffset"]),
    Column("LAG", lambda row: str(row["lag"]), is_number=True),
)


def reset_offsets(parsed: argparse.Namespace) -> int:
    moment = _moment(parsed)
    with asking(parsed) as client:
        _check_idle(client, parsed.group)
        committed = client.call(committed_offsets, parsed.group)
        places = chosen(client, parsed.group, parsed.topic, committed)
        starts, ends, found = client.call(_bounds, places, moment)
        new = {
            place: nearest(wanted(parsed, place, committed, starts, ends, found), starts[place], ends[place])
            for place in places
        }
        if parsed.execute:
            client.call(commit_offsets, parsed.group, new)
    rows: list[Row] = [
        {
            "topic": place.topic,
            "partition": place.partition,
            "committedOffset": committed.get(place),
            "newOffset": new[place],
            "lag": ends[place] - new[place],
            "isExecuted": parsed.execute,
        }
        for place in places
    ]
    show(Terminal(sys.stdout), COLUMNS, rows, as_json=parsed.json)
    if not parsed.execute:
        sys.stderr.write("nothing was changed; --execute commits these offsets\n")
    return EXIT_OK


def _moment(parsed: argparse.Namespace) -> int | None:
    if parsed.to_time is None:
        return None
    try:
        return parse_moment(parsed.to_time, time.time_ns() // 1_000_000)
    except ValueError as error:
        raise UsageError(f"--to-time: {error}") from error


def _check_idle(client: Client, group_id: str) -> None:
    """A group that is not there yet may be given offsets too."""
    try:
        described = client.call(describe_group, group_id)
    except KafkaError as error:
        if error.code == ErrorCode.GROUP_ID_NOT_FOUND:
            return
        raise
    if described.state not in (EMPTY, DEAD):
        raise CommandFailed(
            f"group {group_id} is {described.state} and has {len(described.members)} members, which would not hear of "
            f"it; stop them first: `ottla groups describe {group_id} --members` names them"
        )


def chosen(client: Client, group_id: str, topics: Sequence[str] | None, committed: Offsets) -> list[TopicPartition]:
    """The partitions that the user means, sorted."""
    if topics is None:
        if not committed:
            raise CommandFailed(f"group {group_id} has committed nothing; name a --topic")
        return sorted(committed)
    places: set[TopicPartition] = set()
    for text in topics:
        name, colon, listed = text.partition(":")
        (topic,) = existing(client, [name])
        there = {partition.partition_index for partition in topic.partitions}
        if not colon:
            places |= {TopicPartition(name, index) for index in there}
            continue
        for number in listed.split(","):
            if not number.isascii() or not number.isdecimal() or int(number) not in there:
                raise UsageError(f"--topic {text}: {name} has partitions 0 to {max(there)}, not {number or 'none'}")
            places.add(TopicPartition(name, int(number)))
    return sorted(places)


async def _bounds(
    cluster: Cluster, places: Sequence[TopicPartition], moment: int | None
) -> tuple[Offsets, Offsets, Offsets]:
    """First offsets, next offsets, and those of the moment where there is one."""
    positions = [EARLIEST, LATEST, *([] if moment is None else [moment])]
    answers = await together(
        [partial(list_offsets, cluster, dict.fromkeys(places, position)) for position in positions]
    )
    starts, ends, *rest = [{place: one.offset for place, one in answer.items()} for answer in answers]
    return starts, ends, rest[0] if rest else {}


def wanted(
    parsed: argparse.Namespace,
    place: TopicPartition,
    committed: Offsets,
    starts: Offsets,
    ends: Offsets,
    found: Offsets,
) -> int:
    """Where the user wants a partition to be, whether or not its log reaches there."""
    if parsed.to_earliest:
        return starts[place]
    if parsed.to_latest:
        return ends[place]
    if parsed.to_offset is not None:
        return int(parsed.to_offset)
    if parsed.shift is not None:
        if place not in committed:
            raise CommandFailed(f"{place} has no committed offset from which to shift; use --to-offset or --to-latest")
        return committed[place] + int(parsed.shift)
    if parsed.to_current:
        return committed.get(place, ends[place])
    return found[place] if found[place] >= 0 else ends[place]


def nearest(offset: int, start: int, end: int) -> int:
    return min(max(offset, start), end)
