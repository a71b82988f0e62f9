"""Who a replica of the metadata partition is, and how patient: `controller.quorum.*` with Kafka's defaults.

Plain values, checked by those who read the configuration. Also the face of the dice: luck is handed in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from ottla.cluster.voters import (
    Endpoint,
    Endpoints,
    KRaftVersions,
    ReplicaKey,
    Voter,
    VoterSet,
)
from ottla.wire.primitives import ZERO_UUID


class Dice(Protocol):
    """What is needed of `random.Random`: luck is handed in, so that a run can be repeated."""

    def randrange(self, stop: int, /) -> int: ...


@dataclass(frozen=True, slots=True)
class RaftConfig:
    """Who this node is, and `controller.quorum.*` with Kafka's defaults."""

    cluster_id: str
    node_id: int
    directory_id: bytes
    listener: str = "CONTROLLER"
    endpoints: Endpoints = field(default_factory=dict)
    static_voters: VoterSet = field(default_factory=VoterSet)
    bootstrap_servers: tuple[Endpoint, ...] = ()
    can_become_voter: bool = True
    is_auto_join_enabled: bool = False
    # A broker that only observes need not sync what it can fetch again; a controller that may become a voter must.
    is_observer_flushing: bool = True
    election_timeout_ms: int = 1000
    fetch_timeout_ms: int = 2000
    election_backoff_ms_max: int = 1000
    request_timeout_ms: int = 2000
    retry_backoff_ms: int = 20
    append_linger_ms: int = 25
    fetch_wait_ms_max: int = 500
    fetch_bytes_max: int = 8 * 1024 * 1024
    fetch_snapshot_bytes_max: int = 1024 * 1024

    def __post_init__(self) -> None:
        assert self.node_id >= 0, self.node_id
        assert self.directory_id != ZERO_UUID, "a replica must know its directory"

    @property
    def voter(self) -> Voter:
        """This node, as it would stand in a set of voters."""
        return Voter(ReplicaKey(self.node_id, self.directory_id), self.endpoints, KRaftVersions())
