"""What must hold of the quorum at every step, however it is troubled: Kafka's raft invariants, and images that agree.

- a node's epoch is on its disk before anybody hears of it, and does not go back, nor over a crash; in an epoch it votes
  once, whatever it forgets;
- at most one node leads in an epoch, it holds all that was committed before, and serves not before it has committed
  a record of its own epoch;
- the high watermark of a running node never falls, and is not cut off; what is below any node's is the same on all, for
  ever, and when a leader moved it was on the disks of a majority of its voters;
- a node comes back with all that it had synced;
- whoever has read up to an offset has the image that all others had there, by records or by a snapshot.

`check_logs` compares whole logs. Who tells the checks what happens is quorum_replica.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from ottla.cluster.image import EMPTY, MetadataImage
from ottla.cluster.raft_effects import (
    Activated,
    Append,
    Effect,
    HighWatermark,
    InstallSnapshot,
    PersistQuorumState,
    Truncate,
    VotersChanged,
)
from ottla.cluster.raft_log import ControlRecord, control_records
from ottla.cluster.voters import VoterSet
from ottla.server.metadata_store import MetadataStore
from ottla.wire.messages.quorum import VoteRequest, VoteResponse
from ottla.wire.schema import Request, Response
from tests.simulation.quorum_replica import QuorumReplica


class MetadataChecks:
    """`changed` is called with every image that is committed for the first time, and the one before."""

    def __init__(self, counts: Counter[str], changed: Callable[[MetadataImage, MetadataImage], None]) -> None:
        self.image = EMPTY
        self._counts = counts
        self._changed = changed
        self._stores: dict[int, MetadataStore] = {}
        self._cutting: dict[int, int] = {}  # by node: up to where, while its log is cut, or given up
        self._epochs: dict[int, int] = {}
        self._votes: dict[tuple[int, int], int] = {}
        self._grants: dict[tuple[int, int], int] = {}
        self._leaders: dict[int, int] = {}
        self._high_watermarks: dict[int, int] = {}
        self._committed: list[bytes] = []  # by offset: the batch that holds the record
        self._voters: list[ControlRecord] = []
        self._committed_in: dict[int, int] = {}  # by epoch: up to where its leader has committed
        self._images: dict[int, MetadataImage] = {}

    # What happens

    def started(self, replica: QuorumReplica) -> None:
        before, now = self._stores.get(replica.id), replica.store
        cut = self._cutting.pop(replica.id, None)
        if before is not None:
            # Who ended in the middle of a cut may have made it; to install a snapshot is one, if the log went astray.
            synced = before.log.recovery_point if cut is None else min(cut, before.log.recovery_point)
            assert now.end_offset >= synced, f"node {replica.id} had synced up to {synced} and has {now.end_offset}"
        self._stores[replica.id] = now
        self._high_watermarks[replica.id] = now.start_offset

    def before(self, replica: QuorumReplica, effect: Effect) -> None:
        match effect:
            case Append(_, base_offset, epoch):
                known = self._leaders.setdefault(epoch, replica.id)
                assert known == replica.id, f"nodes {known} and {replica.id} both lead in epoch {epoch}"
                needed = max((end for other, end in self._committed_in.items() if other < epoch), default=0)
                assert base_offset >= needed, f"node {replica.id} leads in {epoch} without what was committed before"
            case Truncate(end_offset):
                self._counts["metadata truncations"] += 1
                high_watermark = self._high_watermarks[replica.id]
                assert end_offset >= high_watermark, f"node {replica.id} cuts {high_watermark} to {end_offset}"
                self._cutting[replica.id] = end_offset
            case HighWatermark(offset):
                self._check_high_watermark(replica, offset)
            case Activated(epoch):
                self._counts["quorum elections"] += 1
                start = next(one.start_offset for one in replica.store.log.epochs.entries if one.epoch == epoch)
                reached = self._high_watermarks[replica.id]
                assert reached > start, f"node {replica.id} serves before its epoch {epoch} is committed"
            case InstallSnapshot(snapshot):
                self._counts["snapshot installs"] += 1
                high_watermark = self._high_watermarks[replica.id]
                assert snapshot.offset >= high_watermark, f"node {replica.id} goes from {high_watermark} to {snapshot}"
                self._cutting[replica.id] = snapshot.offset
            case VotersChanged():
                self._counts["changes of voters seen"] += 1

    def after(self, replica: QuorumReplica, effect: Effect) -> None:
        if isinstance(effect, InstallSnapshot):
            assert replica.store.end_offset == replica.store.start_offset, "a snapshot takes the place of the whole log"
        if isinstance(effect, Truncate | InstallSnapshot):
            del self._cutting[replica.id]
        if not isinstance(effect, PersistQuorumState):
            return
        state = effect.state
        known = self._epochs.get(replica.id, 0)
        assert state.epoch >= known, f"node {replica.id} goes back from epoch {known} to {state.epoch}"
        self._epochs[replica.id] = state.epoch
        before = self._votes.get((replica.id, state.epoch))
        if state.voted is None:
            assert before is None or state.leader_id is not None, f"node {replica.id} forgets its vote in {state.epoch}"
            return
        assert before in (None, state.voted.id), f"node {replica.id} votes twice in {state.epoch}"
        self._votes[replica.id, state.epoch] = state.voted.id

    def settled(self, replica: QuorumReplica) -> None:
        """All that an event wanted done is done, and said."""
        epoch, saved = replica.raft.epoch, self._epochs.get(replica.id, 0)
        assert epoch == saved, f"node {replica.id} speaks in epoch {epoch} and remembers {saved}"

    def answering(self, replica: QuorumReplica, request: Request, response: Response) -> None:
        """A vote that is given, as the candidate sees it: whatever the disk says."""
        if not isinstance(request, VoteRequest) or not isinstance(response, VoteResponse) or not response.topics:
            return
        asked, given = request.topics[0].partitions[0], response.topics[0].partitions[0]
        if given.vote_granted and not asked.pre_vote:
            known = self._grants.setdefault((replica.id, asked.replica_epoch), asked.replica_id)
            assert known == asked.replica_id, f"node {replica.id} elects {known} and {asked.replica_id}"

    def committed(self, node_id: int, image: MetadataImage) -> None:
        """A node shows what it has read."""
        known = self._images.setdefault(image.offset, image)
        assert known == image, f"node {node_id} has another image at offset {image.offset} than others had"
        if image.offset > self.image.offset:
            before, self.image = self.image, image
            self._changed(before, image)

    # What must hold

    def _check_high_watermark(self, replica: QuorumReplica, offset: int) -> None:
        before = self._high_watermarks[replica.id]
        assert offset > before, f"node {replica.id} falls from {before} to {offset}"
        self._high_watermarks[replica.id] = offset
        if replica.raft.is_leader:
            self._check_majority(replica, offset)
            self._committed_in[replica.raft.epoch] = offset
        for batch in replica.store.batches(max(before, replica.store.start_offset), offset):
            data = bytes(batch.data)
            for record_offset in range(batch.base_offset, batch.next_offset):
                if record_offset < len(self._committed):
                    assert self._committed[record_offset] == data, f"node {replica.id} differs at {record_offset}"
                else:
                    assert record_offset == len(self._committed), f"node {replica.id} commits with a gap"
                    self._committed.append(data)
                    if batch.is_control and record_offset == batch.base_offset:
                        self._voters += [one for one in control_records(batch) if isinstance(one.value, VoterSet)]
        self._check_voters(replica, offset)

    def _check_voters(self, replica: QuorumReplica, offset: int) -> None:
        """Who votes is what the committed records say, to whoever read them and to whoever got a snapshot."""
        written = [one.value for one in self._voters if one.offset < offset]
        known = replica.raft.voters_at(offset)
        if written and written[-1] != known:
            raise AssertionError(f"node {replica.id} has the voters {known} at {offset}, not {written[-1]}")

    def _check_majority(self, replica: QuorumReplica, offset: int) -> None:
        """Those who run have it synced; those who do not had, when they stopped.

        Who has a snapshot instead of it has it too: a leader that slept may be the last to hear that it is committed.
        """
        ids = replica.raft.voters.ids
        epoch = replica.store.epoch_before(offset)
        stores = [self._stores[id] for id in ids if id in self._stores]
        holders = [
            store
            for store in stores
            if store.log.recovery_point >= offset
            and (store.start_offset >= offset or store.epoch_before(offset) == epoch)
        ]
        assert len(holders) > len(ids) // 2, f"{offset} is committed, {len(holders)} of {ids} have it on disk"

    def check_logs(self, replicas: Iterable[QuorumReplica]) -> None:
        """Two logs with a record of the same epoch at the same offset are the same up to there."""
        logs = [
            (
                one.store,
                {
                    batch.base_offset: bytes(batch.data)
                    for batch in one.store.batches(one.store.start_offset, one.store.end_offset)
                },
            )
            for one in replicas
        ]
        for ours, our_batches in logs:
            for theirs, their_batches in logs:
                end = min(ours.end_offset, theirs.end_offset)
                first = max(ours.start_offset, theirs.start_offset)
                while end > first and ours.epoch_before(end) != theirs.epoch_before(end):
                    end -= 1
                for offset, data in our_batches.items():
                    if first <= offset < end:
                        assert their_batches.get(offset) == data, f"metadata logs differ at {offset}, below {end}"
