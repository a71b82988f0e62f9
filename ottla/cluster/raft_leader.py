"""What a leader knows of the others: how far each has fetched, when, and what that commits.

The high watermark is the offset that a majority of the voters has, but only once that lies behind the first record of
the leader's own epoch: what earlier leaders left may be on a majority and still be undone (Raft, figure 8). The leader
counts itself as far as its own log is synced. A majority that stays silent for 1.5 fetch timeouts takes the leadership
away (KAFKA-15489). Pure bookkeeping: no effects here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ottla.cluster.raft_effects import Token
from ottla.cluster.raft_peers import NEVER_MS
from ottla.cluster.voters import Endpoints, ReplicaKey, Voter, VoterSet
from ottla.wire.errors import ErrorCode
from ottla.wire.schema import Response

OBSERVER_SESSION_MS = 300_000
# Ours: a Fetch with a made-up replica id must not cost memory without end.
OBSERVERS_MAX = 1000
PARKED_FETCHES_MAX = 1000
# Within this time an observer must have fetched to count as caught up when it is to become a voter.
CAUGHT_UP_MS = 3_600_000
_UNKNOWN = -1


@dataclass(slots=True)
class ReplicaProgress:
    """How far a replica has come. Times are -1 until it has fetched."""

    key: ReplicaKey
    end_offset: int = _UNKNOWN
    last_fetch_ms: int = _UNKNOWN
    last_caught_up_ms: int = _UNKNOWN
    leader_end_at_fetch: int = _UNKNOWN

    def fetched(self, fetch_offset: int, leader_end: int, now_ms: int) -> None:
        """Caught up now if it asks for the leader's end; at the fetch before if it has reached the end of then."""
        if fetch_offset >= leader_end:
            self.last_caught_up_ms = max(self.last_caught_up_ms, now_ms)
        elif 0 < self.leader_end_at_fetch <= fetch_offset:
            self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
        self.leader_end_at_fetch = leader_end
        self.last_fetch_ms = max(self.last_fetch_ms, now_ms)
        self.end_offset = fetch_offset


@dataclass(frozen=True, slots=True)
class ParkedFetch:
    """A Fetch at the end of the log, which waits for more to come."""

    token: Token
    replica: ReplicaKey
    fetch_offset: int
    bytes_max: int
    high_watermark: int
    deadline_ms: int
    context: Any  # what the answer needs to know of the request


@dataclass(slots=True)
class VoterChange:
    """The one change of the voters that is under way, and the request that waits for it."""

    token: Token
    response: Callable[[ErrorCode, str | None], Response]  # makes the answer
    deadline_ms: int
    voter: Voter | None = None  # to be added, while its answer to ApiVersions is awaited
    end_offset: int | None = None  # committed when the high watermark is here
    is_answered_early: bool = False  # when the record is written, without waiting for it to be committed
    is_answered: bool = False


@dataclass(slots=True)
class Leader:
    """The role itself. `high_watermark` is None until a record of this epoch is committed."""

    name: ClassVar[str] = "leader"
    voted: ClassVar[None] = None
    key: ReplicaKey
    epoch: int
    epoch_start_offset: int
    leader_endpoints: Endpoints
    check_quorum_timeout_ms: int
    quorum_until_ms: int
    begin_epoch_at_ms: int
    granting_voters: list[int]
    high_watermark: int | None = None
    flush_at_ms: int = NEVER_MS
    is_resigning: bool = False
    change: VoterChange | None = None
    voters: dict[int, ReplicaProgress] = field(default_factory=dict)
    observers: dict[ReplicaKey, ReplicaProgress] = field(default_factory=dict)
    fetched_voters: set[int] = field(default_factory=set)
    parked: list[ParkedFetch] = field(default_factory=list)

    @property
    def leader_id(self) -> int:
        return self.key.id

    def grants(self, candidate: ReplicaKey, *, is_log_current: bool, is_pre_vote: bool) -> bool:
        return False

    def follow_voters(self, voters: VoterSet) -> None:
        """The set of voters is this one now: progress moves between voters and observers with the replicas."""
        known = [*self.voters.values(), *self.observers.values()]
        self.voters = {}
        for voter in voters:
            mine = next((progress for progress in known if voter.key.accepts(progress.key)), None)
            self.voters[voter.key.id] = mine or ReplicaProgress(voter.key)
            self.voters[voter.key.id].key = voter.key
        kept = {id(progress) for progress in self.voters.values()}
        self.observers = {progress.key: progress for progress in known if id(progress) not in kept}
        self.fetched_voters &= set(self.voters)

    def progress(self, key: ReplicaKey) -> ReplicaProgress | None:
        """What is known of a replica, who need not be a voter."""
        voter = self.voters.get(key.id)
        return voter if voter is not None and voter.key.accepts(key) else self.observers.get(key)

    def flushed(self, end_offset: int) -> bool:
        """This node's own log is synced up to here. Whether that moved the high watermark."""
        mine = self.progress(self.key)
        if mine is None:
            mine = self.observers[self.key] = ReplicaProgress(self.key)
        mine.end_offset = max(mine.end_offset, end_offset)
        return self._advance()

    def fetched(self, key: ReplicaKey, fetch_offset: int, leader_end: int, now_ms: int) -> bool:
        """A replica has all before this offset. Whether that moved the high watermark."""
        if key.id < 0:
            return False  # a reader that is no replica
        progress = self.progress(key)
        if progress is None:
            self.expire_observers(now_ms)
            if len(self.observers) >= OBSERVERS_MAX:
                return False
            progress = self.observers[key] = ReplicaProgress(key)
        progress.fetched(fetch_offset, leader_end, now_ms)
        self.heard_from(key, now_ms)
        return self.is_voter(key) and self._advance()

    def heard_from(self, key: ReplicaKey, now_ms: int) -> None:
        """A replica fetched records or a snapshot: once a majority has, this node may lead on for a while."""
        if self.is_voter(key):
            self.fetched_voters.add(key.id)
        others = len(self.voters) // 2 + 1 - (1 if self.is_voter(self.key) else 0)
        if len(self.fetched_voters) >= others:
            self.fetched_voters.clear()
            self.quorum_until_ms = now_ms + self.check_quorum_timeout_ms

    def is_voter(self, key: ReplicaKey) -> bool:
        voter = self.voters.get(key.id)
        return voter is not None and voter.key.accepts(key)

    @property
    def loses_quorum_at_ms(self) -> int:
        alone = len(self.voters) == 1 and self.is_voter(self.key)
        return NEVER_MS if alone else self.quorum_until_ms

    def _advance(self) -> bool:
        ends = sorted((progress.end_offset for progress in self.voters.values()), reverse=True)
        committed = ends[len(ends) // 2]
        if committed <= self.epoch_start_offset or committed <= (self.high_watermark or 0):
            return False
        self.high_watermark = committed
        return True

    def successors(self) -> list[ReplicaKey]:
        """The other voters, the one that has most first: who should be elected next."""
        others = [progress for progress in self.voters.values() if not progress.key.accepts(self.key)]
        return [other.key for other in sorted(others, key=lambda other: (-other.end_offset, other.key))]

    def is_caught_up(self, key: ReplicaKey, now_ms: int) -> bool:
        """Whether an observer can become a voter without holding up what is to be committed."""
        observer = self.observers.get(key)
        if observer is None or observer.last_caught_up_ms == _UNKNOWN:
            return False
        return observer.last_fetch_ms > now_ms - CAUGHT_UP_MS

    def expire_observers(self, now_ms: int) -> None:
        expired_ms = now_ms - OBSERVER_SESSION_MS
        self.observers = {
            key: progress
            for key, progress in self.observers.items()
            if progress.last_fetch_ms > expired_ms or key == self.key
        }

    def silent_voters(self, since_ms: int) -> list[int]:
        """The voters that have not fetched since then: they may not know yet who leads."""
        return [
            id
            for id, voter in self.voters.items()
            if not voter.key.accepts(self.key) and (voter.last_fetch_ms == _UNKNOWN or voter.last_fetch_ms < since_ms)
        ]
