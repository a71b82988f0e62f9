"""What lies in a partition's first segment on the broker's disk: whether a client's choice got that far.

Ottla and Apache Kafka keep the same files, and both have written a batch before they acknowledge it.
"""

from __future__ import annotations

from compat_tests.side_by_side import Side
from ottla.wire.records import Codec, RecordBatch, iter_batches


def batches(broker: Side, topic: str, partition: int = 0) -> list[RecordBatch]:
    segment = broker.log_dir / f"{topic}-{partition}" / f"{0:020}.log"
    return list(iter_batches(segment.read_bytes()))


def codecs(broker: Side, topic: str, partition: int = 0) -> set[str]:
    return {Codec(batch.codec).name.lower() for batch in batches(broker, topic, partition)}
