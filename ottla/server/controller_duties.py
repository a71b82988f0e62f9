"""What the active controller does without being asked: it looks whose heartbeats have stopped, and who should lead.

Leadership goes back to preferred replicas from time to time, and where a topic rather loses records than waits, any
replica that is there comes to lead what nobody leads: topics may come to allow that when nothing else happens.

Runs on every controller and does something only where `Controller.state` is. A change that is not taken (no space, or
the leadership has gone) is tried again the next time. A controller that was held up itself judges nobody by that time:
what it did not hear may have been said. The broker in its own process is as alive as it is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import trio

from ottla.cluster.controller import ControllerState, Result
from ottla.cluster.controller.elections import balance_leaders, elect_unclean_leaders
from ottla.cluster.controller.heartbeats import fence_stale_broker
from ottla.config.broker import BrokerConfig
from ottla.server.controller_channel import ControllerChannel
from ottla.wire.errors import KafkaError

log = logging.getLogger(__name__)

SECONDS_BETWEEN_LOOKS = 0.5
# So late, this process has not listened for a while.
LATE_SECONDS = 1.0


class ControllerDuties:
    def __init__(self, config: Callable[[], BrokerConfig], channel: ControllerChannel) -> None:
        self._config = config
        self._channel = channel
        self._balanced_at = self._elected_at = 0.0

    async def run(self) -> None:
        self._balanced_at = self._elected_at = trio.current_time()
        while True:
            due = trio.current_time() + SECONDS_BETWEEN_LOOKS
            await trio.sleep_until(due)
            if not self._channel.is_here or trio.current_time() > due + LATE_SECONDS:
                continue
            try:
                await self._fence_the_silent()
                await self._balance()
                await self._elect_unclean()
            except KafkaError as error:
                log.warning("the controller cannot do its duty now: %s", error.message)

    async def _fence_the_silent(self) -> None:
        while (broker_id := await self._channel.call_here(self.fence_one)) is not None:
            log.warning("broker %d is fenced: nothing was heard of it", broker_id)

    def fence_one(self, state: ControllerState, now_ms: int) -> Result[int | None]:
        """The one that has been silent longest, if that is too long."""
        own = state.sessions.by_id.get(self._config().node_id)
        if own is not None:
            state.sessions.contact(self._config().node_id, own.epoch, own.metadata_offset, now_ms)
        return fence_stale_broker(state, now_ms)

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

    async def _elect_unclean(self) -> None:
        """Look for partitions that only an unclean election can revive, where that is allowed."""
        interval_seconds = self._config().unclean_leader_election_interval_ms / 1000
        if trio.current_time() < self._elected_at + interval_seconds:
            return
        self._elected_at = trio.current_time()

        def elect(state: ControllerState, now_ms: int) -> Result[Any]:
            return elect_unclean_leaders(state)

        while await self._channel.call_here(elect):
            pass
