"""What the active controller does without being asked: it looks whose heartbeats have stopped, and who should lead.

Runs on every controller and does something only where `Controller.state` is. A change that is not taken (no space, or
the leadership has gone) is tried again the next time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import trio

from ottla.cluster.controller import ControllerState, Result
from ottla.cluster.controller.elections import balance_leaders
from ottla.cluster.controller.heartbeats import fence_stale_broker
from ottla.config.broker import BrokerConfig
from ottla.server.controller_channel import ControllerChannel
from ottla.wire.errors import KafkaError

log = logging.getLogger(__name__)

SECONDS_BETWEEN_LOOKS = 0.5


class ControllerDuties:
    def __init__(self, config: Callable[[], BrokerConfig], channel: ControllerChannel) -> None:
        self._config = config
        self._channel = channel
        self._balanced_at = 0.0

    async def run(self) -> None:
        self._balanced_at = trio.current_time()
        while True:
            await trio.sleep(SECONDS_BETWEEN_LOOKS)
            if not self._channel.is_here:
                continue
            try:
                await self._fence_the_silent()
                await self._balance()
            except KafkaError as error:
                log.warning("the controller cannot do its duty now: %s", error.message)

    async def _fence_the_silent(self) -> None:
        while (broker_id := await self._channel.call_here(fence_stale_broker)) is not None:
            log.warning("broker %d is fenced: nothing was heard of it", broker_id)

    async def _balance(self) -> None:
        """Hand leadership back to preferred replicas, from time to time."""
        config = self._config()
        if not config.auto_leader_rebalance_enable:
            return
        if trio.current_time() < self._balanced_at + config.leader_imbalance_check_interval_seconds:
            return
        self._balanced_at = trio.current_time()

        def balance(state: ControllerState, now_ms: int) -> Result[Any]:
            return balance_leaders(state)

        while await self._channel.call_here(balance):
            pass
