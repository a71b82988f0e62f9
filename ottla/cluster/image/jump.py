"""Images out of snapshots, and what such an image changed for those who follow change by change.

A node that was away for long gets a snapshot instead of the records that it missed. Whoever follows the image is told
of everything that differs, as if records had said so.
"""

from __future__ import annotations

from dataclasses import fields

from ottla.cluster.image.delta import MetadataDelta
from ottla.cluster.image.image import MetadataImage
from ottla.cluster.image.loader import Change, MetadataLoader
from ottla.cluster.image.snapshot_file import Snapshot, SnapshotId
from ottla.cluster.image.topics import Topics, TopicsDelta

# Where an image lies in the log, and the two parts whose changes are told one by one.
_NOT_A_PART = frozenset({"offset", "epoch", "timestamp_ms", "brokers", "topics"})


def image_of(snapshot_id: SnapshotId, snapshot: Snapshot) -> MetadataImage:
    """What a snapshot says."""
    loader = MetadataLoader()
    loader.load(
        snapshot.records,
        base_offset=snapshot_id.end_offset - len(snapshot.records),
        last_offset=snapshot_id.end_offset - 1,
        epoch=snapshot_id.epoch,
        timestamp_ms=snapshot.last_contained_log_timestamp,
    )
    return loader.image


def jump(before: MetadataImage, after: MetadataImage) -> Change:
    """The change from one image to another that came from elsewhere."""
    delta = MetadataDelta(before)
    _compare_topics(delta.topics, after.topics)
    for part in fields(MetadataImage):
        if part.name not in _NOT_A_PART and getattr(before, part.name) != getattr(after, part.name):
            delta.changed_parts[part.name] = getattr(after, part.name)
    brokers = before.brokers.by_id
    delta.changed_brokers.update((id, None) for id in brokers if id not in after.brokers.by_id)
    delta.changed_brokers.update((id, one) for id, one in after.brokers.by_id.items() if brokers.get(id) != one)
    delta.is_empty = False
    return Change(delta, after)


def _compare_topics(delta: TopicsDelta, after: Topics) -> None:
    for topic_id, topic in delta.image.by_id.items():
        if topic_id not in after.by_id:
            delta.removed[topic_id] = topic
    for topic_id, topic in after.by_id.items():
        known = delta.image.by_id.get(topic_id)
        partitions = {} if known is None else known.partitions
        touched = [index for index, one in topic.partitions.items() if partitions.get(index) != one]
        if touched or known is None:
            delta.changed[topic_id] = topic
            delta.touched[topic_id] = touched
