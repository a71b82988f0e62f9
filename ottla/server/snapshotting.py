"""Snapshots of the metadata: read at the start, taken while the node runs, so that the log can let go of its beginning.

One is taken when `metadata.log.max.record.bytes.between.snapshots` have been committed since the last, or when
`metadata.log.max.snapshot.interval.ms` have passed and there is something new. The image is immutable, so its records
are written in a worker thread while the next ones are made. Followers, too, take their own (KIP-630). A snapshot that
cannot be written is no harm: the log still holds everything, and the next one is tried in time.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import NamedTuple

import trio

from ottla.cluster.image import EMPTY, Change, MetadataImage
from ottla.cluster.image.jump import image_of
from ottla.cluster.image.snapshot_file import SnapshotId, snapshot_batches
from ottla.cluster.image.snapshot_records import snapshot_records
from ottla.cluster.voters import KRAFT_VERSION_RECONFIGURABLE, VoterSet
from ottla.config.broker import BrokerConfig
from ottla.server.metadata_store import MetadataStore
from ottla.server.quorum import Quorum

log = logging.getLogger(__name__)


def latest_image(store: MetadataStore) -> MetadataImage:
    """What the latest snapshot says; the log behind it is somebody else's to read."""
    loaded = store.load_snapshot()
    if loaded is None or loaded[0].end_offset == 0:
        return EMPTY  # a node is formatted with a snapshot of nothing
    return image_of(*loaded)


class Plan(NamedTuple):
    """A snapshot to be written."""

    id: SnapshotId
    image: MetadataImage
    voters: VoterSet | None
    now_ms: int


class Snapshots:
    """Follows the quorum."""

    def __init__(self, quorum: Quorum, store: MetadataStore, config: BrokerConfig, now_ms: Callable[[], int]) -> None:
        self._quorum = quorum
        self._store = store
        self._config = config
        self._now_ms = now_ms
        self._applied_bytes = 0
        self._is_due = trio.Event()

    def committed(self, change: Change) -> None: ...

    def activated(self, epoch: int) -> None: ...

    def deactivated(self) -> None: ...

    def reached(self, offset: int) -> None:
        if self._quorum.applied_bytes - self._applied_bytes >= self._bytes_max:
            self._is_due.set()

    @property
    def _bytes_max(self) -> int:
        return self._config.metadata_log_max_record_bytes_between_snapshots

    async def run(self) -> None:
        interval_ms = self._config.metadata_log_max_snapshot_interval_ms
        while True:
            with trio.move_on_after(interval_ms / 1000 if interval_ms else math.inf):
                await self._is_due.wait()
            self._is_due = trio.Event()
            try:
                await self.take()
            except OSError as error:
                log.error("no snapshot of the metadata can be written: %s", error)

    async def take(self) -> None:
        """Write what is committed now, unless that has been done, and drop what is old."""
        plan = self.plan()
        if plan is not None:
            await trio.to_thread.run_sync(self.write, plan)
            self.written(plan)

    def plan(self) -> Plan | None:
        """What there is to write, if anything: nothing of it changes any more."""
        image = self._quorum.image
        self._applied_bytes = self._quorum.applied_bytes
        snapshot_id = SnapshotId(image.offset + 1, image.epoch)
        latest = self._store.latest_snapshot()
        if snapshot_id.end_offset <= (0 if latest is None else latest.offset):
            return None
        raft = self._quorum.raft
        is_reconfigurable = raft.kraft_version_at(snapshot_id.end_offset) >= KRAFT_VERSION_RECONFIGURABLE
        voters = raft.voters_at(snapshot_id.end_offset) if is_reconfigurable else None
        return Plan(snapshot_id, image, voters, self._now_ms())

    def write(self, plan: Plan) -> None:
        """In a worker thread: nothing is touched but what cannot change, and a new file."""
        image = plan.image
        batches = snapshot_batches(
            snapshot_records(image),
            timestamp=plan.now_ms,
            last_contained_log_timestamp=image.timestamp_ms,
            leader_epoch=plan.id.epoch,
            voters=None if plan.voters is None else plan.voters.to_record(),
            metadata_version=image.metadata_version,
        )
        self._store.write_snapshot(plan.id, b"".join(batches))

    def written(self, plan: Plan) -> None:
        """The file is there: it counts, unless a leader's own came meanwhile that is later."""
        if plan.id.end_offset < self._store.start_offset:
            self._store.discard_snapshot(plan.id)
            return
        self._store.snapshot_written(plan.id)
        self._store.drop_old(
            self._now_ms(),
            bytes_max=self._config.metadata_max_retention_bytes,
            age_ms_max=self._config.metadata_max_retention_ms,
        )
        log.info("a snapshot of the metadata up to offset %d is written", plan.id.end_offset)
