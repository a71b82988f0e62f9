"""A snapshot loses nothing: image to records to image."""

from __future__ import annotations

import pytest

from ottla.cluster.image import EMPTY, MetadataDelta, MetadataImage, snapshot_records
from ottla.cluster.metadata_log import decode_record, encode_record
from ottla.wire.schema import StoredRecord
from ottla.wire.stored.metadata_records import (
    AccessControlEntryRecord,
    ConfigRecord,
    DelegationTokenRecord,
    FeatureLevelRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    TopicRecord,
    UserScramCredentialRecord,
)
from tests.cluster.metadata_samples import metadata_log

WITH_TAGS = (
    AccessControlEntryRecord,
    ConfigRecord,
    DelegationTokenRecord,
    FeatureLevelRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    TopicRecord,
    UserScramCredentialRecord,
)


def image_of(log: list[StoredRecord]) -> MetadataImage:
    delta = MetadataDelta(EMPTY)
    for record in log:
        delta.replay(record)
    return delta.apply(9, 1, 1)


@pytest.mark.parametrize("seed", range(30))
def test_an_image_comes_back_from_its_records_through_bytes(seed: int) -> None:
    log = metadata_log(seed, 120)
    for number, record in enumerate(log):
        if isinstance(record, WITH_TAGS):
            record.unknown_tags = ((1000 + number, b"new"),)
    image = image_of(log)
    frames = [encode_record(record) for record in snapshot_records(image)]
    assert image_of([decode_record(frame) for frame in frames]) == image
    assert len(frames) == len(set(frames))


def test_features_come_first_and_the_metadata_version_before_all() -> None:
    log = [FeatureLevelRecord(name="group.version", feature_level=1), *metadata_log(2)]
    first, second, *_ = snapshot_records(image_of(log))
    assert isinstance(first, FeatureLevelRecord)
    assert first.name == "metadata.version"
    assert isinstance(second, FeatureLevelRecord)


def test_the_empty_image_has_no_records() -> None:
    assert list(snapshot_records(EMPTY)) == []


def test_a_cluster_of_an_old_metadata_version_writes_what_its_nodes_can_read() -> None:
    log: list[StoredRecord] = [
        FeatureLevelRecord(name="metadata.version", feature_level=16),
        TopicRecord(name="t", topic_id=b"t" * 16),
        PartitionRecord(
            partition_id=0,
            topic_id=b"t" * 16,
            replicas=[1],
            isr=[1],
            removing_replicas=[],
            adding_replicas=[],
            leader=1,
        ),
        RegisterBrokerRecord(
            broker_id=1, incarnation_id=bytes(16), broker_epoch=1, end_points=[], features=[], rack=None
        ),
    ]
    image = image_of(log)
    frames = [encode_record(record, image.metadata_version) for record in snapshot_records(image)]
    assert [frame[2] for frame in frames] == [0, 2, 0, 0]
    assert image_of([decode_record(frame) for frame in frames]) == image
