"""The open connections of a client, by address and lane.

A broker answers a connection's requests one after another, so what waits long (a Fetch at the end of a log) goes in a
lane of its own, for which there is a connection of its own. Connections are made when they are first wanted, agree on
versions at once, and are replaced when they are found closed.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TypeAlias

import trio

from ottla.client.addresses import Address
from ottla.client.connection import Connection, OpenStream, connect
from ottla.client.failures import ConnectionLost
from ottla.client.settings import Settings

Lane: TypeAlias = str
SHARED: Lane = ""


class Connections:
    def __init__(self, settings: Settings, open_stream: OpenStream) -> None:
        self._settings = settings
        self._open_stream = open_stream
        self._open: dict[tuple[Address, Lane], Connection] = {}
        # Two who want the same connection at the same time get the same one.
        self._opening: defaultdict[tuple[Address, Lane], trio.Lock] = defaultdict(trio.Lock)
        self.is_closed = False

    async def get(self, address: Address, lane: Lane = SHARED) -> Connection:
        """An open connection whose versions are agreed. ConnectionLost if there is none to be had in time."""
        place = (address, lane)
        async with self._opening[place]:
            found = self._open.get(place)
            if found is not None and found.is_open:
                return found
            if self.is_closed:
                raise ConnectionLost(f"{address}: the client was closed")
            self._open[place] = opened = await self._opened(address)
            return opened

    def is_connected(self, address: Address) -> bool:
        found = self._open.get((address, SHARED))
        return found is not None and found.is_open

    async def _opened(self, address: Address) -> Connection:
        timeout_ms = self._settings.connect_timeout_ms
        opened = None
        try:
            with trio.fail_after(timeout_ms / 1000):
                opened = await connect(address, self._settings, self._open_stream)
                await opened.negotiated()
        except BaseException as error:
            if opened is not None:
                await opened.aclose()
            if isinstance(error, trio.TooSlowError):
                raise ConnectionLost(f"{address}: not ready to talk within {timeout_ms} ms") from None
            raise
        if self.is_closed:
            await opened.aclose()
            raise ConnectionLost(f"{address}: the client was closed")
        return opened

    async def aclose_lane(self, lane: Lane) -> None:
        """Close the connections of a lane that nobody will use again."""
        for place in [place for place in self._open if place[1] == lane]:
            self._opening.pop(place, None)
            await self._open.pop(place).aclose()

    async def aclose(self) -> None:
        """Close all, and open none again."""
        self.is_closed = True
        while self._open:
            _, connection = self._open.popitem()
            await connection.aclose("the client was closed")
