"""One member of a classic group: who it is, what it can do and what it was given."""

from __future__ import annotations

from collections.abc import Iterable

# A name and what the member says under it, in the member's order of preference.
Protocols = dict[str, bytes]


class Member:
    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "instance_id",
        "is_new",
        "member_id",
        "protocol_type",
        "protocols",
        "rebalance_timeout_ms",
        "session_timeout_ms",
    )

    def __init__(
        self,
        member_id: str,
        *,
        instance_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocol_type: str,
        protocols: Protocols,
        assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.instance_id = instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.session_timeout_ms = session_timeout_ms
        self.protocol_type = protocol_type
        self.protocols = protocols
        self.assignment = assignment
        # Its first JoinGroup has not been answered: it does not know its id, and cannot send heartbeats.
        self.is_new = False

    def __repr__(self) -> str:
        return f"Member({self.member_id})"

    @property
    def is_static(self) -> bool:
        return self.instance_id is not None

    def vote(self, candidates: Iterable[str]) -> str:
        """The first of the member's protocols that is among these."""
        return next(name for name in self.protocols if name in candidates)

    def matches(self, protocols: Protocols) -> bool:
        """Whether the member says the same as before, in the same order."""
        return list(self.protocols.items()) == list(protocols.items())

    def metadata(self, protocol: str) -> bytes:
        return self.protocols[protocol]

    def renamed(self, member_id: str) -> Member:
        """The same static member under a new id."""
        return Member(
            member_id,
            instance_id=self.instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            session_timeout_ms=self.session_timeout_ms,
            protocol_type=self.protocol_type,
            protocols=self.protocols,
            assignment=self.assignment,
        )
