"""Responses as plain data without what differs from one broker to the next by nature: ids, ports, clocks, wordings.

What a broker makes up (topic ids, member ids, producer ids) is written as a name, by the order in which a scenario came
to know it. Texts of errors are our own and only told to be there. Records are shown batch by batch, whole. The order of
a list is kept, but for the few lists whose order in Apache Kafka comes out of a hash table.
"""

from __future__ import annotations

import base64
from typing import Any

from ottla.wire.errors import KafkaError
from ottla.wire.json_form import to_json
from ottla.wire.records import RecordBatch, iter_records, read_batch
from ottla.wire.schema import Message

PORTS = {"port"}
CLOCKS = {"logAppendTimeMs", "lastFetchTimestamp", "lastCaughtUpTimestamp"}
# Where a log ends that both write in their own way: the metadata log.
SIZES = {"finalizedFeaturesEpoch", "totalBytes", "usableBytes"}
HASHES = {"subscriptionId"}
PRODUCER_IDS = {"producerId"}
NODES = {"nodeId", "leaderId", "controllerId", "brokerId", "replicaId"}
NODE_LISTS = {"replicaNodes", "isrNodes", "offlineReplicas", "replicas"}
# (message, list): what the order of these lists is in Apache Kafka is decided by a hash table.
UNORDERED = {
    ("ApiVersionsResponse", "supportedFeatures"),
    ("ApiVersionsResponse", "finalizedFeatures"),
    ("AlterReplicaLogDirsResponse", "partitions"),
    ("ConsumerGroupDescribeResponse", "groups"),
    ("CreatePartitionsResponse", "results"),
    ("DeleteRecordsResponse", "topics"),
    ("DescribeConfigsResponse", "configs"),
    ("JoinGroupResponse", "members"),
    ("OffsetFetchResponse", "partitions"),
    ("ProduceResponse", "partitionResponses"),
}
RECORD_BYTES_MAX = 1 << 24


class Names:
    """What a broker made up, and what it is called in an observation."""

    def __init__(self, texts: dict[str, str], node_id: int) -> None:
        self._texts = texts
        self._node_id = node_id
        self._producers: dict[int, str] = {}

    def text(self, made_up: str, name: str) -> None:
        if made_up:
            self._texts.setdefault(made_up, f"<{self.in_text(name)}>")

    def producer(self, producer_id: int) -> str | int:
        """Ids that nobody handed out stay as they are: they were chosen by the scenario."""
        return self._producers.get(producer_id, producer_id)

    def new_producer(self, producer_id: int) -> None:
        self._producers.setdefault(producer_id, f"<producer {len(self._producers)}>")

    def node(self, node_id: int) -> str | int:
        return "<node>" if node_id == self._node_id else node_id

    def in_value(self, value: Any) -> Any:
        """Names in place of what is made up, wherever in plain data."""
        if isinstance(value, dict):
            return {key: self.in_value(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [self.in_value(one) for one in value]
        return self.in_text(value) if isinstance(value, str) else value

    def in_text(self, value: str) -> str:
        for made_up, name in self._texts.items():
            if made_up in value:
                value = value.replace(made_up, name)
        return value

    def plain(self, message: Message, version: int) -> Any:
        """A response without what is a broker's own."""
        return self._value(type(message).__name__, "", to_json(message, version))

    def _field(self, kind: str, key: str, value: Any) -> Any:
        if key == "batchIndexErrorMessage":
            return value and "<text>"
        if key in PORTS and value and value > 0:
            return "<port>"
        if (key in CLOCKS or key in SIZES) and value > 0:
            return "<number>"
        if key in HASHES:
            return "<number>"
        if key in PRODUCER_IDS:
            return self.producer(value)
        if key in NODES:
            return self.node(value)
        if key in NODE_LISTS and value:
            return [self.node(one) for one in value]
        if key == "sessionId":
            return value and "<session>"
        if key == "records":
            return value and batches(base64.b64decode(value), self)
        return self._value(kind, key, value)

    def _value(self, kind: str, key: str, value: Any) -> Any:
        if isinstance(value, dict):
            left_out = {"errorMessage"} if value.get("errorCode") else set()
            return {name: self._field(kind, name, one) for name, one in value.items() if name not in left_out}
        if isinstance(value, list):
            items = [self._value(kind, key, one) for one in value]
            return sorted(items, key=by_name) if (kind, key) in UNORDERED else items
        return self.in_text(value) if isinstance(value, str) else value


def by_name(item: Any) -> tuple[str, str]:
    """Sorted so that a difference in one of them leaves the others where they are."""
    names = (
        [item[key] for key in ("name", "index", "partitionIndex", "groupId", "memberId") if key in item]
        if isinstance(item, dict)
        else []
    )
    return str(names), repr(item)


def batches(data: bytes, names: Names) -> list[dict[str, Any]]:
    """Every whole batch with all that is in it. Kafka sends parts of one behind them, which no client reads."""
    shown: list[dict[str, Any]] = []
    view, end = memoryview(data), 0
    while (batch := read_batch(view, end)) is not None:
        shown.append(batch_shown(batch, names))
        end = batch.end
    return shown


def batch_shown(batch: RecordBatch, names: Names) -> dict[str, Any]:
    is_by_broker = bool(batch.attributes & 8)
    return {
        "offsets": [batch.base_offset, batch.last_offset],
        "leader epoch": batch.leader_epoch,
        "attributes": batch.attributes,
        "intact": batch.is_intact(),
        "max timestamp": "<time>" if is_by_broker else batch.max_timestamp,
        "producer": [names.producer(batch.producer_id), batch.producer_epoch, batch.base_sequence],
        "records": records_shown(batch, is_by_broker=is_by_broker),
    }


def records_shown(batch: RecordBatch, *, is_by_broker: bool) -> Any:
    try:
        return [
            [
                record.offset,
                "<time>" if is_by_broker else record.timestamp,
                shown_bytes(record.key),
                shown_bytes(record.value),
                [[key.decode("utf-8", "replace"), shown_bytes(value)] for key, value in record.headers],
            ]
            for record in iter_records(batch, bytes_max=RECORD_BYTES_MAX)
        ]
    except KafkaError:
        return "<cannot be read>"


def shown_bytes(value: bytes | memoryview | None) -> str | None:
    if value is None:
        return None
    data = bytes(value)
    return data.decode("utf-8", "backslashreplace") if len(data) <= 64 else f"{len(data)} bytes from {data[:8]!r}"
