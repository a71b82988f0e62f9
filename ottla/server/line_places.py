"""Places in the line of a connection's answers: requests are answered in order, and some answers take their time.

A place is filled once, in whosever pass that is; the connection moves on what is ready. How answers are sent is not
known here.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Protocol

from ottla.server import dispatch
from ottla.server.parking import Pending
from ottla.server.transport import Piece

if TYPE_CHECKING:
    from ottla.server.connection import Connection

log = logging.getLogger(__name__)


class InLine(Protocol):
    """A place in the line of answers: `pieces` are there when the answer is; what is `pending` can be given up."""

    @property
    def pending(self) -> Pending | None: ...
    @property
    def pieces(self) -> list[Piece] | None: ...


class Slot:
    """A place for the answer of a handler."""

    __slots__ = ("connection", "correlation_id", "header_version", "pending", "pieces", "version")

    def __init__(
        self, connection: Connection, pending: Pending | None, version: int, header_version: int, correlation_id: int
    ) -> None:
        self.connection = connection
        self.pending = pending
        self.version = version
        self.header_version = header_version
        self.correlation_id = correlation_id
        self.pieces: list[Piece] | None = None

    def fill(self, reply: Any) -> None:
        self.pending = None
        try:
            self.pieces = (
                [] if reply is None else dispatch.encode(reply, self.version, self.header_version, self.correlation_id)
            )
        except Exception:
            # Whose pass this is has nothing to do with it: only the client that was to have the answer pays.
            log.exception("an answer cannot be encoded")
            self.connection.cut_off("the broker made a mistake")
            return
        self.connection.advance()
