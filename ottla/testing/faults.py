"""What is to go wrong with the next requests of an API: an error, an answer that comes late, a lost connection.

A fault is a handler in the place of the real one. They are taken in the order in which they were added, each for as
many requests as it was made for. As long as there is one, `broker.faults` points here, and every request takes the long
way; with the last one gone, the broker is what it was. Nobody but tests gets here.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import trio

from ottla.server.broker import Broker
from ottla.server.context import Context
from ottla.server.dispatch import CloseConnection
from ottla.server.parking import Pending
from ottla.server.routes import Handler, Serving
from ottla.wire.errors import ErrorCode, KafkaError

# What the test's own orders are carried out with is not meant.
EXEMPT_CLIENT_ID = "ottla-testing"


class Fault:
    """`make` gives the handler to use. `left` is for how many requests, None for all; `taken` how many it has had."""

    def __init__(
        self, key: int, make: Callable[[Serving], Handler], *, left: int | None, client_id: str | None
    ) -> None:
        self.key = key
        self.make = make
        self.left = left
        self.client_id = client_id
        self.taken = 0

    def fits(self, key: int, client_id: str | None) -> bool:
        return key == self.key and self.left != 0 and (self.client_id is None or client_id == self.client_id)

    def take(self) -> None:
        self.taken += 1
        if self.left is not None:
            self.left -= 1


class Faults:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._faults: list[Fault] = []

    def add(self, fault: Fault) -> int:
        """The number by which it is known."""
        self._faults.append(fault)
        self._look()
        return len(self._faults) - 1

    def taken(self, number: int) -> int:
        return self._faults[number].taken

    def remove(self, number: int) -> None:
        self._faults[number].left = 0
        self._look()

    def remove_all(self) -> None:
        for fault in self._faults:
            fault.left = 0
        self._look()

    def _look(self) -> None:
        self._broker.faults = self._handler if any(fault.left != 0 for fault in self._faults) else None

    def _handler(self, serving: Serving, client_id: str | None) -> Handler:
        if client_id != EXEMPT_CLIENT_ID:
            for fault in self._faults:
                if fault.fits(int(serving.route.key), client_id):
                    fault.take()
                    self._look()
                    return fault.make(serving)
        return serving.handler


# The handlers


def failing(code: ErrorCode) -> Callable[[Serving], Handler]:
    """Nothing is done, and the answer has this error wherever the API has a place for one."""

    def refuse(context: Context, request: Any) -> Any:
        raise KafkaError(code, "a test asked for this error")

    return lambda serving: refuse


def late(seconds: float) -> Callable[[Serving], Handler]:
    """All is done at once, and the answer is held back for so long."""
    return lambda serving: partial(_answer_late, serving, seconds)


def cut_off() -> Callable[[Serving], Handler]:
    """All is done, and the connection is closed in place of the answer."""
    return lambda serving: partial(_serve_and_close, serving)


def _answer_late(serving: Serving, seconds: float, context: Context, request: Any) -> Any:
    place = _LatePlace(context.broker, seconds)
    try:
        reply = serving.handler(context, request)
    except KafkaError as error:
        reply = serving.on_error(request, error)
    if reply is None:
        return None  # a Produce that wants no answer
    if isinstance(reply, Pending):
        place.await_answer(reply, partial(serving.on_error, request))
    else:
        place.fill(reply)
    return place.pending


class _LatePlace:
    """Stands in line for an answer. When that is there it waits for some time more."""

    def __init__(self, broker: Broker, seconds: float) -> None:
        self.pending = Pending(stops_line=True, expire=lambda: self._reply, withdraw=self._withdraw)
        self._broker = broker
        self._seconds = seconds
        self._awaited: Pending | None = None
        self._reply: Any = None

    def await_answer(self, awaited: Pending, refuse: Callable[[KafkaError], Any]) -> None:
        awaited.place = self
        if awaited.may_fail:
            awaited.refuse = refuse
        self._awaited = awaited

    def fill(self, reply: Any) -> None:
        self._reply = reply
        self._broker.deadlines.add(trio.current_time() + self._seconds, self.pending)

    def _withdraw(self) -> None:
        if self._awaited is not None:
            self._awaited.abandon()


def _serve_and_close(serving: Serving, context: Context, request: Any) -> Any:
    with suppress(KafkaError):  # an error would have been an answer
        reply = serving.handler(context, request)
        if isinstance(reply, Pending):
            reply.abandon()
    raise CloseConnection("a test asked for this")
