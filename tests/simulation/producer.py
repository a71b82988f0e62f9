"""A producer of the simulation: numbered records, idempotent, for all replicas in sync, one batch at a time.

A batch is sent again until it is acknowledged, to whoever some broker believes to lead; so that in the end every
number is in the log exactly once, and in order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Protocol

from ottla.wire.errors import KafkaError
from tests.simulation.broker import SimulatedBroker
from tests.simulation.controller import TOPIC
from tests.simulation.network import Network
from tests.storage.batches import batch_of

RETRY_MS = 30
TIMEOUT_MS = 400
BATCH_RECORDS_MAX = 3


class Around(Protocol):
    dice: Random
    network: Network
    brokers: Mapping[int, SimulatedBroker]

    def produce(self, place: int, target: int, records: bytes, done: Callable[[Any], None]) -> None: ...

    def acknowledged(self, offset: int, values: list[bytes]) -> None: ...


class SimulatedProducer:
    def __init__(self, place: int, around: Around) -> None:
        self.place = place
        self.prefix = b"%d:" % place
        self.next_number = 0
        self.acknowledged_count = 0
        self.is_done = False
        self._around = around
        self._attempt_count = 0
        self._values: list[bytes] = []

    @property
    def is_idle(self) -> bool:
        return not self._values

    def value(self, number: int) -> bytes:
        return self.prefix + b"%d" % number

    def send(self) -> None:
        """The next batch, or the same again."""
        if not self._values:
            if self.is_done:
                return
            count = self._around.dice.randint(1, BATCH_RECORDS_MAX)
            self._values = [self.value(self.next_number + index) for index in range(count)]
        self._attempt_count += 1
        count = self._attempt_count
        target = self._believed_leader()
        if target in self._around.brokers:
            records = batch_of(self._values, producer_id=self.place, sequence=self.next_number)
            self._around.produce(self.place, target, bytes(records), lambda outcome: self._answered(count, outcome))
        self._send_later(TIMEOUT_MS, count)

    def _send_later(self, delay_ms: int, count: int) -> None:
        self._around.network.later(delay_ms, lambda: self.send() if count == self._attempt_count else None)

    def _believed_leader(self) -> int:
        broker = self._around.dice.choice(list(self._around.brokers.values()))
        topic = broker.image.topics.by_name.get(TOPIC)
        return -1 if topic is None else topic.partitions[0].leader

    def _answered(self, count: int, outcome: int | KafkaError) -> None:
        if count != self._attempt_count:
            return
        if isinstance(outcome, KafkaError):
            self._send_later(RETRY_MS, count)
            return
        self._around.acknowledged(outcome, self._values)
        self.next_number += len(self._values)
        self.acknowledged_count += 1
        self._values = []
        self._send_later(self._around.dice.randrange(RETRY_MS), count)
