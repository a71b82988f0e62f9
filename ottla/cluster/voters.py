"""Who may vote: replica keys, voters with their endpoints, and immutable sets of voters (KIP-853).

A voter is known by its id and the id of its log directory: a node that lost its disk comes back with the same id and is
somebody else. Sets come from `controller.quorum.voters` (ids only) or from VotersRecords in the log. Knows no roles and
no epochs; the rules of changing a set one voter at a time are in raft_membership.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ottla.wire.primitives import ZERO_UUID, uuid_text
from ottla.wire.stored.control_records import VotersRecord

KRAFT_VERSION_MIN = 0
KRAFT_VERSION_MAX = 1
# The first version of the feature `kraft.version` with voters in the log.
KRAFT_VERSION_RECONFIGURABLE = 1

VOTERS_RECORD_VERSION = 0


class Endpoint(NamedTuple):
    """Where a listener of a node is reached."""

    host: str
    port: int


Endpoints = Mapping[str, Endpoint]
NO_ENDPOINTS: Endpoints = {}


class ReplicaKey(NamedTuple):
    """A replica of the metadata partition. A directory id of zeros says that the id alone identifies it."""

    id: int
    directory_id: bytes = ZERO_UUID

    def __str__(self) -> str:
        return str(self.id) if self.directory_id == ZERO_UUID else f"{self.id}-{uuid_text(self.directory_id)}"

    def accepts(self, other: ReplicaKey) -> bool:
        """Whether somebody who calls himself `other` is the one meant here."""
        return self.id == other.id and self.directory_id in (ZERO_UUID, other.directory_id)


class KRaftVersions(NamedTuple):
    """The range of the feature `kraft.version` that a node can follow."""

    low: int = KRAFT_VERSION_MIN
    high: int = KRAFT_VERSION_MAX

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.low <= version <= self.high


class Voter(NamedTuple):
    """One voter and how to reach it, by listener name; the order of the listeners is the node's own."""

    key: ReplicaKey
    endpoints: Endpoints = NO_ENDPOINTS
    kraft_versions: KRaftVersions = KRaftVersions()


class VoterSet:
    """Voters by id. Never changed: `added`, `removed` and `updated` give a new set, or None where they may not."""

    __slots__ = ("_by_id",)

    def __init__(self, voters: Iterable[Voter] = ()) -> None:
        self._by_id = {voter.key.id: voter for voter in sorted(voters, key=lambda voter: voter.key)}

    @classmethod
    def static(cls, addresses: Mapping[int, Endpoint], listener: str) -> VoterSet:
        """The voters of `controller.quorum.voters`, all reached at the same listener name."""
        return cls(Voter(ReplicaKey(id), {listener: address}, KRaftVersions(0, 0)) for id, address in addresses.items())

    @classmethod
    def from_record(cls, record: VotersRecord) -> VoterSet:
        return cls(
            Voter(
                ReplicaKey(voter.voter_id, voter.voter_directory_id),
                {endpoint.name: Endpoint(endpoint.host, endpoint.port) for endpoint in voter.endpoints},
                KRaftVersions(
                    voter.kraft_version_feature.min_supported_version, voter.kraft_version_feature.max_supported_version
                ),
            )
            for voter in record.voters
        )

    def to_record(self) -> VotersRecord:
        return VotersRecord(version=VOTERS_RECORD_VERSION, voters=[_recorded(voter) for voter in self])

    def __iter__(self) -> Iterator[Voter]:
        return iter(self._by_id.values())

    def __len__(self) -> int:
        return len(self._by_id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VoterSet) and self._by_id == other._by_id

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"VoterSet({', '.join(str(key) for key in self.keys)})"

    @property
    def ids(self) -> list[int]:
        return list(self._by_id)

    @property
    def keys(self) -> list[ReplicaKey]:
        return [voter.key for voter in self]

    def get(self, id: int) -> Voter | None:
        return self._by_id.get(id)

    def endpoints(self, id: int) -> Endpoints:
        """How to reach a voter; empty if there is none with that id."""
        voter = self._by_id.get(id)
        return NO_ENDPOINTS if voter is None else voter.endpoints

    def is_voter(self, key: ReplicaKey) -> bool:
        voter = self._by_id.get(key.id)
        return voter is not None and voter.key.accepts(key)

    def is_only_voter(self, key: ReplicaKey) -> bool:
        return len(self) == 1 and self.is_voter(key)

    def needs_update(self, voter: Voter) -> bool:
        """Whether what is recorded of this voter differs from what it says of itself."""
        recorded = self._by_id.get(voter.key.id)
        return recorded is not None and recorded.key.accepts(voter.key) and recorded != voter

    def added(self, voter: Voter) -> VoterSet | None:
        return None if voter.key.id in self._by_id else VoterSet([*self, voter])

    def removed(self, key: ReplicaKey) -> VoterSet | None:
        """Without this very voter; the last one stays."""
        voter = self._by_id.get(key.id)
        if voter is None or voter.key != key or len(self) == 1:
            return None
        return VoterSet(other for other in self if other is not voter)

    def updated(self, voter: Voter) -> VoterSet | None:
        if not self.is_voter(voter.key):
            return None
        return VoterSet([*(other for other in self if other.key.id != voter.key.id), voter])

    def overlaps(self, other: VoterSet) -> bool:
        """Whether each majority of one has a voter in each majority of the other: at most one joins and one leaves."""
        ours, theirs = set(self.keys), set(other.keys)
        return len(ours - theirs) <= 1 and len(theirs - ours) <= 1


def _recorded(voter: Voter) -> VotersRecord.Voter:
    return VotersRecord.Voter(
        voter_id=voter.key.id,
        voter_directory_id=voter.key.directory_id,
        endpoints=[
            VotersRecord.Endpoint(name=name, host=endpoint.host, port=endpoint.port)
            for name, endpoint in voter.endpoints.items()
        ],
        kraft_version_feature=VotersRecord.KRaftVersionFeature(
            min_supported_version=voter.kraft_versions.low, max_supported_version=voter.kraft_versions.high
        ),
    )
