"""`__consumer_offsets`: committed offsets and classic groups."""

from __future__ import annotations

from ottla.wire.primitives import ZERO_UUID
from ottla.wire.schema import StoredRecord, Struct, Uuid, field, int32, int64


class OffsetCommitKey(StoredRecord, type_id=1, versions="0"):
    group: str
    topic: str
    partition: int32


class OffsetCommitValue(StoredRecord, type_id=1, versions="0-4", flexible="4+"):
    offset: int64
    leader_epoch: int32 = field("3+", default=-1, ignorable=True)
    metadata: str
    commit_timestamp: int64
    expire_timestamp: int64 = field("1", default=-1, ignorable=True)
    topic_id: Uuid = field("4+", default=ZERO_UUID, tag=0, tagged="4+", ignorable=True)


class LegacyOffsetCommitKey(StoredRecord, type_id=0, versions="0"):
    group: str
    topic: str
    partition: int32


class LegacyOffsetCommitValue(StoredRecord, type_id=0, versions="0"):
    offset: int64
    metadata: str
    commit_timestamp: int64


class GroupMetadataKey(StoredRecord, type_id=2, versions="0"):
    group: str


class GroupMetadataValue(StoredRecord, type_id=2, versions="0-4", flexible="4+"):
    class MemberMetadata(Struct):
        member_id: str
        group_instance_id: str | None = field("3+", default=None, ignorable=True)
        client_id: str
        client_host: str
        rebalance_timeout: int32 = field("1+", default=-1, ignorable=True)
        session_timeout: int32
        subscription: bytes
        assignment: bytes

    protocol_type: str
    generation: int32
    protocol: str | None
    leader: str | None
    current_state_timestamp: int64 = field("2+", default=-1, ignorable=True)
    members: list[MemberMetadata]
