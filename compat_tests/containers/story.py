"""What a client of the host does with a broker in a container: kafka-python, a topic, a few records.

Where brokers die it is librdkafka: kafka-python leaves sockets open that were to connect to them.
"""

from __future__ import annotations

from collections.abc import Sequence

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, Producer, TopicPartition
from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import KafkaAdminClient, NewTopic

# Beyond what a busy machine takes: it ends a test that hangs.
SECONDS_MAX = 60
DELIVERY_SECONDS_MAX = 180


def create_topic(bootstrap: str, topic: str, partitions: int = 1, replication_factor: int = 1) -> None:
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        admin.create_topics([NewTopic(topic, partitions, replication_factor)])


def send(bootstrap: str, topic: str, values: Sequence[bytes]) -> None:
    with KafkaProducer(bootstrap_servers=bootstrap) as producer:
        for value in values:
            producer.send(topic, value).get(timeout=SECONDS_MAX)


def received(bootstrap: str, topic: str, count: int) -> list[bytes]:
    """So many records from the start on; fewer if they do not come."""
    found: list[bytes] = []
    with KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        auto_offset_reset="earliest",
        group_id=None,
        consumer_timeout_ms=SECONDS_MAX * 1000,
    ) as consumer:
        for record in consumer:
            found.append(record.value)
            if len(found) == count:
                break
    return found


def deliver(bootstrap: str, topic: str, values: Sequence[bytes]) -> None:
    """Return when all replicas in sync have them, whoever leads meanwhile."""
    errors: list[KafkaError | None] = []

    def delivered(error: KafkaError | None, _: Message) -> None:
        errors.append(error)

    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "enable.idempotence": True, "log_level": 3})
    for value in values:
        producer.produce(topic, value, on_delivery=delivered)
    producer.flush(DELIVERY_SECONDS_MAX)
    assert errors == [None] * len(values), errors


def read_all(bootstrap: str, topic: str, partitions: int, count: int) -> list[bytes]:
    """So many records of so many partitions, in whatever order; fewer if they do not come."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "readers", "log_level": 3})
    found: list[bytes] = []
    try:
        consumer.assign([TopicPartition(topic, index, OFFSET_BEGINNING) for index in range(partitions)])
        while len(found) < count and (message := consumer.poll(DELIVERY_SECONDS_MAX)) is not None:
            value = message.value()
            if message.error() is None and value is not None:
                found.append(value)
    finally:
        consumer.close()
    return found
