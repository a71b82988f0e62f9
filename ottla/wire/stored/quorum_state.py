"""The `quorum-state` file of a raft node, which Kafka keeps as JSON."""

from __future__ import annotations

from ottla.wire.primitives import ZERO_UUID
from ottla.wire.schema import StoredRecord, Struct, Uuid, field, int32, int64


class QuorumStateData(StoredRecord, versions="0-1", flexible="0+"):
    class Voter(Struct):
        voter_id: int32

    cluster_id: str = field("0", default="")
    leader_id: int32 = -1
    leader_epoch: int32 = -1
    voted_id: int32 = -1
    voted_directory_id: Uuid = field("1+", default=ZERO_UUID)
    applied_offset: int64 = field("0", default=0)
    current_voters: list[Voter] | None = field("0", default=[])
