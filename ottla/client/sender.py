"""Sending records to a topic in batches: at once to all partitions, one after another within each.

With acks=all a batch carries a producer id and a sequence, so that one that is sent again is not written twice. Where
records go is decided by the caller (partitioning.py). Nothing is kept back: what was given is sent when `send` returns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

from ottla.client.cluster import Cluster
from ottla.client.produce import ACKS_ALL, produce
from ottla.client.together import together
from ottla.wire.messages.transactions import InitProducerIdRequest, InitProducerIdResponse
from ottla.wire.records import BatchBuilder, Codec, Header

# Half of what a topic takes by default (max.message.bytes); a record that is larger goes alone.
BATCH_BYTES = 524_288
_SEQUENCE_MASK = 0x7FFFFFFF
_NO_PRODUCER = (-1, -1)
_TIMEOUT_MS = 60_000


class Outgoing(NamedTuple):
    """A record that has its partition."""

    partition: int
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Sequence[Header] = ()


class Sent(NamedTuple):
    """A batch that was written; the offset is None with acks=0."""

    partition: int
    base_offset: int | None
    record_count: int


class Sender:
    """For one task at a time."""

    def __init__(self, cluster: Cluster, topic: str, *, acks: int = ACKS_ALL, codec: Codec = Codec.NONE) -> None:
        self._cluster = cluster
        self._topic = topic
        self._acks = acks
        self._codec = codec
        self._producer = _NO_PRODUCER
        self._sequences: defaultdict[int, int] = defaultdict(int)

    async def send(self, records: Iterable[Outgoing]) -> list[Sent]:
        """Return when all are written."""
        if self._acks == ACKS_ALL and self._producer == _NO_PRODUCER:
            request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=_TIMEOUT_MS)
            response: InitProducerIdResponse = await self._cluster.request(request)
            self._producer = (response.producer_id, response.producer_epoch)
        by_partition: defaultdict[int, list[Outgoing]] = defaultdict(list)
        for record in records:
            by_partition[record.partition].append(record)
        sent = await together([partial(self._send_in_order, *item) for item in by_partition.items()])
        return [batch for batches in sent for batch in batches]

    async def _send_in_order(self, partition: int, records: Sequence[Outgoing]) -> list[Sent]:
        sent = []
        position = 0
        while position < len(records):
            builder = self._builder(partition)
            for record in records[position:]:
                if builder.count and builder.size_bytes + _size_bytes(record) > BATCH_BYTES:
                    break
                builder.append(record.key, record.value, timestamp=record.timestamp, headers=record.headers)
            position += builder.count
            written = await produce(self._cluster, self._topic, partition, builder.build(), acks=self._acks)
            self._sequences[partition] = self._sequences[partition] + builder.count & _SEQUENCE_MASK
            sent.append(Sent(partition, None if written is None else written.base_offset, builder.count))
        return sent

    def _builder(self, partition: int) -> BatchBuilder:
        if self._producer == _NO_PRODUCER:
            return BatchBuilder(codec=self._codec)
        producer_id, producer_epoch = self._producer
        return BatchBuilder(
            codec=self._codec,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=self._sequences[partition],
        )


def _size_bytes(record: Outgoing) -> int:
    """Without the few bytes that stand in front of each part."""
    headers = sum(len(key) + len(value or b"") for key, value in record.headers)
    return len(record.key or b"") + len(record.value or b"") + headers
