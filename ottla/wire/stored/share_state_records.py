"""`__share_group_state`: snapshots and updates of share partitions (KIP-932)."""

from __future__ import annotations

from ottla.wire.schema import StoredRecord, Struct, Uuid, field, int8, int16, int32, int64


class ShareSnapshotKey(StoredRecord, type_id=0, versions="0"):
    group_id: str
    topic_id: Uuid
    partition: int32


class ShareSnapshotValue(StoredRecord, type_id=0, versions="0", flexible="0+"):
    class StateBatch(Struct):
        first_offset: int64
        last_offset: int64
        delivery_state: int8
        delivery_count: int16

    snapshot_epoch: int32
    state_epoch: int32
    leader_epoch: int32
    start_offset: int64
    delivery_complete_count: int32 = field(default=-1, tag=0, tagged="0+")
    create_timestamp: int64
    write_timestamp: int64
    state_batches: list[StateBatch]


class ShareUpdateKey(StoredRecord, type_id=1, versions="0"):
    group_id: str
    topic_id: Uuid
    partition: int32


class ShareUpdateValue(StoredRecord, type_id=1, versions="0", flexible="0+"):
    class StateBatch(Struct):
        first_offset: int64
        last_offset: int64
        delivery_state: int8
        delivery_count: int16

    snapshot_epoch: int32
    leader_epoch: int32
    start_offset: int64
    delivery_complete_count: int32 = field(default=-1, tag=0, tagged="0+")
    state_batches: list[StateBatch]
