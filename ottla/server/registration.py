"""The node makes itself known to the controller, as a broker and as a controller, and keeps being heard of.

As long as both live in one process this is a call and not a request, but it is Kafka's protocol all the same: a
registration, an epoch, heartbeats, and records in the metadata log that say so.
"""

from __future__ import annotations

import logging
from typing import Any

import trio

from ottla.cluster.controller import ControllerState, Result
from ottla.cluster.controller.heartbeats import fence_broker, fence_stale_broker, heartbeat
from ottla.cluster.controller.registrations import register_broker, register_controller
from ottla.cluster.features import CONTROLLER_REGISTRATION_SINCE, VersionRange
from ottla.config.broker import BrokerConfig
from ottla.config.listeners import Listener
from ottla.server.controlling import Call, Controller
from ottla.server.quorum import Quorum
from ottla.server.random_ids import random_id
from ottla.wire.errors import KafkaError
from ottla.wire.messages.controller import (
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    ControllerRegistrationRequest,
)

log = logging.getLogger(__name__)

REGISTRATION_VERSION = 4
NO_EPOCH = -1


class Registration:
    def __init__(
        self,
        config: BrokerConfig,
        cluster_id: str,
        controller: Controller,
        quorum: Quorum,
        features: dict[str, VersionRange],
    ) -> None:
        self._config = config
        self._cluster_id = cluster_id
        self._controller = controller
        self._quorum = quorum
        self._features = features
        self.broker_epoch = NO_EPOCH

    async def register(
        self, listeners: tuple[Listener, ...], directory_ids: list[bytes], last_epoch: int | None
    ) -> None:
        """Return when the cluster knows this broker and counts on it."""
        node_id = self._config.node_id
        # An earlier life of this very node cannot be alive: the log directories are locked by this process.
        await self._call(lambda state, now_ms: fence_broker(state, node_id))
        request = BrokerRegistrationRequest(
            broker_id=node_id,
            cluster_id=self._cluster_id,
            incarnation_id=random_id(),
            listeners=[
                BrokerRegistrationRequest.Listener(
                    name=one.name, host=one.host, port=one.port, security_protocol=one.protocol
                )
                for one in listeners
            ],
            features=[
                BrokerRegistrationRequest.Feature(
                    name=name, min_supported_version=supported.low, max_supported_version=supported.high
                )
                for name, supported in self._features.items()
            ],
            rack=self._config.broker_rack,
            log_dirs=directory_ids,
            previous_broker_epoch=NO_EPOCH if last_epoch is None else last_epoch,
        )

        def run(state: ControllerState, now_ms: int) -> Result[Any]:
            offset = self._controller.next_offset
            return register_broker(state, request, REGISTRATION_VERSION, next_offset=offset, now_ms=now_ms)

        response = await self._call(run)
        self.broker_epoch = response.broker_epoch
        await self.beat()

    async def register_controller(self, listeners: tuple[Listener, ...]) -> None:
        """Say where this controller listens and what it supports: clients may ask controllers too (KIP-919)."""
        if self._quorum.image.metadata_version < CONTROLLER_REGISTRATION_SINCE:
            return
        request = ControllerRegistrationRequest(
            controller_id=self._config.node_id,
            incarnation_id=random_id(),
            zk_migration_ready=False,
            listeners=[
                ControllerRegistrationRequest.Listener(
                    name=one.name, host=one.host, port=one.port, security_protocol=one.protocol
                )
                for one in listeners
            ],
            features=[
                ControllerRegistrationRequest.Feature(
                    name=name, min_supported_version=supported.low, max_supported_version=supported.high
                )
                for name, supported in self._features.items()
            ],
        )
        await self._call(lambda state, now_ms: register_controller(state, request))

    async def run(self) -> None:
        """Heartbeats, and the controller's look at whose have stopped."""
        while True:
            await trio.sleep(self._config.broker_heartbeat_interval_ms / 1000)
            try:
                await self.beat()
                await self._call(fence_stale_broker)
            except KafkaError as error:
                # No space for a record, or no controller for a moment: a beat that is missed is not the end.
                log.warning("the controller did not take a heartbeat: %s", error.message)

    async def beat(self) -> None:
        request = BrokerHeartbeatRequest(
            broker_id=self._config.node_id,
            broker_epoch=self.broker_epoch,
            current_metadata_offset=self._quorum.image.offset,
            want_fence=False,
            want_shut_down=False,
        )

        def run(state: ControllerState, now_ms: int) -> Result[Any]:
            state.sessions.contact(request.broker_id, request.broker_epoch, request.current_metadata_offset, now_ms)
            return heartbeat(state, request)

        await self._call(run)

    async def _call(self, call: Call) -> Any:
        """Run a function of the controller and wait for its records."""
        finished = trio.Event()
        outcome: list[Any] = []

        def done(response: Any, error: KafkaError | None) -> None:
            outcome.extend((response, error))
            finished.set()

        self._controller.change(call, done)
        await finished.wait()
        response, error = outcome
        if error is not None:
            raise error
        return response
