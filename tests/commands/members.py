"""A consumer in a group, by librdkafka: it joins, reads, commits, and leaves when the block ends."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Consumer, Message

SECONDS_MAX = 60


@contextmanager
def a_member(bootstrap: str, group_id: str, topic: str, record_count: int, **options: str) -> Iterator[Consumer]:
    """A member that has read and committed so many records."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group_id,
            "client.id": f"client-of-{group_id}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **{name.replace("_", "."): value for name, value in options.items()},
        }
    )
    try:
        consumer.subscribe([topic])
        deadline = time.monotonic() + SECONDS_MAX
        last: dict[int | None, Message] = {}
        read = 0
        while read < record_count:
            assert time.monotonic() < deadline, f"only {read} records came"
            message = consumer.poll(1)
            if message is not None and message.error() is None:
                last[message.partition()] = message
                read += 1
        for message in last.values():
            consumer.commit(message, asynchronous=False)
        yield consumer
    finally:
        consumer.close()
