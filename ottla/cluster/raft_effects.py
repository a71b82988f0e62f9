"""What raft asks its driver to do.

Every event handed to `Raft` returns a list of these. The contract, which is all that a driver has to know:

1. One event at a time. Effects are done in the order of the list, and each is finished before the next is begun and
   before the next event is handed in. Two are only begun: `Send`, whose answer is the event `response`, and `Flush`,
   whose end is the event `log_flushed`.
2. `PersistQuorumState` is on disk, synced, when it is finished: what follows it in the list may be a vote, or the first
   record of a leader, and must never be taken back by a crash.
3. `Append`, `AppendFetched`, `Truncate` and `InstallSnapshot` have changed the log when they are finished; they need
   not be synced. Raft asserts at the next event that the log ends where it expects.
4. `Flush` syncs all that was appended before it. A driver may serve several with one sync that is begun after the last
   of them, and report that last one only. Raft counts this node's own copy, and fetches on as a follower, only up to
   what `log_flushed` has reported.
5. `Reply` answers the request of that token; a token whose connection is gone is dropped. `FetchReply` and
   `SnapshotReply` want bytes filled in first, read when the effect is done and not earlier.
6. A failed write, sync or read is not reported to raft: the node must stop.

After each event the driver looks at `Raft.wake_at_ms` and hands in `tick` no later than that.
"""

from __future__ import annotations

from inspect import get_annotations
from typing import Any, ClassVar, TypeAlias, dataclass_transform

from ottla.cluster.quorum_state import ElectionState
from ottla.cluster.raft_log import OffsetAndEpoch
from ottla.cluster.voters import Endpoint
from ottla.wire.messages.fetch import FetchResponse
from ottla.wire.messages.quorum import FetchSnapshotResponse
from ottla.wire.schema import Request, Response

Token: TypeAlias = Any  # the driver's name for a request that waits for its answer


@dataclass_transform(frozen_default=True)
class Value:
    """What all of them are: equal if kind and fields are, and never changed.

    Not by `dataclasses`, whose sixteen would take as long to make as a tenth of a node's start.
    """

    field_names: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls) -> None:
        cls.field_names = tuple(get_annotations(cls))
        cls.__match_args__ = cls.field_names  # type: ignore[attr-defined, misc]  # mypy knows better, and the same

    def __init__(self, *values: Any) -> None:
        self.__dict__.update(zip(self.field_names, values, strict=True))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{name} of an effect is not changed")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.__dict__ == self.__dict__

    __hash__ = None  # type: ignore[assignment]  # some have lists in them

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"


class PersistQuorumState(Value):
    """Write the quorum-state file, sync it, and only then go on."""

    state: ElectionState
    kraft_version: int
    voter_ids: list[int]


class Append(Value):
    """As the leader, append this batch; the log gives it this base offset and epoch."""

    batch: bytes
    base_offset: int
    epoch: int


class AppendFetched(Value):
    """As a follower, append whole batches with the offsets and epochs that they carry: views into the answer."""

    records: memoryview
    base_offset: int


class Truncate(Value):
    """Cut the log: this offset is where it ends then."""

    end_offset: int


class Flush(Value):
    """Begin to sync the log; report `log_flushed` with this id when that is done."""

    id: int


class WriteSnapshot(Value):
    """Write these bytes at this position of a snapshot that is on its way here. Position 0 begins the file anew."""

    snapshot: OffsetAndEpoch
    position: int
    data: memoryview


class InstallSnapshot(Value):
    """The snapshot is whole: sync and rename it, empty the log so that it starts and ends at the snapshot's offset, and
    report as the next event `snapshot_installed` with the control records it holds, or `snapshot_refused` if it cannot
    be read."""

    snapshot: OffsetAndEpoch


class Send(Value):
    """Send a request. The answer, or None for no answer, is the event `response` with this correlation id.

    The version is the driver's choice, the highest that both sides know; if the peer's highest cannot say what the
    request says (a pre-vote before Vote v2), answer for the peer with UNSUPPORTED_VERSION.
    """

    correlation_id: int
    node_id: int  # below -1: a bootstrap server, whose id nobody knows yet
    endpoint: Endpoint
    request: Request


class Reply(Value):
    """Answer a request."""

    token: Token
    response: Response


class FetchReply(Value):
    """Answer a Fetch with whole batches from this offset on, one at least if there is one: fill in `records`."""

    token: Token
    response: FetchResponse
    start_offset: int
    bytes_max: int


class SnapshotReply(Value):
    """Answer a FetchSnapshot with these bytes of a snapshot file: fill in `unaligned_records`."""

    token: Token
    response: FetchSnapshotResponse
    snapshot: OffsetAndEpoch
    position: int
    size_bytes: int


class HighWatermark(Value):
    """All records below this offset are committed and in the log here. It only ever grows while a node runs."""

    offset: int


class LeaderChanged(Value):
    """This node knows of another leader or epoch than before; None: of no leader."""

    leader_id: int | None
    epoch: int


class Activated(Value):
    """This node leads, and a record of its own epoch is committed: it holds all that any leader before it committed.

    Not earlier may it serve as a controller (Raft, section 8; Kafka's KAFKA-12619). Records may be proposed from here
    on, until LeaderChanged.
    """

    epoch: int


class VotersChanged(Value):
    """The set of voters is another one, committed or not; it is in `Raft.voters`."""


class Note(Value):
    """Something a person may want to read in the log: what a peer said that it should not have said."""

    text: str


Effect: TypeAlias = (
    PersistQuorumState
    | Append
    | AppendFetched
    | Truncate
    | Flush
    | WriteSnapshot
    | InstallSnapshot
    | Send
    | Reply
    | FetchReply
    | SnapshotReply
    | HighWatermark
    | LeaderChanged
    | Activated
    | VotersChanged
    | Note
)
