"""Clients that outlive the broker they talk to: each does its part in every turn and knows what it did in those before.

Producers that are idempotent, one made of single requests and one of librdkafka; members of groups that stay, and
members that come in each turn to go on where the last one committed; of both group protocols.
"""

from __future__ import annotations

import contextlib
import time
from typing import Any

import confluent_kafka
from kafka import KafkaConsumer

from compat_tests.clients.waiting import eventually
from compat_tests.kafka_topics import SECONDS_MAX
from compat_tests.node_turns import SESSION_MS
from compat_tests.raw_requests import RawConnection
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.produce import ProduceRequest, ProduceResponse
from ottla.wire.messages.transactions import InitProducerIdRequest, InitProducerIdResponse
from ottla.wire.records import BatchBuilder

CLASSIC, CONSUMER = "classic", "consumer"
RECORDS_PER_BATCH = 3
# A broker that goes away is no news here, and is looked for soon.
QUIET = {
    "error_cb": lambda error: None,
    "log_level": 0,
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 500,
}


class SequencedProducer:
    """An idempotent producer whose every request is seen: its id and its sequence go on whoever the broker is.

    Its records are of today: Kafka forgets a producer by the timestamps that it sent.
    """

    def __init__(self, place: tuple[str, int], topic: str) -> None:
        self.timestamp = int(time.time() * 1000)
        self.place = place
        self.topic = topic
        self.producer_id = self.epoch = -1
        self.sequence = 0
        self.last = -1, -1

    def begin(self) -> None:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        answers: list[InitProducerIdResponse] = []

        def is_given() -> bool:
            with RawConnection(*self.place) as connection:
                answers[:] = [connection.send(request, InitProducerIdResponse, 4)]
            return answers[0].error_code == ErrorCode.NONE

        eventually(is_given, expected=True)
        self.producer_id, self.epoch = answers[0].producer_id, answers[0].producer_epoch

    def send(self) -> int:
        """The next batch; its offset."""
        code, offset = self._produce(self.sequence)
        assert code == ErrorCode.NONE, code
        self.last = self.sequence, offset
        self.sequence += RECORDS_PER_BATCH
        return offset

    def repeat(self) -> bool:
        """Send the last batch again: is it known for what it is? Of older ones a snapshot of producers says nothing."""
        sequence, offset = self.last
        return self._produce(sequence) == (ErrorCode.NONE, offset)

    def skip(self) -> ErrorCode:
        """What is said to a batch that comes too early."""
        return self._produce(self.sequence + RECORDS_PER_BATCH)[0]

    def _produce(self, sequence: int) -> tuple[ErrorCode, int]:
        builder = BatchBuilder(producer_id=self.producer_id, producer_epoch=self.epoch, base_sequence=sequence)
        for number in range(RECORDS_PER_BATCH):
            builder.append(b"key", b"%d" % (sequence + number), timestamp=self.timestamp)
        part = ProduceRequest.PartitionProduceData(index=0, records=bytes(builder.build()))
        topic = ProduceRequest.TopicProduceData(name=self.topic, partition_data=[part])
        request = ProduceRequest(acks=-1, timeout_ms=SECONDS_MAX * 1000, topic_data=[topic])
        with RawConnection(*self.place) as connection:
            answer = connection.send(request, ProduceResponse, 12)
        ((found,),) = (one.partition_responses for one in answer.responses)
        return ErrorCode(found.error_code), found.base_offset


class LastingProducer:
    """librdkafka's idempotent producer. What is given to it while no broker is there is sent when one is."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        config: dict[str, Any] = {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 1, **QUIET}
        self.topic = topic
        self.given: list[bytes] = []
        self._producer = confluent_kafka.Producer(config)

    def give(self, count: int) -> None:
        for number in range(len(self.given), len(self.given) + count):
            self.given.append(b"%d" % number)
            self._producer.produce(self.topic, self.given[-1])

    def flush(self) -> None:
        assert self._producer.flush(2 * SECONDS_MAX) == 0, self.topic

    def __len__(self) -> int:
        return len(self._producer)


class LastingMember:
    """The one member of a group, through all turns. `assignments` counts how often it was given its partition."""

    def __init__(self, bootstrap: str, topic: str, protocol: str) -> None:
        self.group = f"lasting-{protocol}"
        self.values: list[bytes] = []
        self.assignments = 0
        self._consumer = _consumer(bootstrap, self.group, protocol)
        self._consumer.subscribe([topic], on_assign=self._assigned)

    def _assigned(self, consumer: Any, partitions: Any) -> None:
        self.assignments += 1

    def read(self, count: int) -> None:
        """So many more, and commit."""
        _read(self._consumer, self.values, count)

    def close(self) -> None:
        self._consumer.close()


def read_and_go(bootstrap: str, topic: str, protocol: str, count: int) -> list[bytes]:
    """Join a group, read so many from where it was left, commit, and leave."""
    values: list[bytes] = []
    consumer = _consumer(bootstrap, f"resting-{protocol}", protocol)
    with contextlib.closing(consumer):
        consumer.subscribe([topic])
        _read(consumer, values, count)
    return values


def read_and_go_by_kafka_python(bootstrap: str, topic: str, count: int) -> list[bytes]:
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id="resting-python",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    values: list[bytes] = []
    with contextlib.closing(consumer):
        for _ in range(SECONDS_MAX):
            for records in consumer.poll(timeout_ms=1000).values():
                values += [record.value for record in records]
            if len(values) >= count:
                break
        consumer.commit()
    return values


def _consumer(bootstrap: str, group: str, protocol: str) -> confluent_kafka.Consumer:
    is_classic = protocol == CLASSIC
    return confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **({"session.timeout.ms": int(SESSION_MS), "max.poll.interval.ms": int(SESSION_MS)} if is_classic else {}),
            **QUIET,
        }
    )


def _read(consumer: confluent_kafka.Consumer, values: list[bytes], count: int) -> None:
    wanted = len(values) + count
    for _ in range(2 * SECONDS_MAX):
        while (message := consumer.poll(0 if len(values) >= wanted else 1)) is not None:
            assert message.error() is None or message.error().retriable(), message.error()
            if message.error() is None:
                value = message.value()
                assert isinstance(value, bytes)
                values.append(value)
        if len(values) >= wanted:
            break
    consumer.commit(asynchronous=False)
