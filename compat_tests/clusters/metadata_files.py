"""The metadata log as a node keeps it, Ottla's or Apache Kafka's: its snapshots, where it begins, what it says.

Files of a node that may be running: it only adds to them, and drops old ones.
"""

from __future__ import annotations

from pathlib import Path

from ottla.cluster.image import EMPTY, MetadataImage
from ottla.cluster.image.jump import image_of
from ottla.cluster.image.loader import MetadataLoader
from ottla.cluster.image.snapshot_file import SnapshotId, read_snapshot
from ottla.cluster.metadata_log import read_metadata_batch
from ottla.wire.records import iter_batches

PARTITION = "__cluster_metadata-0"


def snapshots(log_dir: Path) -> list[SnapshotId]:
    """The finished ones, the latest last."""
    names = (path.name for path in (log_dir / PARTITION).iterdir())
    return sorted(found for name in names if (found := SnapshotId.parse(name)) is not None)


def begins_at(log_dir: Path) -> int:
    """The first offset of the log: it is not 0 in a node that began with a snapshot."""
    return int(segments(log_dir)[0].stem)


def segments(log_dir: Path) -> list[Path]:
    return sorted((log_dir / PARTITION).glob("*.log"))


def image(log_dir: Path) -> MetadataImage:
    """What the latest snapshot and the log behind it say."""
    latest = snapshots(log_dir)[-1]
    begun = EMPTY
    if latest.end_offset > 0:
        begun = image_of(latest, read_snapshot((log_dir / PARTITION / latest.file_name).read_bytes()))
    loader = MetadataLoader(begun)
    for batch in iter_batches(b"".join(path.read_bytes() for path in segments(log_dir))):
        if batch.base_offset >= latest.end_offset:
            loader.load(
                read_metadata_batch(batch),
                base_offset=batch.base_offset,
                last_offset=batch.last_offset,
                epoch=batch.leader_epoch,
                timestamp_ms=batch.max_timestamp,
            )
    return loader.image
