"""Drives this node's replica of the metadata log: raft's effects are performed here, committed records become images.

Everything happens on the loop between awaits, but for syncs, which run in a worker thread and are reported back. Who
wants to know of committed changes subscribes; who leads (the controller) proposes through `propose`. Followers are told
when all effects of an event are done, and may propose while they are told: raft takes one event at a time.

What fails here fails for good: raft believes the disk, so a node whose metadata log cannot be written or read must
stop. `run` raises then, and every event is refused.
"""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NoReturn, Protocol

import trio

from ottla.cluster import raft_effects as effects
from ottla.cluster.image.image import MetadataImage
from ottla.cluster.image.jump import image_of, jump
from ottla.cluster.image.loader import Change, MetadataLoader
from ottla.cluster.image.snapshot_file import Snapshot, SnapshotId
from ottla.cluster.metadata_log import BATCH_BYTES_MAX, MetadataLogError, read_metadata_batch
from ottla.cluster.raft import Raft
from ottla.cluster.raft_config import Dice, RaftConfig
from ottla.cluster.raft_log import ControlRecord, OffsetAndEpoch, control_records
from ottla.cluster.voters import VoterSet
from ottla.server.metadata_store import MetadataStore
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.schema import Request

if TYPE_CHECKING:
    from ottla.client.connection import OpenStream
    from ottla.server.quorum_links import QuorumLinks

log = logging.getLogger(__name__)

# A full disk is no failure as long as nothing was promised: a change that may not fit is refused before raft hears of
# it. The rest of this room is for raft's own records and the quorum-state file.
FREE_BYTES_MIN = 1 << 20


class QuorumFailed(Exception):
    """This node's replica of the metadata log is of no use any more; the cause is attached."""


class Follower(Protocol):
    """Somebody who follows the quorum."""

    def committed(self, change: Change) -> None:
        """Records are committed, and this is what they changed."""

    def activated(self, epoch: int) -> None:
        """This node leads the quorum from now on."""

    def deactivated(self) -> None:
        """It does not any more."""

    def reached(self, offset: int) -> None:
        """Everything before this offset is committed and has been shown."""


class Quorum:
    def __init__(
        self,
        store: MetadataStore,
        config: RaftConfig,
        dice: Dice,
        now_ms: Callable[[], int],
        image: MetadataImage,
        open_stream: OpenStream | None = None,
    ) -> None:
        """`image` is that of the store's snapshot; the log behind it is read as it is committed.

        `open_stream` is how other nodes are reached, where it is not TCP.
        """
        self._store = store
        self._config = config
        self._open_stream = open_stream
        self._to_send, self._sends = trio.open_memory_channel[effects.Send](math.inf)
        self._now_ms = now_ms
        self._loader = MetadataLoader(image)
        self._applied_offset = image.offset + 1
        self._followers: list[Follower] = []
        # Called after each event that came by itself: answers may have become ready.
        self.settled: Callable[[], None] = lambda: None
        self.failure: QuorumFailed | None = None
        # How many bytes of committed batches have been shown, those of the log at the start included.
        self.applied_bytes = 0
        self._news: deque[Callable[[], None]] = deque()
        self._is_telling = False
        self._flushes: list[int] = []
        self._is_flush_wanted = trio.Event()
        self._is_looking = False
        self._is_changed = trio.Event()
        self._tokens: dict[object, Callable[[object], None]] = {}
        # What is to be told to raft as its next event, once the effects of this one are done.
        self._next_event: Callable[[], list[effects.Effect]] | None = None
        self.raft = Raft(config, store, dice, store.load_quorum_state(), self._control_records(), now_ms())

    @property
    def image(self) -> MetadataImage:
        return self._loader.image

    def _control_records(self) -> list[ControlRecord]:
        loaded = self._store.load_snapshot()
        records = [] if loaded is None else _control_records_of(*loaded)
        first_offset = self._store.start_offset if loaded is None else loaded[0].end_offset
        for batch in self._store.batches(first_offset, self._store.end_offset):
            if batch.is_control:
                records += control_records(batch)
        return records

    @property
    def is_in_transaction(self) -> bool:
        return self._loader.transaction_offset is not None

    def follow(self, follower: Follower) -> None:
        self._followers.append(follower)

    @property
    def applied_offset(self) -> int:
        """Everything before this offset is committed and has been shown."""
        return self._applied_offset

    # Events

    def start(self) -> None:
        self._perform(self.raft.start(self._now_ms()))

    def propose(self, batch: bytes, count: int, epoch: int) -> None:
        """As the active leader, write a batch. KafkaError: not the leader, too large, or no room; no effect."""
        self._check()
        if len(batch) > BATCH_BYTES_MAX:
            reason = f"a change of the metadata of {len(batch)} bytes, {BATCH_BYTES_MAX} bytes are the limit"
            raise KafkaError(ErrorCode.POLICY_VIOLATION, reason)
        if self._store.free_bytes() < len(batch) + FREE_BYTES_MIN:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self._store.directory}: no space left on the disk")
        self._perform(self.raft.propose(batch, count, epoch, self._now_ms()))

    def request(self, request: Request, version: int, listener: str, answer: Callable[[object], None]) -> None:
        """One of the quorum's own requests; it is answered now or later."""
        self._check()
        token = object()
        self._tokens[token] = answer
        self._perform(self.raft.request(token, request, version, listener, self._now_ms()))

    async def resign(self) -> None:
        """Take part no more. Return when those who have to hear of it have: another leads the sooner."""
        self._check()
        self._perform(self.raft.shut_down(self._now_ms()))
        while not self.raft.may_stop:
            await self.changed()

    async def changed(self) -> None:
        """Wait for something to happen; whoever waits looks what it was, and may be woken for nothing."""
        await self._is_changed.wait()

    async def run(self) -> None:
        """Keep raft's time, and sync what it wants synced."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._keep_time)
            nursery.start_soon(self._sync)
            nursery.start_soon(self._talk)

    async def _talk(self) -> None:
        """Send what raft wants to be sent; each request is a task of its own."""
        first = await self._sends.receive()
        from ottla.server.quorum_links import QuorumLinks  # a quorum of one talks to nobody, and starts faster

        timeout_ms = self._config.request_timeout_ms
        links = QuorumLinks(self._config.node_id, timeout_ms, *([self._open_stream] if self._open_stream else []))
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._ask, links, first)
                async for sending in self._sends:
                    nursery.start_soon(self._ask, links, sending)
        finally:
            with trio.CancelScope(shield=True):
                await links.aclose()

    async def _ask(self, links: QuorumLinks, sending: effects.Send) -> None:
        response = await links.exchange(sending)
        self._check()
        self._perform(self.raft.response(sending.correlation_id, response, self._now_ms()))
        self.settled()
        if response is None and sending.node_id == self.raft.leader_id and self._open_stream is None:
            await self._look_at_leader(sending)

    async def _look_at_leader(self, sending: effects.Send) -> None:
        """The leader has not answered: a process that has ended need not be waited for. One look at a time will do."""
        from ottla.server.probing import is_refused

        if self._is_looking:
            return
        self._is_looking = True
        try:
            is_gone = await is_refused(*sending.endpoint)
        finally:
            self._is_looking = False
        if is_gone:
            self._check()
            self._perform(self.raft.leader_gone(sending.node_id, self._now_ms()))
            self.settled()

    async def _keep_time(self) -> None:
        while True:
            self._is_changed = trio.Event()
            wait_seconds = max(0, self.raft.wake_at_ms - self._now_ms()) / 1000
            with trio.move_on_after(min(wait_seconds, math.inf)):
                await self._is_changed.wait()
            self._check()
            if self.raft.wake_at_ms <= self._now_ms():
                self._perform(self.raft.tick(self._now_ms()))
                self.settled()

    async def _sync(self) -> None:
        while True:
            await self._is_flush_wanted.wait()
            self._is_flush_wanted = trio.Event()
            flush_id = self._flushes[-1]
            self._flushes.clear()
            await self._flush()
            self._perform(self.raft.log_flushed(flush_id, self._now_ms()))
            self.settled()

    async def _flush(self) -> None:
        try:
            job = self._store.begin_flush()
            await trio.to_thread.run_sync(job.run)
            self._store.log.flushed(job)
        except OSError as error:
            # The kernel may have dropped what it could not write: the next sync would say that all is well.
            self._store.log.failure = self._store.log.failure or error
            self._fail(error)
        except KafkaError as error:
            self._fail(error)

    # Failing

    def _check(self) -> None:
        if self.failure is not None:
            raise self.failure

    def _fail(self, error: Exception) -> NoReturn:
        """Whoever brought this event gets the exception, and so does `run`, which ends the node."""
        self.failure = QuorumFailed(f"{self._store.directory} is of no use any more: {str(error) or repr(error)}")
        self._news.clear()
        self._is_changed.set()
        raise self.failure from error

    # Effects

    def _perform(self, todo: list[effects.Effect]) -> None:
        try:
            for effect in todo:
                self._perform_one(effect)
            while self._next_event is not None:
                event, self._next_event = self._next_event, None
                for effect in event():
                    self._perform_one(effect)
        except (KafkaError, OSError) as error:
            self._fail(error)
        except Exception as error:
            # Our own mistake, or a log that cannot be read: raft believes in what has not been done.
            log.exception("what raft wants done cannot be")
            self._fail(error)
        self._is_changed.set()
        self._tell()

    def _tell(self) -> None:
        """Pass on what the effects have to say. A follower that proposes now comes back here: its news are last."""
        if self._is_telling:
            return
        self._is_telling = True
        try:
            while self._news:
                self._news.popleft()()
        except QuorumFailed:
            raise
        except Exception as error:
            # Some have been told and some not, or the log cannot be read: nobody may go on with that.
            log.exception("what is committed cannot be shown")
            self._fail(error)
        finally:
            self._is_telling = False

    def _perform_one(self, effect: effects.Effect) -> None:
        match effect:
            case effects.PersistQuorumState(state, kraft_version, voter_ids):
                self._store.save_quorum_state(state, kraft_version, voter_ids)
            case effects.Append(batch, base_offset, epoch):
                assert base_offset == self._store.end_offset, base_offset
                self._store.append(batch, epoch, self._now_ms())
            case effects.Flush(flush_id):
                self._flushes.append(flush_id)
                self._is_flush_wanted.set()
            case effects.HighWatermark(offset):
                self._news.append(partial(self._apply_to, offset))
            case effects.Activated(epoch):
                self._news.extend(partial(follower.activated, epoch) for follower in self._followers)
            case effects.LeaderChanged(leader_id, epoch):
                log.debug("the quorum's leader is %s in epoch %d", leader_id, epoch)
                self._news.extend(follower.deactivated for follower in self._followers)
            case effects.Send() as sending:
                self._to_send.send_nowait(sending)
            case effects.AppendFetched(records, base_offset):
                assert base_offset == self._store.end_offset, base_offset
                self._store.append_fetched(records, self._now_ms())
            case effects.Truncate(end_offset):
                self._store.truncate(end_offset, self._now_ms())
            case effects.WriteSnapshot(snapshot, position, data):
                self._store.write_snapshot_part(SnapshotId(*snapshot), position, data)
            case effects.InstallSnapshot(snapshot):
                self._install(snapshot)
            case effects.FetchReply(token, response, start_offset, bytes_max):
                partition = response.responses[0].partitions[0]
                partition.records = self._store.read_whole_batches(start_offset, bytes_max)
                self._news.append(partial(self._tokens.pop(token), response))
            case effects.SnapshotReply(token, response, snapshot, position, size_bytes):
                piece = self._store.read_snapshot_part(SnapshotId(*snapshot), position, size_bytes)
                response.topics[0].partitions[0].unaligned_records = piece
                self._news.append(partial(self._tokens.pop(token), response))
            case effects.Reply(token, response):
                self._news.append(partial(self._tokens.pop(token), response))
            case effects.Note(text):
                log.warning("%s", text)
            case effects.VotersChanged():
                pass

    def _install(self, snapshot: OffsetAndEpoch) -> None:
        """Put a snapshot in the place of all there was. Raft hears of it next, those who follow the image later."""
        try:
            loaded = self._store.install_snapshot(SnapshotId(*snapshot), self._now_ms())
        except MetadataLogError as error:
            log.warning("a snapshot of the metadata is of no use: %s", error)
            self._next_event = lambda: self.raft.snapshot_refused(self._now_ms())
            return
        records = _control_records_of(SnapshotId(*snapshot), loaded)
        self._news.append(partial(self._jump_to, SnapshotId(*snapshot), loaded))
        self._next_event = lambda: self.raft.snapshot_installed(snapshot, records, self._now_ms())

    def _jump_to(self, snapshot_id: SnapshotId, snapshot: Snapshot) -> None:
        change = jump(self._loader.image, image_of(snapshot_id, snapshot))
        self._loader = MetadataLoader(change.image)
        self._applied_offset = snapshot_id.end_offset
        for follower in self._followers:
            follower.committed(change)
        for follower in self._followers:
            follower.reached(self._applied_offset)

    def _apply_to(self, offset: int) -> None:
        """Show what has been committed."""
        if offset <= self._applied_offset:
            return  # a snapshot has shown it
        self._store.log.advance_high_watermark(offset)
        for batch in self._store.batches(self._applied_offset, offset):
            changes = self._loader.load(
                read_metadata_batch(batch),
                base_offset=batch.base_offset,
                last_offset=batch.last_offset,
                epoch=batch.leader_epoch,
                timestamp_ms=batch.max_timestamp,
            )
            self.applied_bytes += batch.size_bytes
            for change in changes:
                for follower in self._followers:
                    follower.committed(change)
        self._applied_offset = offset
        for follower in self._followers:
            follower.reached(offset)

    def end(self) -> OffsetAndEpoch:
        return self.raft.end


def _control_records_of(snapshot_id: SnapshotId, snapshot: Snapshot) -> list[ControlRecord]:
    """What raft itself wants to know of a snapshot."""
    offset = snapshot_id.end_offset - 1
    records = [ControlRecord(offset, snapshot.kraft_version)]
    if snapshot.voters is not None:
        records.append(ControlRecord(offset, VoterSet.from_record(snapshot.voters)))
    return records
