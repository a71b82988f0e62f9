"""What consumers put into the opaque bytes of the classic group protocol."""

from __future__ import annotations

from ottla.wire.schema import StoredRecord, Struct, field, int32


class ConsumerProtocolSubscription(StoredRecord, versions="0-3"):
    class TopicPartition(Struct):
        topic: str
        partitions: list[int32]

    topics: list[str]
    user_data: bytes | None = None
    owned_partitions: list[TopicPartition] = field("1+", default=[], ignorable=True)
    generation_id: int32 = field("2+", default=-1, ignorable=True)
    rack_id: str | None = field("3+", default=None, ignorable=True)


class ConsumerProtocolAssignment(StoredRecord, versions="0-3"):
    class TopicPartition(Struct):
        topic: str
        partitions: list[int32]

    assigned_partitions: list[TopicPartition]
    user_data: bytes | None = None
