"""Partitions with their replicas, as rows: who leads, who is in sync and who is not, how far each has come.

AR are the replicas a partition is assigned to, ISR those in sync, OSR the rest. A log's end (LEO) is what a replica
has, the high watermark (HW) what is committed; the lag of a replica is what the leader has and it has not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ottla.client.cluster import Cluster
from ottla.client.metadata import TopicPartition
from ottla.client.partition_admin import all_ends
from ottla.client.topic_admin import Described, describe_topics
from ottla.commands.terminal import Column, Row

NOBODY = -1


def ids_text(ids: Iterable[int]) -> str:
    return ",".join(str(one) for one in ids) or "-"


def leader_text(row: Row) -> str:
    return "none" if row["leader"] == NOBODY else str(row["leader"])


def offset_text(offset: int | None) -> str:
    return "?" if offset is None else str(offset)


def replicas_text(row: Row) -> str:
    """`1:120 2:118(-2)`: what each replica has, and what it lacks."""
    return " ".join(
        f"{one['broker']}:{offset_text(one['logEndOffset'])}" + (f"(-{one['lag']})" if one["lag"] else "")
        for one in row["replicas"]
    )


PARTITION_COLUMNS = (
    Column("TOPIC", lambda row: str(row["topic"])),
    Column("PARTITION", lambda row: str(row["partition"]), is_number=True),
    Column("LEADER", leader_text, True, lambda row: row["leader"] == NOBODY),
    Column("AR", lambda row: ids_text(row["assigned"])),
    Column("ISR", lambda row: ids_text(row["inSync"])),
    Column("OSR", lambda row: ids_text(row["outOfSync"]), False, lambda row: bool(row["outOfSync"])),
)
OFFSET_COLUMNS = (
    *PARTITION_COLUMNS,
    Column("HW", lambda row: offset_text(row["highWatermark"]), is_number=True),
    Column("LEO", replicas_text, False, lambda row: any(one["lag"] for one in row["replicas"])),
)


def partition_rows(topics: Iterable[Described]) -> list[Row]:
    """A row per partition, without offsets."""
    return [
        {
            "topic": topic.name,
            "partition": one.partition_index,
            "leader": one.leader_id,
            "leaderEpoch": one.leader_epoch,
            "assigned": list(one.replica_nodes),
            "inSync": list(one.isr_nodes),
            "outOfSync": [broker for broker in one.replica_nodes if broker not in one.isr_nodes],
            "offline": list(one.offline_replicas),
        }
        for topic in topics
        for one in sorted(topic.partitions, key=lambda one: one.partition_index)
    ]


def state_of(row: Row) -> str:
    """What is wrong with a partition, if anything."""
    if row["leader"] == NOBODY:
        return "offline"
    return "under-replicated" if row["outOfSync"] else "ok"


def with_offsets(
    row: Row, ends: Mapping[tuple[int, TopicPartition], int], committed: Mapping[tuple[int, TopicPartition], int]
) -> Row:
    """The same with the end of every replica that answered."""
    place, leader = TopicPartition(row["topic"], row["partition"]), row["leader"]
    leader_end = ends.get((leader, place))
    replicas: list[dict[str, Any]] = []
    for broker in row["assigned"]:
        end = ends.get((broker, place))
        is_known = end is not None and leader_end is not None
        replicas.append(
            {
                "broker": broker,
                "isLeader": broker == leader,
                "isInSync": broker in row["inSync"],
                "logEndOffset": end,
                "lag": max(0, (leader_end or 0) - (end or 0)) if is_known else None,
            }
        )
    return {**row, "highWatermark": committed.get((leader, place)), "replicas": replicas}


def by_broker(rows: Sequence[Row], *, only_leaders: bool) -> dict[int, list[TopicPartition]]:
    """Whom to ask about which partitions."""
    asked: dict[int, list[TopicPartition]] = {}
    for row in rows:
        holders = [row["leader"]] if only_leaders else row["assigned"]
        for broker in holders:
            if broker != NOBODY and broker not in row["offline"]:
                asked.setdefault(broker, []).append(TopicPartition(row["topic"], row["partition"]))
    return asked


async def ask_partitions(cluster: Cluster, names: Sequence[str] | None) -> list[Row]:
    """These topics, or all, with the ends of all replicas that can be asked."""
    rows = partition_rows(await describe_topics(cluster, names))
    # What is committed first: a follower that was asked later has it, as far as it is in sync.
    committed = await all_ends(cluster, by_broker(rows, only_leaders=True), as_replica=False)
    ends = await all_ends(cluster, by_broker(rows, only_leaders=False), as_replica=True)
    return [with_offsets(row, ends, committed) for row in rows]
