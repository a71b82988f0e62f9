"""From which replica a consumer should read: one in its own rack, if that is good for it (KIP-392).

Pure. The leader chooses, by Kafka's rule: only among replicas in sync that have the offset, the leader first, and of
several in the rack the one that has most. Who is out of sync is never chosen: a consumer would fall behind with it.
"""

from __future__ import annotations

from collections.abc import Mapping

from ottla.cluster.in_sync_replicas import InSyncReplicas


def preferred_read_replica(
    in_sync: InSyncReplicas, racks: Mapping[int, str | None], rack_id: str, fetch_offset: int
) -> int | None:
    """The follower to read from; None: the leader.

    `racks` are those of the brokers that can be reached where the consumer has come in.
    """
    if not rack_id or racks.get(in_sync.node_id) == rack_id:
        return None
    chosen, chosen_rank = None, (0, 0, 0)
    for id, follower in in_sync.followers.items():
        if id not in in_sync.isr or racks.get(id) != rack_id:
            continue
        rank = (follower.end_offset, follower.caught_up_ms, id)
        if follower.start_offset <= fetch_offset <= follower.end_offset and (chosen is None or rank > chosen_rank):
            chosen, chosen_rank = id, rank
    return chosen
