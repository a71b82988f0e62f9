"""The node makes itself known to the controller, as a broker and as a controller, and keeps being heard of.

It is Kafka's protocol, be the controller in this process or elsewhere: a registration, an epoch, heartbeats, and
records in the metadata log that say so. An earlier life of this node that the cluster still counts on keeps the new one
waiting until its session ends, unless the controller is here: it knows that the log directories have been let go. A
node that stops cleanly asks to be let go first (controlled shutdown).
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

import trio

from ottla.cluster.controller.heartbeats import fence_broker
from ottla.cluster.features import CONTROLLER_REGISTRATION_SINCE, VersionRange
from ottla.config.broker import BrokerConfig
from ottla.config.listeners import Listener
from ottla.server.controller_channel import ControllerChannel
from ottla.server.quorum import Quorum
from ottla.server.random_ids import random_id
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.controller import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    ControllerRegistrationRequest,
)

log = logging.getLogger(__name__)

T = TypeVar("T")

NO_EPOCH = -1
NO_OFFSET = -1
# How long to wait before the next attempt to be registered, or to be counted on.
RETRY_SECONDS = 0.1


class Registration:
    def __init__(
        self,
        config: BrokerConfig,
        cluster_id: str,
        channel: ControllerChannel,
        quorum: Quorum,
        features: dict[str, VersionRange],
        offline_directories: Callable[[], list[bytes]] = list,
    ) -> None:
        """`offline_directories` has the ids of those that have failed: others are to lead what lies there."""
        self._config = config
        self._cluster_id = cluster_id
        self._channel = channel
        self._quorum = quorum
        self._features = features
        self._offline_directories = offline_directories
        self.broker_epoch = NO_EPOCH
        self._is_leaving = False

    async def register(
        self, listeners: tuple[Listener, ...], directory_ids: list[bytes], last_epoch: int | None
    ) -> None:
        """Return when the cluster knows this broker and counts on it."""
        request = self._registration(listeners, directory_ids, last_epoch)
        self.broker_epoch = await _insisting(lambda: self._register(request))
        while (await _insisting(self.beat)).is_fenced:
            await trio.sleep(RETRY_SECONDS)

    async def _register(self, request: BrokerRegistrationRequest) -> int:
        if self._channel.is_here:
            await self._channel.call_here(lambda state, now_ms: fence_broker(state, self._config.node_id))
        response: BrokerRegistrationResponse = await self._channel.request(request)
        return response.broker_epoch

    def _registration(
        self, listeners: tuple[Listener, ...], directory_ids: list[bytes], last_epoch: int | None
    ) -> BrokerRegistrationRequest:
        return BrokerRegistrationRequest(
            broker_id=self._config.node_id,
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
        await _insisting(lambda: self._channel.request(request))

    async def run(self) -> None:
        """Heartbeats."""
        while True:
            await trio.sleep(self._config.broker_heartbeat_interval_ms / 1000)
            try:
                await self.beat()
            except KafkaError as error:
                # No space for a record, or no controller for a moment: a beat that is missed is not the end.
                log.warning("the controller did not take a heartbeat: %s", error.message)

    async def leave(self) -> None:
        """Ask to be let go, until the controller says so: nothing is led here then, and the cluster does not count on
        this broker. Whoever comes next under this id, Apache Kafka too, need not wait for a session to end."""
        self._is_leaving = True
        seen_offset = NO_OFFSET
        try:
            while not (await self.beat()).should_shut_down:
                if self._quorum.image.offset == seen_offset:
                    await trio.sleep(RETRY_SECONDS)
                seen_offset = self._quorum.image.offset
        except KafkaError as error:
            log.warning("the controller did not let this broker go: %s", error.message)

    async def beat(self) -> BrokerHeartbeatResponse:
        request = BrokerHeartbeatRequest(
            broker_id=self._config.node_id,
            broker_epoch=self.broker_epoch,
            current_metadata_offset=self._quorum.image.offset,
            want_fence=False,
            want_shut_down=self._is_leaving,
            offline_log_dirs=self._offline_directories(),
        )
        timeout_ms = self._config.broker_heartbeat_interval_ms
        response: BrokerHeartbeatResponse = await self._channel.request(request, timeout_ms=timeout_ms)
        return response


async def _insisting(attempt: Callable[[], Awaitable[T]]) -> T:
    """Try until it is done: a controller may move while a node starts. An error that does not pass ends the node."""
    while True:
        try:
            return await attempt()
        except KafkaError as error:
            if error.code is not ErrorCode.DUPLICATE_BROKER_REGISTRATION and not error.code.retriable:
                raise
            log.info("not registered yet: %s", error.message)
            await trio.sleep(RETRY_SECONDS)
