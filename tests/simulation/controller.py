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
from ottla.cluster.controller.heartbeats import fence_stale_broker
from ottla.cluster.image import MetadataImage, Partition
from ottla.server.controller_calls import Asked, answer
from ottla.wire.errors import KafkaError
from ottla.wire.messages.controller import BrokerRegistrationRequest
from ottla.wire.schema import Request
from tests.cluster.controller.small_cluster import SmallCluster

TOPIC = "t"


class WhoMayLead:
    """`in_doubt` has those who ended without a clean stop and have not registered since: what they have may be less
    than was counted on."""

    def __init__(self) -> None:
        self.in_doubt: set[int] = set()

    @property
    def partition(self) -> Partition:
        raise NotImplementedError

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


class SimulatedController(WhoMayLead):
    """`images` holds them all, oldest first."""

    def __init__(self, session_ms: int, now_ms: Callable[[], int], counts: Counter[str]) -> None:
        super().__init__()
        self._cluster = SmallCluster(0, broker_session_timeout_ms=session_ms)
        self._now_ms = now_ms
        self._counts = counts
        self.images: list[MetadataImage] = [self.state.image]

    @property
    def state(self) -> ControllerState:
        return self._cluster.state

    @property
    def image(self) -> MetadataImage:
        return self.state.image

    @property
    def partition(self) -> Partition:
        return self.image.topics.by_name[TOPIC].partitions[0]

    def create_topic(self, replicas: list[int]) -> None:
        self._changes(lambda: self._cluster.create(TOPIC, replicas, min_insync_replicas="2"))

    # What brokers ask

    def answer(self, request: Request) -> Any:
        asked = Asked(request, type(request).versions.high, self._cluster.next_offset, self._now_ms())
        response = self._changes(lambda: self._cluster.do(answer(self.state, asked)))
        if response is not None and isinstance(request, BrokerRegistrationRequest):
            self.in_doubt.discard(request.broker_id)
        return response

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
