"""Listeners: `NAME://host:port` texts and the security protocol behind each name.

Parses and compares; opens nothing, resolves no name. Names are kept in upper case, as Kafka normalises them. What is
wrong is a ValueError whose text fits behind the name of a key; `cross_checks` says which.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import NamedTuple

# Kafka's pattern, down to the brackets that an IPv6 address may go without.
_LISTENER = r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]{1,10})"
PORT_MAX = 65535


class SecurityProtocol(IntEnum):
    """How bytes on a listener are protected and who may talk, with Kafka's numbers."""

    PLAINTEXT = 0
    SSL = 1
    SASL_PLAINTEXT = 2
    SASL_SSL = 3


class Listener(NamedTuple):
    """One place to listen or to be found at. host "" is every interface; port 0 is for the system to choose."""

    name: str
    host: str
    port: int
    protocol: SecurityProtocol

    @property
    def is_ipv6(self) -> bool:
        return ":" in self.host

    def __str__(self) -> str:
        host = f"[{self.host}]" if self.is_ipv6 else self.host
        return f"{self.name}://{host}:{self.port}"


def listener_name(text: str) -> str:
    """The name before the first colon, normalised."""
    name, colon, _ = text.partition(":")
    if not colon:
        raise ValueError(f"must be NAME://HOST:PORT; {text!r} is not")
    return name.upper()


def parse_listeners(texts: Iterable[str], protocols: Mapping[str, SecurityProtocol]) -> tuple[Listener, ...]:
    """One Listener a text. A name has to have a protocol and may occur once."""
    found = []
    for text in texts:
        match = re.fullmatch(_LISTENER, text, re.ASCII)
        if match is None or not 0 <= int(match[3]) <= PORT_MAX:
            raise ValueError(f"must be NAME://HOST:PORT; {text!r} is not")
        name = match[1].upper()
        if name not in protocols:
            raise ValueError(f"names the listener {name}, which listener.security.protocol.map does not know")
        found.append(Listener(name, match[2], int(match[3]), protocols[name]))
    if len({listener.name for listener in found}) != len(found):
        raise ValueError("must not name a listener twice")
    return tuple(found)


def check_ports(listeners: Iterable[Listener]) -> None:
    """No two listeners on one port, but for an IPv4 and an IPv6 address side by side (KIP-797)."""
    by_port: dict[int, list[Listener]] = {}
    for listener in listeners:
        by_port.setdefault(listener.port, []).append(listener)
    for port, sharing in by_port.items():
        kinds = sorted(_address_version(listener.host) for listener in sharing)
        if port != 0 and len(sharing) > 1 and kinds != [4, 6]:
            raise ValueError(f"must not use port {port} twice, unless once with an IPv4 and once with an IPv6 address")


def _address_version(host: str) -> int:
    """4 or 6 for a literal address, 0 for anything else."""
    import ipaddress  # a slow import, for the rare case that two listeners share a port

    try:
        return ipaddress.ip_address(host).version
    except ValueError:
        return 0


def parse_protocol_map(text: str) -> dict[str, SecurityProtocol]:
    """`NAME:PROTOCOL` pairs with commas between them."""
    found = {}
    for pair in text.split(","):
        if not pair.strip():
            continue
        name, colon, protocol = pair.strip().rpartition(":")
        if not colon or protocol.strip().upper() not in SecurityProtocol.__members__:
            allowed = ", ".join(SecurityProtocol.__members__)
            raise ValueError(f"must be a list of NAME:PROTOCOL with {allowed}; {pair!r} is not")
        found[name.strip().upper()] = SecurityProtocol[protocol.strip().upper()]
    return found


def with_controllers(
    protocols: Mapping[str, SecurityProtocol], controller_names: Iterable[str], listeners: Iterable[str]
) -> dict[str, SecurityProtocol]:
    """The default map, with PLAINTEXT for controller listeners as long as nothing uses TLS or SASL (KIP-631)."""
    names = tuple(controller_names)
    secured = set(SecurityProtocol.__members__) - {"PLAINTEXT"}
    if secured & {*names, *(listener_name(text) for text in listeners)}:
        return dict(protocols)
    return dict(protocols) | {name: SecurityProtocol.PLAINTEXT for name in names if name != "PLAINTEXT"}
