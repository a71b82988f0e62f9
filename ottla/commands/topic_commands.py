"""What the commands of `ottla topics` do: rows from a cluster's answers, and changes that are waited for.

A command returns when a broker shows the change, so that the next command of a script finds what it needs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from functools import partial

from ottla.client.blocking import Client
from ottla.client.configs import ConfigSource, Resource, ResourceType, describe_configs
from ottla.client.metadata import TopicPartition
from ottla.client.offsets import EARLIEST, LATEST
from ottla.client.topic_admin import (
    BROKER_DEFAULT,
    Described,
    NewTopic,
    create_topic,
    delete_topic,
    grow_topic,
    is_served,
    wait_until,
)
from ottla.client.topic_admin import describe_topics as ask_about
from ottla.commands import EXIT_OK
from ottla.commands.asking import asking, confirmed
from ottla.commands.hints import not_there
from ottla.commands.terminal import Column, Row, Table, Terminal, show
from ottla.commands.text_form import compact_json, count_text, printable
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.primitives import uuid_text

LIST_COLUMNS = (
    Column("TOPIC", lambda row: str(row["name"])),
    Column("PARTITIONS", lambda row: str(row["partitions"]), is_number=True),
    Column("REPLICAS", lambda row: str(row["replicationFactor"]), is_number=True),
    Column(
        "TROUBLE",
        lambda row: _trouble_text(row),
        is_remarkable=lambda row: row["underReplicated"] + row["leaderless"] > 0,
    ),
)
PARTITION_COLUMNS = (
    Column("PARTITION", lambda row: str(row["partition"]), is_number=True),
    Column(
        "LEADER", lambda row: "none" if row["leader"] < 0 else str(row["leader"]), True, lambda row: row["leader"] < 0
    ),
    Column("EPOCH", lambda row: str(row["leaderEpoch"]), is_number=True),
    Column("REPLICAS", lambda row: _ids(row["replicas"])),
    Column("IN SYNC", lambda row: _ids(row["isr"]), is_remarkable=lambda row: len(row["isr"]) < len(row["replicas"])),
    Column("FIRST OFFSET", lambda row: _offset(row["startOffset"]), is_number=True),
    Column("NEXT OFFSET", lambda row: _offset(row["endOffset"]), is_number=True),
)


def list_topics(parsed: argparse.Namespace) -> int:
    with asking(parsed) as client:
        topics = client.call(ask_about)
    rows = [topic_row(topic) for topic in topics if parsed.internal or not topic.is_internal]
    show(Terminal(sys.stdout), LIST_COLUMNS, rows, as_json=parsed.json)
    return EXIT_OK


def describe_topics(parsed: argparse.Namespace) -> int:
    terminal = Terminal(sys.stdout)
    with asking(parsed) as client:
        found = existing(client, parsed.topics)
        offsets = offset_bounds(client, found)
        for topic in found:
            assert topic.name is not None
            resource = Resource(ResourceType.TOPIC, topic.name)
            entries = client.call(describe_configs, resource)
            configs = {
                entry.name: entry.value for entry in entries if entry.config_source == ConfigSource.DYNAMIC_TOPIC_CONFIG
            }
            _show_topic(terminal, topic_detail(topic, configs, offsets), as_json=parsed.json)
    return EXIT_OK


def create_topics(parsed: argparse.Namespace) -> int:
    with asking(parsed) as client:
        for name in parsed.topics:
            topic = NewTopic(
                name,
                parsed.partitions or BROKER_DEFAULT,
                parsed.replication_factor or BROKER_DEFAULT,
                dict(parsed.config),
            )
            try:
                client.call(create_topic, topic)
            except KafkaError as error:
                if not parsed.if_not_exists or error.code != ErrorCode.TOPIC_ALREADY_EXISTS:
                    raise
                sys.stderr.write(f"topic {name} exists\n")
                continue
            client.call(wait_until, name, is_served, "with its leaders")
            sys.stderr.write(f"topic {name} is there\n")
    return EXIT_OK


def alter_topic(parsed: argparse.Namespace) -> int:
    with asking(parsed) as client:
        existing(client, [parsed.topic])
        client.call(grow_topic, parsed.topic, parsed.partitions)
        is_grown = partial(is_served, partition_count=parsed.partitions)
        client.call(wait_until, parsed.topic, is_grown, "with its new partitions")
    sys.stderr.write(f"topic {parsed.topic} has {count_text(parsed.partitions, 'partition')}\n")
    return EXIT_OK


def delete_topics(parsed: argparse.Namespace) -> int:
    with asking(parsed) as client:
        names = list(dict.fromkeys(parsed.topics))
        if parsed.if_exists:
            there = {topic.name for topic in client.call(ask_about)}
            names = [name for name in names if name in there]
        found = existing(client, names)
        if not found:
            return EXIT_OK
        held = sum(end - start for start, end in offset_bounds(client, found).values())
        what = f"Delete {', '.join(names)} with up to {count_text(held, 'record')}?"
        confirmed(what, is_said=parsed.yes)
        for name in names:
            client.call(delete_topic, name)
            client.call(wait_until, name, lambda topic: topic is None, "deleted")
            sys.stderr.write(f"topic {name} is gone\n")
    return EXIT_OK


def existing(client: Client, names: Iterable[str]) -> list[Described]:
    """The topics of these names, in that order; CommandFailed with what may have been meant for one that is not."""
    found = []
    for name in dict.fromkeys(names):
        try:
            found += client.call(ask_about, [name])
        except KafkaError as error:
            if error.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
            raise not_there("topic", name, (topic.name or "" for topic in client.call(ask_about))) from error
    return found


def offset_bounds(client: Client, topics: Iterable[Described]) -> dict[TopicPartition, tuple[int, int]]:
    """First and next offset of every partition that has a leader."""
    places = [
        TopicPartition(topic.name or "", partition.partition_index)
        for topic in topics
        for partition in topic.partitions
        if partition.leader_id >= 0
    ]
    starts = client.list_offsets(dict.fromkeys(places, EARLIEST))
    ends = client.list_offsets(dict.fromkeys(places, LATEST))
    return {place: (starts[place].offset, ends[place].offset) for place in places}


def topic_row(topic: Described) -> Row:
    partitions = topic.partitions
    return {
        "name": topic.name,
        "topicId": uuid_text(topic.topic_id),
        "isInternal": topic.is_internal,
        "partitions": len(partitions),
        "replicationFactor": max((len(partition.replica_nodes) for partition in partitions), default=0),
        "underReplicated": sum(len(partition.isr_nodes) < len(partition.replica_nodes) for partition in partitions),
        "leaderless": sum(partition.leader_id < 0 for partition in partitions),
    }


def topic_detail(
    topic: Described, configs: dict[str, str | None], offsets: dict[TopicPartition, tuple[int, int]]
) -> Row:
    partitions = []
    for partition in sorted(topic.partitions, key=lambda one: one.partition_index):
        place = TopicPartition(topic.name or "", partition.partition_index)
        start, end = offsets.get(place, (None, None))
        partitions.append(
            {
                "partition": partition.partition_index,
                "leader": partition.leader_id,
                "leaderEpoch": partition.leader_epoch,
                "replicas": list(partition.replica_nodes),
                "isr": list(partition.isr_nodes),
                "startOffset": start,
                "endOffset": end,
            }
        )
    return topic_row(topic) | {"configs": configs, "partitions": partitions}


def _show_topic(terminal: Terminal, detail: Row, *, as_json: bool) -> None:
    if as_json:
        terminal.line(compact_json(detail))
        return
    terminal.line(
        f"{terminal.bold(printable(detail['name']))}  {terminal.dim(detail['topicId'])}  "
        f"{count_text(len(detail['partitions']), 'partition')}, "
        f"{count_text(detail['replicationFactor'], 'replica')} of each"
    )
    for name, value in detail["configs"].items():
        terminal.line(printable(f"  {name}={value}"))
    with Table(terminal, PARTITION_COLUMNS) as table:
        for row in detail["partitions"]:
            table.row(row)


def _trouble_text(row: Row) -> str:
    told = []
    if row["leaderless"]:
        told.append(f"{row['leaderless']} without a leader")
    if row["underReplicated"]:
        told.append(f"{row['underReplicated']} under-replicated")
    return ", ".join(told) or "-"


def _ids(ids: Iterable[int]) -> str:
    return ",".join(map(str, ids)) or "-"


def _offset(offset: int | None) -> str:
    return "?" if offset is None else str(offset)
