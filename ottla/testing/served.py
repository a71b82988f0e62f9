"""One life of a broker for tests, in the trio loop that calls `run`: until it is stopped, or killed.

Both hosts run this, the child process and the thread. What a test may order while the broker serves is in `orders`.
Only `call` may be used by several tasks at once, and nothing from outside of the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import trio

from ottla.config.loading import load, unknown_keys
from ottla.config.values import ConfigError
from ottla.server.broker import Broker
from ottla.server.node import Node
from ottla.testing.failures import BrokerError
from ottla.testing.faults import Faults
from ottla.testing.unsynced_disk import UnsyncedDisk
from ottla.wire.errors import KafkaError


class Killed(Exception):
    """Stands for SIGKILL where there is no process to send it to."""


class Served:
    def __init__(self, settings: Mapping[str, str]) -> None:
        """BrokerError where a setting is wrong, or is none: a misspelt one would make the test say nothing."""
        try:
            if unknown := unknown_keys(settings):
                raise BrokerError(unknown[0])
            self.config, _ = load(settings, {})
        except ConfigError as error:
            raise BrokerError(str(error)) from error
        self.faults: Faults
        self._node: Node
        self._scope = trio.CancelScope()

    async def run(self, ready: Callable[[str], None]) -> None:
        """`ready` is called with the bootstrap servers when clients are served."""
        self._node = Node(self.config, UnsyncedDisk())
        try:
            with self._scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._node.run)
                    await self._node.ready.wait()
                    self.faults = Faults(self.broker)
                    ready(self.bootstrap_servers)
        except* Killed:
            pass

    @property
    def broker(self) -> Broker:
        assert self._node.broker is not None, "it serves"
        return self._node.broker

    @property
    def bootstrap_servers(self) -> str:
        first = self._node.advertised()[0]
        return f"{first.host}:{first.port}"

    def stop(self) -> None:
        """End as a broker does that is told to: answers are given, logs closed."""
        self._scope.cancel()

    def kill(self) -> None:
        """End in the middle of whatever it is doing; files stay as they are."""
        if self._node.broker is None:
            self._scope.cancel()  # it has not begun anything yet
        else:
            self._node.broker.start_soon(_die)

    async def call(self, order: str, arguments: Mapping[str, Any]) -> Any:
        """Carry out an order; what comes of it can be written as JSON. BrokerError where it cannot be done."""
        from ottla.testing.orders import ORDERS  # with the client, which a start does not need

        try:
            return await ORDERS[order](self, **arguments)
        except KafkaError as error:
            raise BrokerError(f"{error.code.name}: {error.message}") from error


async def _die() -> None:
    raise Killed


def sentence(error: BaseException) -> str:
    """What a test is told of why its broker ended: the innermost reason, without traceback."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) if isinstance(error, BrokerError) else f"{type(error).__name__}: {error}"
