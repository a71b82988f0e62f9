"""An image as the records that build it: what a snapshot holds.

The order matters to readers: features first, since metadata.version says how to read the rest; brokers before what they
hold; a topic before its partitions. The records are written in the versions of the image's own metadata.version.
"""

from __future__ import annotations

from collections.abc import Iterator

from ottla.cluster.features import METADATA_VERSION
from ottla.cluster.image.image import MetadataImage
from ottla.wire.schema import StoredRecord
from ottla.wire.stored.metadata_records import TopicRecord


def snapshot_records(image: MetadataImage) -> Iterator[StoredRecord]:
    """Every record of the state, none twice; replayed on the empty image they make an equal one."""
    yield from _features(image)
    for broker in image.brokers.by_id.values():
        yield broker.to_record(image.metadata_version)
    yield from image.controllers.values()
    yield from _topics(image)
    for configs in image.configs.values():
        yield from configs.values()
    for quotas in image.client_quotas.values():
        yield from quotas.values()
    if image.producer_ids is not None:
        yield image.producer_ids
    yield from image.acls.values()
    yield from image.scram.values()
    yield from image.delegation_tokens.values()


def _features(image: MetadataImage) -> Iterator[StoredRecord]:
    yield from sorted(image.features.values(), key=lambda record: record.name != METADATA_VERSION)
    if image.zk_migration_state is not None:
        yield image.zk_migration_state


def _topics(image: MetadataImage) -> Iterator[StoredRecord]:
    metadata_version = image.metadata_version
    for topic in image.topics.by_id.values():
        record = TopicRecord(name=topic.name, topic_id=topic.id)
        record.unknown_tags = topic.unknown_tags
        yield record
        for partition_id, partition in topic.partitions.items():
            yield partition.to_record(topic.id, partition_id, metadata_version)
