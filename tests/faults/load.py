"""Producers and consumers that go on whatever happens, and write down what they see.

Producers are idempotent, wait for all replicas in sync, and repeat for as long as it takes. They send a few records at
a time, to all partitions in turn, until they are told that it is enough, and have ended when all is answered for.
Consumers begin at the first offset, read along, and when they are told where each partition ends, go on to there.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping
from typing import Any

import confluent_kafka

from tests.faults.history import HistoryFile

# Longer than any test: a record that is given up on would say nothing about the brokers.
FOREVER_MS = 3_600_000
REQUEST_MS_MAX = 4_000
# How many records are sent at a time, and how long a producer then looks after its answers.
AT_A_TIME = 6
PAUSE_SECONDS = 0.05
IN_FLIGHT_MAX = 600
# The brokers go up and down in seconds: clients that wait for long before they look again would miss half of it.
QUICK = {"reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 500, "topic.metadata.refresh.interval.ms": 2_000}
TRUNCATION = "log truncation detected"
OFFSET_IS_NONE = (confluent_kafka.KafkaError._AUTO_OFFSET_RESET, confluent_kafka.KafkaError.OFFSET_OUT_OF_RANGE)


class LibrdkafkaProducer(threading.Thread):
    def __init__(self, name: str, bootstrap: str, topic: str, partitions: int, history: HistoryFile) -> None:
        super().__init__(name=name, daemon=True)
        self.enough, self.abandoned = threading.Event(), threading.Event()
        self._topic, self._partitions, self._history = topic, partitions, history
        self._producer = confluent_kafka.Producer(
            {
                **QUICK,
                "bootstrap.servers": bootstrap,
                "client.id": name,
                "acks": "all",
                "enable.idempotence": True,
                "message.timeout.ms": FOREVER_MS,
                "request.timeout.ms": REQUEST_MS_MAX,
                "socket.timeout.ms": 2 * REQUEST_MS_MAX,
                "queue.buffering.max.messages": IN_FLIGHT_MAX,
                "linger.ms": 5,
                "log_level": 0,
            }
        )

    def run(self) -> None:
        numbers = itertools.count()
        while not self.enough.is_set() and not self.abandoned.is_set():
            if len(self._producer) + AT_A_TIME <= IN_FLIGHT_MAX:
                for number in itertools.islice(numbers, AT_A_TIME):
                    self._send(number % self._partitions, number)
            self._producer.poll(PAUSE_SECONDS)
        while len(self._producer) and not self.abandoned.is_set():
            self._producer.flush(PAUSE_SECONDS)

    def _send(self, partition: int, number: int) -> None:
        value = f"{self.name}/{partition}/{number}"
        self._history.add("sent", producer=self.name, partition=partition, value=value)
        self._producer.produce(self._topic, value.encode(), partition=partition, on_delivery=self._delivered)

    def _delivered(self, error: Any, message: Any) -> None:
        found = {"producer": self.name, "partition": message.partition(), "value": message.value().decode()}
        if error is not None:
            self._history.add("refused", **found, error=str(error))
        elif message.offset() is not None:
            self._history.add("acknowledged", **found, offset=message.offset())
        else:  # a repetition that the broker has had already, too long ago to say where
            self._history.add("acknowledged", **found)


class LibrdkafkaConsumer(threading.Thread):
    def __init__(self, name: str, bootstrap: str, topic: str, partitions: int, history: HistoryFile) -> None:
        super().__init__(name=name, daemon=True)
        self.abandoned = threading.Event()
        self._topic = topic
        self._ends: dict[int, int] | None = None
        self._next = dict.fromkeys(range(partitions), 0)
        self._history = history
        self._consumer = confluent_kafka.Consumer(
            {
                **QUICK,
                "bootstrap.servers": bootstrap,
                "client.id": name,
                "group.id": "nobody",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "socket.timeout.ms": 2 * REQUEST_MS_MAX,
                "fetch.wait.max.ms": 100,
                "fetch.error.backoff.ms": 50,
                "log_level": 0,
            }
        )
        self._consumer.assign([confluent_kafka.TopicPartition(topic, index, 0) for index in range(partitions)])

    def finish(self, ends: Mapping[int, int]) -> None:
        """Go on to these ends, and no further."""
        self._ends = dict(ends)

    def run(self) -> None:
        while not self._is_done() and not self.abandoned.is_set():
            for message in self._consumer.consume(200, PAUSE_SECONDS):
                self._note(message)
        if self._is_done():
            self._history.add("finished", consumer=self.name)
        self._consumer.close()

    def _is_done(self) -> bool:
        ends = self._ends
        return ends is not None and all(self._next[index] >= end for index, end in ends.items())

    def _note(self, message: Any) -> None:
        error = message.error()
        if error is None:
            found = {"partition": message.partition(), "offset": message.offset(), "value": message.value().decode()}
            self._history.add("read", consumer=self.name, **found)
            self._next[message.partition()] = message.offset() + 1
        elif error.code() in OFFSET_IS_NONE:
            # librdkafka was seen to take the right answer about one epoch (78 ends at 90461) for one about the next, in
            # which it was by then (90484, epoch 79). It goes on from there: what was taken back, the history tells.
            event = "doubted" if TRUNCATION in str(error) else "astray"
            self._history.add(event, consumer=self.name, partition=message.partition(), error=str(error))
            place = message.partition()
            self._consumer.seek(confluent_kafka.TopicPartition(self._topic, place, self._next[place]))
