"""A group as rows: who holds which partition, what is committed, where the log ends, and what lies between.

The one picture from which describe, watch and their tables are made.
"""

from __future__ import annotations

from functools import partial

from ottla.client.cluster import Cluster
from ottla.client.group_description import GroupDescription, describe_group
from ottla.client.groups import committed_offsets
from ottla.client.metadata import TopicPartition
from ottla.client.offsets import LATEST, list_offsets
from ottla.client.together import together
from ottla.commands.terminal import Column, Row
from ottla.commands.text_form import printable
from ottla.wire.errors import KafkaError


def _lag(row: Row) -> str:
    return "?" if row["lag"] is None else str(row["lag"])


OFFSET_COLUMNS = (
    Column("TOPIC", lambda row: str(row["topic"])),
    Column("PARTITION", lambda row: str(row["partition"]), is_number=True),
    Column(
        "COMMITTED", lambda row: "-" if row["committedOffset"] is None else str(row["committedOffset"]), is_number=True
    ),
    Column("NEXT OFFSET", lambda row: "?" if row["endOffset"] is None else str(row["endOffset"]), is_number=True),
    Column("LAG", _lag, True, lambda row: bool(row["lag"])),
    Column("CLIENT", lambda row: row["clientId"] or "-"),
    Column("HOST", lambda row: row["host"] or "-"),
    Column("MEMBER", lambda row: row["memberId"] or "-"),
)
MEMBER_COLUMNS = (
    Column("MEMBER", lambda row: str(row["memberId"])),
    Column("INSTANCE", lambda row: row["instanceId"] or "-"),
    Column("CLIENT", lambda row: str(row["clientId"])),
    Column("HOST", lambda row: str(row["host"])),
    Column("PARTITIONS", lambda row: _partitions_text(row)),
)


async def group_row(cluster: Cluster, group_id: str) -> Row:
    """All that is known of a group, as a JSON object. GROUP_ID_NOT_FOUND if there is none."""
    described = await describe_group(cluster, group_id)
    committed = await committed_offsets(cluster, group_id)
    places = {*committed, *(place for member in described.members for place in member.partitions)}
    ends = await end_offsets(cluster, places)
    members = [
        {
            "memberId": member.member_id,
            "instanceId": member.instance_id,
            "clientId": member.client_id,
            "host": member.host,
            "partitions": [{"topic": topic, "partition": partition} for topic, partition in member.partitions],
        }
        for member in sorted(described.members, key=lambda one: (one.client_id, one.member_id))
    ]
    return {
        "groupId": described.group_id,
        "type": described.group_type,
        "protocolType": described.protocol_type,
        "state": described.state,
        "assignor": described.assignor,
        "coordinator": described.coordinator_id,
        "members": members,
        "offsets": offset_rows(described, committed, ends),
    }


async def end_offsets(cluster: Cluster, places: set[TopicPartition]) -> dict[TopicPartition, int]:
    """Where the logs end; those that are gone, or have no leader now, are left out."""
    known = await cluster.metadata({place.topic for place in places})
    reachable = []
    for place in sorted(places):
        try:
            known.leader(place)
            reachable.append(place)
        except KafkaError:
            continue
    found = await list_offsets(cluster, dict.fromkeys(reachable, LATEST))
    return {place: one.offset for place, one in found.items()}


def offset_rows(
    described: GroupDescription, committed: dict[TopicPartition, int], ends: dict[TopicPartition, int]
) -> list[Row]:
    """A row per partition that is committed or held by somebody."""
    holders = {place: member for member in described.members for place in member.partitions}
    rows: list[Row] = []
    for place in sorted({*committed, *holders}):
        holder = holders.get(place)
        offset, end = committed.get(place), ends.get(place)
        rows.append(
            {
                "topic": place.topic,
                "partition": place.partition,
                "committedOffset": offset,
                "endOffset": end,
                "lag": None if offset is None or end is None else max(0, end - offset),
                "memberId": holder.member_id if holder else None,
                "clientId": holder.client_id if holder else None,
                "host": holder.host if holder else None,
            }
        )
    return rows


def head_text(row: Row) -> str:
    """A group in one line."""
    lags = [one["lag"] for one in row["offsets"] if one["lag"] is not None]
    assignor = f", assignor {row['assignor']}" if row["assignor"] else ""
    count = len(row["members"])
    return printable(
        f"{row['groupId']}: {row['type']}, {row['state']}, {count} member{'' if count == 1 else 's'}{assignor}, "
        f"coordinator {row['coordinator']}, lag {sum(lags)}"
    )


def _partitions_text(row: Row) -> str:
    topics: dict[str, list[str]] = {}
    for place in row["partitions"]:
        topics.setdefault(place["topic"], []).append(str(place["partition"]))
    return " ".join(f"{topic}:{','.join(partitions)}" for topic, partitions in topics.items()) or "-"


async def group_rows(cluster: Cluster, group_ids: list[str]) -> list[Row]:
    """Several groups at once."""
    return await together([partial(group_row, cluster, group_id) for group_id in group_ids])
