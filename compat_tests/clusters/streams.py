"""Idempotent producers of every codec that outlive their leader, and what must be there of what they sent.

Each sends numbered records with keys, headers and times, to one topic, acknowledged by all replicas in sync. The
reader wants every record once, and those of a producer in order. Which broker leads meanwhile is not known here.
"""

from __future__ import annotations

import contextlib
from types import TracebackType
from typing import Any, Self

import confluent_kafka
from confluent_kafka import KafkaError

from compat_tests.turn_clients import QUIET

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
SECONDS_MAX = 120
BEGIN_MS = 1_700_000_000_000

# Key, value, time, headers.
Sent = tuple[bytes | None, bytes | None, int, list[tuple[str, str | bytes | None]]]


class Streams:
    def __init__(self, bootstrap: str, topic: str) -> None:
        self._bootstrap = bootstrap
        self._topic = topic
        self._producers = {codec: self._producer(codec) for codec in CODECS}
        self._count = 0
        self._errors: list[str] = []
        self.sent: dict[str, list[Sent]] = {codec: [] for codec in CODECS}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for producer in self._producers.values():
            producer.purge()
            producer.flush(SECONDS_MAX)

    def _producer(self, codec: str) -> confluent_kafka.Producer:
        config: dict[str, Any] = {"compression.type": codec, "enable.idempotence": True, "acks": "all"}
        return confluent_kafka.Producer({"bootstrap.servers": self._bootstrap, "linger.ms": 2, **config, **QUIET})

    def give(self, count: int) -> None:
        """So many records to every producer."""
        for _ in range(count):
            self._count += 1
            for codec, producer in self._producers.items():
                record = self._record(codec)
                key, value, timestamp, headers = record
                self.sent[codec].append(record)
                producer.produce(
                    self._topic, key=key, value=value, timestamp=timestamp, headers=headers, on_delivery=self._delivered
                )

    def _record(self, codec: str) -> Sent:
        number = self._count
        key = None if number % 5 == 0 else b"key-%d" % (number % 7)
        value = None if number % 11 == 0 and key is not None else b"%d " % number + b"words " * (number % 40)
        headers: list[tuple[str, str | bytes | None]] = [("codec", codec.encode())]
        if number % 3 == 0:
            headers += [("trace", b"\0\1%d" % number), ("empty", b"")]
        return key, value, BEGIN_MS + number, headers

    def _delivered(self, error: Any, message: Any) -> None:
        if error is not None:
            self._errors.append(str(error))

    def flush(self) -> None:
        """Return when all is acknowledged."""
        for producer in self._producers.values():
            assert producer.flush(SECONDS_MAX) == 0
        assert not self._errors, self._errors

    def read(self) -> dict[str, list[Sent]]:
        """All that the topic holds, by the codec of its producer."""
        found: dict[str, list[Sent]] = {codec: [] for codec in CODECS}
        config: dict[str, Any] = {"group.id": "streams", "enable.auto.commit": False, "enable.partition.eof": True}
        consumer = confluent_kafka.Consumer({"bootstrap.servers": self._bootstrap, **config, **QUIET})
        with contextlib.closing(consumer):
            consumer.assign([confluent_kafka.TopicPartition(self._topic, 0, confluent_kafka.OFFSET_BEGINNING)])
            while True:
                message: Any = consumer.poll(SECONDS_MAX)
                assert message is not None, "nothing more comes, and this is not the end"
                if message.error() is not None and message.error().code() == KafkaError._PARTITION_EOF:
                    return found
                assert message.error() is None, message.error()
                headers = message.headers()
                found[headers[0][1].decode()].append((message.key(), message.value(), message.timestamp()[1], headers))
