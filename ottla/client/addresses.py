"""Where a broker listens, and the lists of such places that users write.

Pure text: nothing is resolved here. A user's mistake is a ValueError that shows the text; what brokers send about each
other is not parsed here but checked by `is_usable` before anyone connects.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

PORT_MAX = 65535
PORT_DEFAULT = 9092

_ADDRESS = re.compile(r"(?:\[(?P<v6>[0-9A-Za-z:.%]+)\]|(?P<host>[^\s:\[\],\0]+))(?::(?P<port>[0-9]{1,9}))?")


class Address(NamedTuple):
    """A host, by name or number, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_usable(self) -> bool:
        """Whether one can try to connect: a broker may have said anything."""
        return bool(self.host) and "\0" not in self.host and 0 < self.port <= PORT_MAX


def parse_address(text: str) -> Address:
    """`host`, `host:port`, `[v6]` or `[v6]:port`; without a port it is Kafka's usual one."""
    found = _ADDRESS.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is not an address such as host:{PORT_DEFAULT} or [::1]:{PORT_DEFAULT}")
    address = Address(found["v6"] or found["host"], int(found["port"] or PORT_DEFAULT))
    if not address.is_usable:
        raise ValueError(f"{text!r} has no port from 1 to {PORT_MAX}")
    return address


def parse_addresses(given: str | Iterable[str]) -> tuple[Address, ...]:
    """Kafka's `bootstrap.servers`: one text with commas, or several; each address once, in the order given."""
    texts = given.split(",") if isinstance(given, str) else given
    addresses = tuple(dict.fromkeys(parse_address(text) for text in texts if text.strip()))
    if not addresses:
        raise ValueError(f"{given!r} names no broker")
    return addresses
