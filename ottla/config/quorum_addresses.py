"""How controllers are addressed: `id@host:port` in controller.quorum.voters, `host:port` in its bootstrap servers.

Both keys are checked here, and read: addresses are data, and nobody is looked up or called.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ottla.config.checks import Check

PORT_MAX = 65535
NODE_ID_MAX = 2**31 - 1
# Kafka's pattern for an address: a scheme is skipped, and an IPv6 address may go without its brackets.
_ADDRESS = r"(?:[0-9a-zA-Z\-%._]*://)?\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]{1,9})"
_HOST = r"[0-9a-zA-Z\-%._:]*"
_NODE_ID = r"\+?[0-9]{1,10}"


class Voter(NamedTuple):
    """One entry of controller.quorum.voters."""

    node_id: int
    host: str
    port: int


def voters(entries: Iterable[str]) -> dict[int, Voter]:
    """The voters of controller.quorum.voters by id; ValueError says what is wrong with an entry."""
    found = {}
    for entry in entries:
        parts = entry.split("@")
        if len(parts) != 2 or not re.fullmatch(_NODE_ID, parts[0], re.ASCII) or int(parts[0]) > NODE_ID_MAX:
            raise ValueError(f"must be a list of ID@HOST:PORT; {entry!r} is not")
        voter = Voter(int(parts[0]), *host_and_port(parts[1]))
        found[voter.node_id] = voter
    return found


def bootstrap_servers(entries: Iterable[str]) -> list[tuple[str, int]]:
    """The hosts and ports of controller.quorum.bootstrap.servers; ValueError says what is wrong with an entry."""
    return [host_and_port(entry) for entry in entries]


def host_and_port(address: str) -> tuple[str, int]:
    """`host:port` or `[v6]:port` apart."""
    match = re.fullmatch(_ADDRESS, address, re.ASCII)
    if match is None or int(match[2]) > PORT_MAX:
        raise ValueError(f"must be a list of HOST:PORT; {address!r} is not")
    return match[1], int(match[2])


def is_host(text: str) -> bool:
    """Whether a text can be the name or address of a host; Kafka lets an empty one pass."""
    return re.fullmatch(_HOST, text, re.ASCII) is not None


def _complaint(read: Callable[[Any], object]) -> Callable[[Any], str]:
    def complaint(value: Any) -> str:
        try:
            read(value)
        except ValueError as error:
            return str(error)
        return ""

    return complaint


QUORUM_VOTERS = Check("a list of ID@HOST:PORT", _complaint(voters))
BOOTSTRAP_SERVERS = Check("a list of HOST:PORT", _complaint(bootstrap_servers))
