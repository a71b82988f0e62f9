"""What is forgotten: offsets whose time is over, groups that hold nothing, offsets of deleted topics.

Everything is a tombstone in the log first. An old client's own retention counts as it was asked for; all others run
from the commit, or from when the group lost its last member (KIP-211). Not while the group is subscribed to the topic.
"""

from __future__ import annotations

from collections.abc import Iterable

from ottla.coordinators.contract import Outcome, Record
from ottla.coordinators.group import Group
from ottla.coordinators.offset_commit import offset_tombstone
from ottla.coordinators.offset_store import CommittedOffset
from ottla.coordinators.state import ShardState
from ottla.wire.primitives import ZERO_UUID


def expire(state: ShardState, now_ms: int) -> Outcome[None]:
    """Look at every group."""
    records: list[Record] = []
    for group in state.groups.values():
        if _expire_offsets(state, group, now_ms, records) and group.is_empty:
            records.extend(group.tombstones())
    return Outcome(records=records, is_atomic=False)


def _expire_offsets(state: ShardState, group: Group, now_ms: int, records: list[Record]) -> bool:
    """Whether the group has no offsets left, nor any that a transaction may bring."""
    group_id = group.group_id
    all_expired = not state.offsets.has_open_transaction(group_id)
    for (topic, partition), offset in state.offsets.of_group(group_id).items():
        is_over = (
            not group.is_subscribed_to(topic)
            and _is_over(state, group, offset, now_ms)
            and not state.offsets.is_pending(group_id, (topic, partition))
        )
        if is_over:
            records.append(offset_tombstone(group_id, topic, partition))
        else:
            all_expired = False
    return all_expired


def _is_over(state: ShardState, group: Group, offset: CommittedOffset, now_ms: int) -> bool:
    since_ms = group.expires_from_ms(offset.commit_timestamp_ms)
    if since_ms is None:
        return False
    if offset.expire_timestamp_ms is not None:
        return now_ms >= offset.expire_timestamp_ms
    return now_ms - since_ms >= state.settings.offsets_retention_ms


def forget_topics(state: ShardState, deleted: Iterable[tuple[str, bytes]]) -> Outcome[None]:
    """Topics, by name and id, are gone. Offsets that know of another id belong to a topic that took the name."""
    ids = dict(deleted)
    records: list[Record] = []
    for group_id in state.offsets.groups():
        doomed = dict.fromkeys(
            (topic, partition)
            for (topic, partition), offset in state.offsets.known(group_id)
            if topic in ids and offset.topic_id in (ZERO_UUID, ids[topic])
        )
        records.extend(offset_tombstone(group_id, topic, partition) for topic, partition in doomed)
    return Outcome(records=records, is_atomic=False)
