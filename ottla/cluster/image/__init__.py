"""The state of the cluster, built from the metadata log and from nothing else.

partitions, topics, brokers and image are what handlers read; delta and loader turn records into the next image;
snapshot_records and snapshot_file turn an image into what a snapshot holds. Here are the names that others use.
"""

from __future__ import annotations

from ottla.cluster.image.brokers import Broker, Brokers
from ottla.cluster.image.delta import MetadataDelta
from ottla.cluster.image.image import (
    ALL_BROKERS,
    EMPTY,
    ConfigResource,
    ConfigType,
    MetadataImage,
    QuotaEntity,
)
from ottla.cluster.image.loader import Change, MetadataLoader
from ottla.cluster.image.partitions import NO_LEADER, Partition
from ottla.cluster.image.snapshot_records import snapshot_records
from ottla.cluster.image.topics import Topic, Topics

__all__ = [
    "ALL_BROKERS",
    "EMPTY",
    "NO_LEADER",
    "Broker",
    "Brokers",
    "Change",
    "ConfigResource",
    "ConfigType",
    "MetadataDelta",
    "MetadataImage",
    "MetadataLoader",
    "Partition",
    "QuotaEntity",
    "Topic",
    "Topics",
    "snapshot_records",
]
