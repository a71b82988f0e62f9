"""The roles that a replica of the metadata partition can have, but for the leader's, which is in raft_leader.py.

    unattached ---> prospective ---> candidate ---> leader ---> resigned ---> unattached
         ^    \\         ^  |                                                    (next epoch)
         |     \\        |  v
         +-------+-> follower          a higher epoch leads from anywhere to unattached or follower

Prospective is the pre-vote of KIP-996: a node asks whether it would be elected before it disturbs anybody with a new
epoch. A voter that has voted is unattached or prospective with `voted` set. An observer is unattached or follower and
never leaves these two. Here are the fields of each role and who gets its vote; what moves a node from one to the other
is in raft_state.py, and why, in raft_election.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from ottla.cluster.raft_log import OffsetAndEpoch
from ottla.cluster.voters import NO_ENDPOINTS, Endpoints, ReplicaKey


class Ballot:
    """The votes of one election, asked of the voters there were when it began."""

    def __init__(self, voters: list[ReplicaKey]) -> None:
        self._voters = {voter.id: voter for voter in voters}
        self.granted: set[int] = set()
        self.rejected: set[int] = set()

    def record(self, voter_id: int, *, granted: bool) -> None:
        """Note a vote; an answer from somebody who has no vote counts for nothing, and the first one counts."""
        if voter_id in self._voters and voter_id not in self.granted | self.rejected:
            (self.granted if granted else self.rejected).add(voter_id)

    @property
    def _majority(self) -> int:
        return len(self._voters) // 2 + 1

    @property
    def is_won(self) -> bool:
        return len(self.granted) >= self._majority

    @property
    def is_lost(self) -> bool:
        return len(self._voters) - len(self.rejected) < self._majority

    @property
    def missing(self) -> list[ReplicaKey]:
        return [voter for id, voter in self._voters.items() if id not in self.granted | self.rejected]


def _grants_without_leader(
    role: Unattached | Prospective, candidate: ReplicaKey, *, is_log_current: bool, is_pre_vote: bool
) -> bool:
    if is_pre_vote:
        return is_log_current
    if role.voted is not None:
        return role.voted.accepts(candidate)
    return role.leader_id is None and is_log_current


@dataclass(slots=True)
class Unattached:
    """In an epoch without a leader that could be asked; perhaps having voted in it."""

    name: ClassVar[str] = "unattached"
    epoch: int
    leader_id: int | None
    voted: ReplicaKey | None
    election_at_ms: int
    leader_endpoints: Endpoints = field(default_factory=dict)

    def grants(self, candidate: ReplicaKey, *, is_log_current: bool, is_pre_vote: bool) -> bool:
        return _grants_without_leader(self, candidate, is_log_current=is_log_current, is_pre_vote=is_pre_vote)


@dataclass(slots=True)
class Prospective:
    """Asking the voters whether they would vote for this node, in the epoch it is in."""

    name: ClassVar[str] = "prospective"
    epoch: int
    leader_id: int | None
    leader_endpoints: Endpoints
    voted: ReplicaKey | None
    ballot: Ballot
    election_at_ms: int

    def grants(self, candidate: ReplicaKey, *, is_log_current: bool, is_pre_vote: bool) -> bool:
        return _grants_without_leader(self, candidate, is_log_current=is_log_current, is_pre_vote=is_pre_vote)


@dataclass(slots=True)
class Candidate:
    """Asking for votes in a new epoch, its own cast and persisted."""

    name: ClassVar[str] = "candidate"
    leader_id: ClassVar[None] = None
    leader_endpoints: ClassVar[Endpoints] = NO_ENDPOINTS
    epoch: int
    voted: ReplicaKey
    ballot: Ballot
    election_at_ms: int

    def grants(self, candidate: ReplicaKey, *, is_log_current: bool, is_pre_vote: bool) -> bool:
        return is_pre_vote and is_log_current


@dataclass(slots=True)
class SnapshotDownload:
    """A snapshot on its way here, and how much of it has come."""

    snapshot: OffsetAndEpoch
    position: int = 0
    is_installing: bool = False


@dataclass(slots=True)
class Follower:
    """Fetching from a leader."""

    name: ClassVar[str] = "follower"
    epoch: int
    leader_id: int
    leader_endpoints: Endpoints
    voted: ReplicaKey | None
    fetch_until_ms: int
    update_voter_at_ms: int
    has_fetched: bool = False
    leader_high_watermark: int = -1
    download: SnapshotDownload | None = None

    def grants(self, candidate: ReplicaKey, *, is_log_current: bool, is_pre_vote: bool) -> bool:
        # A leader that answers is a reason to refuse the pre-vote of somebody who cannot reach it (KIP-996).
        return is_pre_vote and is_log_current and not self.has_fetched


@dataclass(slots=True)
class Resigned:
    """Was the leader of this epoch, by its own will or before a restart; neither leads nor votes in it again.

    That it never leads the same epoch twice keeps (offset, epoch) a name for one record only, even if the records that
    were not synced are lost in the restart.
    """

    name: ClassVar[str] = "resigned"
    epoch: int
    leader_id: int
    leader_endpoints: Endpoints
    unacknowledged: set[int]
    preferred_successors: list[ReplicaKey]
    election_at_ms: int
    voted: ReplicaKey | None = None

    def grants(self, candidate: ReplicaKey, *, is_log_current: bool, is_pre_vote: bool) -> bool:
        return is_pre_vote and is_log_current
