"""What a handler may know of the request it answers, beyond the request itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla.server.broker import Broker
    from ottla.server.connection import Connection


class Context:
    """One request. `now_ms` is the wall clock's time of the pass in which it is handled."""

    __slots__ = ("broker", "client_id", "connection", "now_ms", "version")

    def __init__(
        self, broker: Broker, connection: Connection, version: int, client_id: str | None, now_ms: int
    ) -> None:
        self.broker = broker
        self.connection = connection
        self.version = version
        self.client_id = client_id
        self.now_ms = now_ms

    @property
    def listener_name(self) -> str:
        return self.connection.listener_name

    @property
    def client_host(self) -> str:
        return self.connection.client_host

    @property
    def principal(self) -> str:
        return self.connection.principal
