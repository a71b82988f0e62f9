"""The process of a broker for tests: it does what comes over its channel, and ends with whoever is at the other end.

The first order is to start. When the channel is closed or the test has ended, the broker stops, and removes the
directory that was the test's, since nobody else is left to do so.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from typing import Any

import trio

from ottla.server.logs import set_up
from ottla.testing.channel import RECEIVE_BYTES, packed
from ottla.testing.failures import BrokerError
from ottla.testing.served import Served, sentence


def run(channel: socket.socket, test_id: int) -> int:
    """Serve the test of this process id until it is done; the exit status of the process."""
    child = Child(test_id)
    try:
        return trio.run(child.run, channel)
    finally:
        if child.is_orphan and child.home:
            shutil.rmtree(child.home, ignore_errors=True)


class Child:
    """`home` is to be removed if this process has become an orphan."""

    def __init__(self, test_id: int) -> None:
        self.home = ""
        self.is_orphan = False
        self._test_id = test_id
        self._stream: trio.SocketStream
        self._served: Served
        self._sending = trio.Lock()

    async def run(self, channel: socket.socket) -> int:
        """Serve until told to stop; the exit status of the process."""
        self._stream = trio.SocketStream(trio.socket.from_stdlib_socket(channel))
        async with self._stream:
            messages = self._messages()
            try:
                first = await anext(messages)
            except StopAsyncIteration:
                return 1
            assert first["order"] == "start", first
            self.home = first["arguments"]["home"]
            try:
                self._served = Served(first["arguments"]["settings"])
                refusal = await self._serve(first["number"], messages)
            except BrokerError as error:
                refusal = str(error)
            finally:
                await messages.aclose()
            if refusal is not None:
                await self._send({"number": first["number"], "error": f"the broker did not start: {refusal}"})
        return 0 if refusal is None else 1

    async def _serve(self, number: int, messages: AsyncIterator[dict[str, Any]]) -> str | None:
        """None when the broker has served and was stopped; why not, if it could not start."""
        is_ready = False
        refusal = None

        def ready(bootstrap_servers: str) -> None:
            nonlocal is_ready
            is_ready = True
            gc.freeze()
            gc.enable()
            nursery.start_soon(self._send, {"number": number, "result": bootstrap_servers})

        with set_up(self._served.config):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._watch_test)
                nursery.start_soon(self._take_orders, messages)
                try:
                    await self._served.run(ready)
                except Exception as error:
                    if is_ready:
                        raise
                    refusal = sentence(error)
                nursery.cancel_scope.cancel()
        return refusal

    # The channel

    async def _take_orders(self, messages: AsyncIterator[dict[str, Any]]) -> None:
        async with trio.open_nursery() as nursery:
            async for message in messages:
                nursery.start_soon(self._carry_out, message)
            self._let_go()

    async def _carry_out(self, message: dict[str, Any]) -> None:
        answer: dict[str, Any] = {"number": message["number"], "result": None}
        if message["order"] == "stop":
            await self._send(answer)
            self._served.stop()
            return
        try:
            answer["result"] = await self._served.call(message["order"], message["arguments"])
        except Exception as error:
            answer["error"] = sentence(error)
        await self._send(answer)

    async def _messages(self) -> AsyncGenerator[dict[str, Any], None]:
        """Whole messages, until the other side is closed or gone."""
        buffer = b""
        with suppress(trio.BrokenResourceError):
            while piece := await self._stream.receive_some(RECEIVE_BYTES):
                *lines, buffer = (buffer + piece).split(b"\n")
                for line in lines:
                    yield json.loads(line)

    async def _send(self, message: dict[str, Any]) -> None:
        with suppress(trio.BrokenResourceError):  # the test has gone, and others know by now
            async with self._sending:
                await self._stream.send_all(packed(message))

    # The test

    async def _watch_test(self) -> None:
        """The channel may have been copied into processes that live on; so the test's process itself is looked at."""
        try:
            descriptor = os.pidfd_open(self._test_id)
        except ProcessLookupError:
            self._let_go()
            return
        except (AttributeError, OSError):  # not Linux, or one before 5.3: the channel has to do
            return
        try:
            await trio.lowlevel.wait_readable(descriptor)
            self._let_go()
        finally:
            os.close(descriptor)

    def _let_go(self) -> None:
        """Nobody needs the broker any more."""
        self.is_orphan = True
        self._served.stop()
