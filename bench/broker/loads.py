"""The kinds of rows: what is done to a broker, and which figures come of it.

A row is prepared once for each broker, then measured several times, in turns; `share` is below one when it only warms
up. It knows the clients and not the table of rows, which is rows.py.
"""

from __future__ import annotations

import time
import uuid
from abc import ABC, abstractmethod
from contextlib import ExitStack
from dataclasses import dataclass

from bench.broker import librdkafka_client
from bench.broker.contenders import Broker
from bench.broker.figures import Figure, Sample
from bench.broker.lab import Lab, loaded
from bench.broker.processes import cpu_seconds, memory_mb
from bench.broker.raw_client import Pipeline, one_record_request

ONE_RECORD_BYTES = 100
ONE_RECORD_SECONDS = 2.0
LATENCY_RATE = 1000
LATENCY_COUNT = 10_000
# Before memory is read after a start: what a broker does by itself in its first moments is done.
SETTLE_SECONDS = 2.0


@dataclass(frozen=True)
class Row(ABC):
    name: str
    figures: tuple[Figure, ...]

    # Whether it is measured before it counts, and more than once.
    warms_up = True
    is_repeated = True

    @property
    def topic(self) -> str:
        return "".join(letter if letter.isalnum() else "-" for letter in self.name)

    def prepare(self, lab: Lab, broker: Broker) -> None:  # noqa: B027 (most have something to prepare, not all)
        pass

    @abstractmethod
    def measure(self, lab: Lab, broker: Broker, share: float) -> Sample: ...

    def finish(self, lab: Lab, broker: Broker) -> None:
        lab.drop(broker, self.topic)


@dataclass(frozen=True)
class Transfer(Row):
    """Records of one size, to or from a topic; `codec` and `acks` by the names that clients have for them."""

    record_bytes: int
    record_count: int
    acks: str = "all"
    codec: str = "none"
    partitions: int = 1
    passes: int = 1


class Produce(Transfer):
    def prepare(self, lab: Lab, broker: Broker) -> None:
        lab.topic(broker, self.topic, self.partitions)


class JavaProduce(Produce):
    def measure(self, lab: Lab, broker: Broker, share: float) -> Sample:
        count = lab.count(int(self.record_count * share))
        file = lab.payload_file(self.record_bytes)

        def work() -> float:
            rate = lab.java.produce(broker.bootstrap, self.topic, file, count, acks=self.acks, codec=self.codec)
            return count / rate

        return loaded(broker, count, work)


class JavaConsume(Transfer):
    def prepare(self, lab: Lab, broker: Broker) -> None:
        lab.topic(broker, self.topic, self.partitions)
        file = lab.payload_file(self.record_bytes)
        lab.java.produce(broker.bootstrap, self.topic, file, lab.count(self.record_count), codec=self.codec)

    def measure(self, lab: Lab, broker: Broker, share: float) -> Sample:
        count = lab.count(self.record_count)
        passes = max(1, int(self.passes * share))

        def work() -> float:
            return lab.java.consume(broker.bootstrap, self.topic, self.partitions, count, passes)

        return loaded(broker, count * passes, work)


@dataclass(frozen=True)
class GroupConsume(Transfer):
    """Kafka's ConsumerPerformance, one member of a new group each time, over one of Kafka's two protocols."""

    protocol: str = "classic"

    def prepare(self, lab: Lab, broker: Broker) -> None:
        lab.topic(broker, self.topic)
        file = lab.payload_file(self.record_bytes)
        lab.java.produce(broker.bootstrap, self.topic, file, lab.count(self.record_count))

    def measure(self, lab: Lab, broker: Broker, share: float) -> Sample:
        count = lab.count(self.record_count)
        before = cpu_seconds(*broker.pids)
        rates = lab.java.consume_in_group(broker.bootstrap, self.topic, str(uuid.uuid4()), count, self.protocol)
        spent = cpu_seconds(*broker.pids) - before
        return {"rate": rates.fetching, "whole_rate": rates.whole, "cpu": spent / count * 1e6}


class LibrdkafkaProduce(Produce):
    def measure(self, lab: Lab, broker: Broker, share: float) -> Sample:
        count = lab.count(int(self.record_count * share))
        payloads = lab.payloads(self.record_bytes)

        def work() -> float:
            return librdkafka_client.produce(
                broker.bootstrap, self.topic, payloads, count, acks=self.acks, codec=self.codec
            )

        return loaded(broker, count, work)


class LibrdkafkaConsume(Transfer):
    def prepare(self, lab: Lab, broker: Broker) -> None:
        lab.topic(broker, self.topic)
        payloads = lab.payloads(self.record_bytes)
        count = lab.count(self.record_count)
        librdkafka_client.produce(broker.bootstrap, self.topic, payloads, count, codec=self.codec)

    def measure(self, lab: Lab, broker: Broker, share: float) -> Sample:
        count = lab.count(int(self.record_count * share))
        return loaded(broker, count, lambda: librdkafka_client.consume(broker.bootstrap, self.topic, count))


@dataclass(frozen=True)
class OneRecordRequests(Row):
    """One record a request, one connection, a fixed number of requests on their way."""

    in_flight: int

    def prepare(self, lab: Lab, broker: Broker) -> None:
        lab.topic(broker, self.topic)

    def measure(self, lab: Lab, broker: Broker, share: float) -> Sample:
        request = one_record_request(lab.topic_id(broker, self.topic), lab.payloads(ONE_RECORD_BYTES)[0])
        with Pipeline(broker.address, request, self.in_flight) as pipeline:
            before = cpu_seconds(*broker.pids)
            count, seconds = pipeline.run(lab.scaled(ONE_RECORD_SECONDS * share))
            return {"rate": count / seconds, "cpu": (cpu_seconds(*broker.pids) - before) / count * 1e6}


@dataclass(frozen=True)
class EndToEnd(Row):
    """From send to poll, at a steady rate that is far below what either broker can do."""

    rate: int = LATENCY_RATE
    record_count: int = LATENCY_COUNT

    def prepare(self, lab: Lab, broker: Broker) -> None:
        lab.topic(broker, self.topic)

    def measure(self, lab: Lab, broker: Broker, share: float) -> Sample:
        count = lab.count(int(self.record_count * share))
        latency = lab.java.latency(broker.bootstrap, self.topic, self.rate, count, skipped=count // 5)
        return {"p50": latency.p50_ms, "p99": latency.p99_ms}


class Start(Row):
    """A new broker in an empty directory, to its first Metadata answer; then its memory, before any client came."""

    warms_up = False

    def measure(self, lab: Lab, broker: Broker, share: float) -> Sample:
        with ExitStack() as stack:
            fresh = lab.start(broker.name, stack)
            time.sleep(SETTLE_SECONDS)
            return {"start": fresh.start_seconds, "memory": memory_mb(*fresh.pids)}


@dataclass(frozen=True)
class ManyPartitions(Row):
    """Memory of a new broker with one topic of many partitions, once all of them have been written to."""

    partitions: int

    warms_up = False

    def measure(self, lab: Lab, broker: Broker, share: float) -> Sample:
        with ExitStack() as stack:
            fresh = lab.start(broker.name, stack)
            librdkafka_client.create_topic(fresh.bootstrap, self.topic, self.partitions)
            librdkafka_client.write_everywhere(
                fresh.bootstrap, self.topic, self.partitions, lab.payloads(ONE_RECORD_BYTES)[0]
            )
            return {"memory": memory_mb(*fresh.pids)}


class LoadedMemory(Transfer):
    """Memory of the broker that served all rows before this one, right after another load in both directions."""

    warms_up = False
    is_repeated = False

    def prepare(self, lab: Lab, broker: Broker) -> None:
        lab.topic(broker, self.topic)

    def measure(self, lab: Lab, broker: Broker, share: float) -> Sample:
        count = lab.count(self.record_count)
        lab.java.produce(broker.bootstrap, self.topic, lab.payload_file(self.record_bytes), count)
        lab.java.consume(broker.bootstrap, self.topic, 1, count, 1)
        return {"memory": memory_mb(*broker.pids)}
