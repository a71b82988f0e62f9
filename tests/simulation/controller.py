"""The one controller of a simulated cluster: the real core, and every image that it has made, for brokers to follow.

It does not fail, and what it decides is committed at once: raft has a simulation of its own. Requests come in as a
broker sends them; None is the answer that never comes back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from ottla.cluster.controller import ControllerState
from ottla.cluster.controller.elections import balance_leaders
from ottla.cluster.controller.heartbeats import fence_stale_broker, heartbeat
from ottla.cluster.controller.in_sync import alter_partition
from ottla.cluster.controller.registrations import register_broker
from ottla.cluster.image import MetadataImage, Partition
from ottla.wire.errors import KafkaError
from ottla.wire.messages.controller import AlterPartitionRequest, BrokerHeartbeatRequest, BrokerRegistrationRequest
from tests.cluster.controller.small_cluster import SmallCluster

TOPIC = "t"
REGISTRATION_VERSION = 4
ALTER_PARTITION_VERSION = 3


class SimulatedController:
    """`images` holds them all, oldest first."""

    def __init__(self, session_ms: int, now_ms: Callable[[], int], counts: Counter[str]) -> None:
        self._cluster = SmallCluster(0, broker_session_timeout_ms=session_ms)
        self._now_ms = now_ms
        self._counts = counts
        self.images: list[MetadataImage] = [self.state.image]
        # Who ended without a clean stop and has not registered since: what it has may be less than was counted on.
        self.in_doubt: set[int] = set()

    @property
    def state(self) -> ControllerState:
        return self._cluster.state

    @property
    def image(self) -> MetadataImage:
        return self.state.image

    @property
    def partition(self) -> Partition:
        return self.image.topics.by_name[TOPIC].partitions[0]

    @property
    def eligible(self) -> set[int]:
        """Who may become leader, and has all that was committed."""
        return {*self.partition.isr, *self.partition.elr} - self.in_doubt

    def may_end_uncleanly(self, broker_id: int) -> bool:
        """Kafka promises nothing if as many as `min.insync.replicas` do so at once, or the last who may lead does
        (KIP-966): there is another, and nobody else is in doubt."""
        if self.in_doubt - {broker_id}:
            return False
        return bool(self.eligible - {broker_id}) or broker_id not in {*self.eligible, *self.partition.last_known_elr}

    def create_topic(self, replicas: list[int]) -> None:
        self._changes(lambda: self._cluster.create(TOPIC, replicas, min_insync_replicas="2"))

    # What brokers ask

    def register(self, request: BrokerRegistrationRequest) -> int | None:
        cluster = self._cluster

        def call() -> int:
            result = register_broker(
                self.state,
                request,
                REGISTRATION_VERSION,
                next_offset=cluster.next_offset,
                now_ms=self._now_ms(),
            )
            return cluster.do(result).broker_epoch

        epoch: int | None = self._changes(call)
        if epoch is not None:
            self.in_doubt.discard(request.broker_id)
        return epoch

    def registration(self, broker_id: int, incarnation_id: bytes, previous_epoch: int) -> BrokerRegistrationRequest:
        return self._cluster.registration(
            broker_id, incarnation_id=incarnation_id, previous_broker_epoch=previous_epoch
        )

    def heartbeat(self, request: BrokerHeartbeatRequest) -> Any:
        self.state.sessions.contact(
            request.broker_id, request.broker_epoch, request.current_metadata_offset, self._now_ms()
        )
        return self._changes(lambda: self._cluster.do(heartbeat(self.state, request)))

    def alter_partition(self, request: AlterPartitionRequest) -> Any:
        return self._changes(lambda: self._cluster.do(alter_partition(self.state, request, ALTER_PARTITION_VERSION)))

    def images_after(self, offset: int) -> list[MetadataImage]:
        return [image for image in self.images if image.offset > offset]

    # What it does by itself

    def fence_the_silent(self) -> None:
        while self._changes(lambda: self._cluster.do(fence_stale_broker(self.state, self._now_ms()))) is not None:
            self._counts["fenced"] += 1

    def balance(self) -> None:
        """Give leadership back to preferred leaders."""
        self._changes(lambda: self._cluster.do(balance_leaders(self.state)))

    def _changes(self, call: Callable[[], Any]) -> Any:
        self._cluster.now_ms = self._now_ms()
        try:
            answer = call()
        except KafkaError:
            return None
        if self.image is not self.images[-1]:
            self._count(self.images[-1])
            self.images.append(self.image)
        return answer

    def _count(self, before: MetadataImage) -> None:
        if TOPIC not in before.topics.by_name:
            return
        old, new = before.topics.by_name[TOPIC].partitions[0], self.partition
        self._counts["elections"] += old.leader_epoch != new.leader_epoch and new.leader >= 0
        self._counts["ISR changes"] += old.isr != new.isr
        self._counts["without leader"] += old.leader >= 0 > new.leader
