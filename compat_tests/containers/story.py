"""What a client of the host does with a broker in a container: kafka-python, a topic, a few records."""

from __future__ import annotations

from collections.abc import Sequence

from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import KafkaAdminClient, NewTopic

# Beyond what a busy machine takes: it ends a test that hangs.
SECONDS_MAX = 60


def create_topic(bootstrap: str, topic: str, partitions: int = 1, replication_factor: int = 1) -> None:
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        admin.create_topics([NewTopic(topic, partitions, replication_factor)])


def send(bootstrap: str, topic: str, values: Sequence[bytes]) -> None:
    with KafkaProducer(bootstrap_servers=bootstrap, acks="all") as producer:
        for value in values:
            producer.send(topic, value).get(timeout=SECONDS_MAX)


def received(bootstrap: str, topic: str, count: int) -> list[bytes]:
    """So many records from the start on, of all partitions; fewer if they do not come."""
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
