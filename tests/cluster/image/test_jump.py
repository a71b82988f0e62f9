"""A snapshot in the middle: followers of the image are told of all that differs, and of nothing else."""

from __future__ import annotations

from ottla.cluster.image import EMPTY, MetadataImage, MetadataLoader, snapshot_records
from ottla.cluster.image.jump import image_of, jump
from ottla.cluster.image.snapshot_file import Snapshot, SnapshotId
from ottla.wire.schema import StoredRecord
from ottla.wire.stored.metadata_records import (
    ConfigRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnregisterBrokerRecord,
)

KEPT, GONE, NEW = b"the id of kept..", b"the id of gone..", b"the id of new..."


def topic(name: str, topic_id: bytes, *, partitions: int = 2) -> list[StoredRecord]:
    return [
        TopicRecord(name=name, topic_id=topic_id),
        *(
            PartitionRecord(
                partition_id=index,
                topic_id=topic_id,
                replicas=[1],
                isr=[1],
                removing_replicas=[],
                adding_replicas=[],
                leader=1,
                leader_epoch=0,
                partition_epoch=0,
            )
            for index in range(partitions)
        ),
    ]


def broker(id: int) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=id, incarnation_id=bytes(16), broker_epoch=id, end_points=[], features=[], rack=None, log_dirs=[]
    )


def after(image: MetadataImage, *records: StoredRecord) -> MetadataImage:
    loader = MetadataLoader(image)
    first = image.offset + 1
    loader.load(records, base_offset=first, last_offset=first + len(records) - 1, epoch=1, timestamp_ms=1)
    return loader.image


BEFORE = after(
    EMPTY,
    FeatureLevelRecord(name="metadata.version", feature_level=25),
    broker(1),
    broker(2),
    *topic("kept", KEPT),
    *topic("gone", GONE),
)
AFTER = after(
    BEFORE,
    RemoveTopicRecord(topic_id=GONE),
    UnregisterBrokerRecord(broker_id=2, broker_epoch=2),
    broker(3),
    *topic("gone", NEW, partitions=1),
    PartitionChangeRecord(partition_id=1, topic_id=KEPT, leader=-1),
    ConfigRecord(resource_type=2, resource_name="kept", name="retention.ms", value="1"),
)


def test_all_that_differs_is_told() -> None:
    change = jump(BEFORE, AFTER)
    assert change.image is AFTER
    assert change.delta.image is BEFORE
    assert list(change.delta.topics.removed) == [GONE]
    assert change.delta.topics.touched == {KEPT: [1], NEW: [0]}
    assert set(change.delta.changed_parts) == {"configs"}
    assert {id: one is None for id, one in change.delta.changed_brokers.items()} == {2: True, 3: False}


def test_the_same_image_is_no_news() -> None:
    delta = jump(AFTER, AFTER).delta
    assert (delta.topics.removed, delta.topics.touched, delta.changed_parts, delta.changed_brokers) == ({}, {}, {}, {})


def test_what_a_snapshot_holds_is_the_image_that_it_was_taken_of() -> None:
    snapshot = Snapshot(7, 1, None, list(snapshot_records(AFTER)))
    found = image_of(SnapshotId(AFTER.offset + 1, 1), snapshot)
    assert (found.offset, found.epoch, found.timestamp_ms) == (AFTER.offset, 1, 7)
    assert jump(AFTER, found).delta.topics.touched == {}
    assert found.configs == AFTER.configs
