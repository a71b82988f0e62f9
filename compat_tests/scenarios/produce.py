"""Produce: every version, acknowledgement, codec, size and time, and producers that must not be believed twice."""

from __future__ import annotations

from typing import Any

from compat_tests.scenarios.batches import TIME_MS, batch, idempotent
from compat_tests.scenarios.building import built
from compat_tests.scenarios.reading import read_back, topic_key
from compat_tests.scenarios.scenario import Area
from compat_tests.scenarios.stage import TIMEOUT_MS, Stage
from ottla.wire.messages.metadata import MetadataRequest
from ottla.wire.messages.produce import ProduceRequest
from ottla.wire.messages.transactions import InitProducerIdRequest
from ottla.wire.records import BatchBuilder, Codec

AREA = Area("produce")
VERSION = 12
UNKNOWN_ID = bytes(range(16))
HOUR_MS = 3_600_000


def produce(
    stage: Stage,
    topic: str,
    *data: bytes | None,
    version: int = VERSION,
    acks: int = -1,
    partitions: Any = None,
    **more: Any,
) -> Any:
    """One request with one batch for each partition, from 0 on, or for those given."""
    numbered = partitions or range(len(data))
    sent = [
        {"index": index, "records": None if one is None else memoryview(one)}
        for index, one in zip(numbered, data, strict=True)
    ]
    named = {**topic_key(stage, topic, version, "name"), "partition_data": sent}
    return stage.ask(ProduceRequest, version, {"acks": acks, "timeout_ms": TIMEOUT_MS, "topic_data": [named], **more})


@AREA.at(ProduceRequest, {"all": -1, "the leader": 1}, versions=(3, 5, 8, 9, 12, 13))
def acknowledged_by(stage: Stage, version: int, acks: int) -> None:
    topic = stage.topic()
    produce(stage, topic, batch(b"a", b"b"), version=version, acks=acks)
    produce(stage, topic, batch((b"k", b"c")), version=version, acks=acks)
    read_back(stage, topic)


@AREA.at(ProduceRequest)
def not_acknowledged(stage: Stage, version: int) -> None:
    """There is no answer; the next request on the connection is answered after it."""
    topic = stage.topic()
    unanswered(stage, topic, version, batch(b"a"))
    stage.quietly(MetadataRequest, 1, {"topics": []})
    read_back(stage, topic)


def unanswered(stage: Stage, topic: str, version: int, data: bytes) -> None:
    sent = [{"index": 0, "records": memoryview(data)}]
    named = {**topic_key(stage, topic, version, "name"), "partition_data": sent}
    stage.main.begin(built(ProduceRequest, version, {"acks": 0, "timeout_ms": 1, "topic_data": [named]}), version)


@AREA.at(ProduceRequest)
def not_acknowledged_and_wrong(stage: Stage, version: int) -> None:
    """Who is never answered learns of an error by losing the connection."""
    topic = stage.topic()
    unanswered(stage, topic, version, b"\0" * 70)
    stage.ask(MetadataRequest, 1, {"topics": []})


@AREA.at(ProduceRequest, {"two": 2, "fewer than all": -2})
def acknowledged_by_a_number_that_is_none(stage: Stage, version: int, acks: int) -> None:
    topic = stage.topic()
    produce(stage, topic, batch(b"a"), version=version, acks=acks)
    read_back(stage, topic)


@AREA.at(ProduceRequest)
def to_unknown_partitions(stage: Stage, version: int) -> None:
    produce(stage, stage.topic(), batch(b"a"), batch(b"b"), version=version, partitions=[0, 7])


@AREA.at(ProduceRequest)
def to_an_unknown_topic(stage: Stage, version: int) -> None:
    data = [{"index": 0, "records": memoryview(batch(b"a"))}]
    topic = {"name": "no-such-topic", "topic_id": UNKNOWN_ID, "partition_data": data}
    stage.ask(ProduceRequest, version, {"acks": -1, "timeout_ms": TIMEOUT_MS, "topic_data": [topic]})


@AREA.one
def to_a_topic_whose_id_is_zero(stage: Stage) -> None:
    topic = {"topic_id": bytes(16), "partition_data": [{"index": 0, "records": memoryview(batch(b"a"))}]}
    stage.ask(ProduceRequest, 13, {"acks": -1, "timeout_ms": TIMEOUT_MS, "topic_data": [topic]})


@AREA.at(ProduceRequest)
def nothing_at_all(stage: Stage, version: int) -> None:
    stage.ask(ProduceRequest, version, {"acks": -1, "timeout_ms": TIMEOUT_MS, "topic_data": []})


@AREA.at(ProduceRequest)
def no_batch(stage: Stage, version: int) -> None:
    """Not null: Apache Kafka never answers that."""
    topic = stage.topic()
    produce(stage, topic, b"", version=version)
    read_back(stage, topic)


@AREA.at(ProduceRequest)
def several_partitions(stage: Stage, version: int) -> None:
    topic = stage.topic(partitions=3)
    produce(stage, topic, batch(b"c"), batch(b"a"), batch(b"b", b"bb"), version=version, partitions=[2, 0, 1])
    for partition in range(3):
        read_back(stage, topic, partition=partition)


@AREA.one
def the_same_partition_twice_in_a_request(stage: Stage) -> None:
    topic = stage.topic()
    produce(stage, topic, batch(b"a"), batch(b"b"), partitions=[0, 0])
    read_back(stage, topic)


@AREA.cases({"in one batch": 1, "in two": 2})
def several_batches_for_a_partition(stage: Stage, count: int) -> None:
    topic = stage.topic()
    produce(stage, topic, b"".join(batch(b"%d" % number) for number in range(count)))
    read_back(stage, topic)


@AREA.cases({codec.name.lower(): codec for codec in Codec})
def compressed_with(stage: Stage, codec: Codec) -> None:
    topic = stage.topic()
    produce(stage, topic, batch(*(b"value %d" % number for number in range(50)), codec=codec))
    produce(stage, topic, batch(b"x", codec=codec), version=3 if codec is not Codec.ZSTD else 7)
    read_back(stage, topic)


@AREA.cases({codec.name.lower(): codec.name.lower() for codec in Codec if codec} | {"nothing": "uncompressed"})
def compressed_by_the_topic_with(stage: Stage, name: str) -> None:
    topic = stage.topic(configs={"compression.type": name})
    for codec in (Codec.NONE, Codec.GZIP, Codec.LZ4):
        produce(stage, topic, batch(*(b"value %d" % number for number in range(50)), codec=codec))
    read_back(stage, topic)


@AREA.one
def zstd_before_version_7(stage: Stage) -> None:
    produce(stage, stage.topic(), batch(b"x", codec=Codec.ZSTD), version=6)


@AREA.one
def headers_keys_and_nulls(stage: Stage) -> None:
    topic = stage.topic()
    builder = BatchBuilder()
    builder.append(None, None, timestamp=TIME_MS)
    builder.append(b"", b"", timestamp=TIME_MS + 5, headers=((b"h", b"1"), (b"h", None), (b"", b"")))
    builder.append(b"k" * 100, b"v" * 1000, timestamp=TIME_MS - 5, headers=((b"name", b"x" * 200),))
    produce(stage, topic, builder.build())
    read_back(stage, topic)


@AREA.cases({"a little": 1500, "just": 2000, "more": 2001, "much more": 50_000})
def larger_than_the_topic_takes(stage: Stage, size: int) -> None:
    """2000 bytes are taken, the batch's header among them."""
    topic = stage.topic(configs={"max.message.bytes": "2000"})
    data = batch(b"v" * (size - len(batch(b"")) - 2))
    stage.note("size", len(data))
    produce(stage, topic, data)
    read_back(stage, topic)


# Times


@AREA.cases({"of producers": "CreateTime", "of the log": "LogAppendTime"})
def times(stage: Stage, kind: str) -> None:
    topic = stage.topic(configs={"message.timestamp.type": kind})
    produce(stage, topic, batch(b"a", b"b", timestamp=1000, step_ms=500))
    produce(stage, topic, batch(b"c", timestamp=-1))
    produce(stage, topic, batch(b"d", codec=Codec.GZIP))
    read_back(stage, topic)


@AREA.cases(
    {"before": {"message.timestamp.before.max.ms": "1000"}, "after": {"message.timestamp.after.max.ms": "1000"}}
)
def times_out_of_bounds(stage: Stage, configs: dict[str, str]) -> None:
    topic = stage.topic(configs=configs)
    for timestamp in (TIME_MS, -1, 2**52):
        produce(stage, topic, batch(b"a", timestamp=timestamp))
    produce(stage, topic, batch(b"a", b"b", timestamp=TIME_MS, codec=Codec.LZ4))
    read_back(stage, topic)


# Idempotent producers, with ids of their own choice: no broker knows better


@AREA.cases({"as they come": (0, 2, 3), "with a gap": (0, 5), "going back": (0, 2, 0), "from the middle": (3,)})
def sequences(stage: Stage, sequences: tuple[int, ...]) -> None:
    topic = stage.topic()
    for sequence in sequences:
        values = (b"a", b"b") if sequence == 0 else (b"c",)
        produce(stage, topic, idempotent(*values, producer_id=5000, sequence=sequence))
    read_back(stage, topic)


@AREA.at(ProduceRequest)
def duplicates(stage: Stage, version: int) -> None:
    """The last five batches of a producer are known again, and told where they are; older ones are not."""
    topic = stage.topic()
    sent = [idempotent(b"%d" % number, producer_id=5001, sequence=number) for number in range(7)]
    for data in (*sent, sent[6], sent[2], sent[1], sent[0]):
        produce(stage, topic, data, version=version)
    read_back(stage, topic)


@AREA.one
def a_duplicate_of_another_length(stage: Stage) -> None:
    topic = stage.topic()
    produce(stage, topic, idempotent(b"a", b"b", producer_id=5002))
    produce(stage, topic, idempotent(b"a", producer_id=5002))
    produce(stage, topic, idempotent(b"a", b"b", b"c", producer_id=5002))


@AREA.cases({"a new one": (1, 0), "a new one in the middle": (1, 5), "an old one": (-1, 1), "a far one": (100, 0)})
def epochs(stage: Stage, case: tuple[int, int]) -> None:
    step, sequence = case
    topic = stage.topic()
    produce(stage, topic, idempotent(b"a", producer_id=5003, epoch=3))
    produce(stage, topic, idempotent(b"b", producer_id=5003, epoch=3 + step, sequence=sequence))
    produce(stage, topic, idempotent(b"c", producer_id=5003, epoch=3, sequence=1))
    read_back(stage, topic)


@AREA.one
def sequences_that_begin_anew_at_the_largest(stage: Stage) -> None:
    topic = stage.topic()
    produce(stage, topic, idempotent(b"a", b"b", producer_id=5004, sequence=2**31 - 2))
    produce(stage, topic, idempotent(b"c", producer_id=5004, sequence=0))
    read_back(stage, topic)


@AREA.cases({"no epoch": {"producer_epoch": -1}, "no sequence": {"base_sequence": -1}, "both": {}})
def half_an_idempotent_producer(stage: Stage, wrong: dict[str, int]) -> None:
    fields = {"producer_id": 5005, "producer_epoch": 0, "base_sequence": 0} | wrong
    produce(stage, stage.topic(), batch(b"a", **fields))


@AREA.one
def two_batches_of_a_producer_in_a_request(stage: Stage) -> None:
    topic = stage.topic()
    produce(stage, topic, idempotent(b"a", producer_id=5006) + idempotent(b"b", producer_id=5006, sequence=1))
    read_back(stage, topic)


@AREA.one
def an_id_that_was_handed_out(stage: Stage) -> None:
    stage.until(
        "ids are handed out", lambda: not stage.quietly(InitProducerIdRequest, 0, {"transactional_id": None}).error_code
    )
    found = stage.quietly(InitProducerIdRequest, 4, {"transactional_id": None})
    stage.names.new_producer(found.producer_id)
    topic = stage.topic()
    for sequence in (0, 1, 1):
        produce(stage, topic, idempotent(b"a", producer_id=found.producer_id, sequence=sequence))
    read_back(stage, topic)
