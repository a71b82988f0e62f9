"""How long a producer waits when the leader of its partition is killed.

One record at a time, each acknowledged before the next, acks=all, by a client with its defaults. Then it is killed, and
the clock runs from there until the next record is acknowledged by those who are left. The node comes back afterwards,
and whoever measures next finds the cluster whole.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from confluent_kafka import KafkaError, Message, Producer

from bench.broker import librdkafka_client
from bench.broker.contenders import Broker
from bench.broker.figures import Sample
from bench.broker.lab import Lab
from bench.broker.librdkafka_client import Undelivered
from bench.broker.loads import Row
from bench.cluster.contenders import Cluster

RECORDS_BEFORE = 20
VALUE = b"before or after"
SECONDS_MAX = 120

# A client's producer for a topic of a cluster: called, it returns when one more record is acknowledged.
SendOne = Callable[[], None]
Client = Callable[[Lab, str, str], SendOne]


@dataclass(frozen=True)
class FailOver(Row):
    """The node that is killed leads the partition; whether it leads the quorum as well is `is_controller`."""

    client: Client
    is_controller: bool = False

    warms_up = False

    def measure(self, lab: Lab, broker: Broker, share: float) -> Sample:
        assert isinstance(broker, Cluster), broker
        replicas = replicas_with(broker.controller_id(), len(broker.nodes), is_first=self.is_controller)
        topic = f"{self.topic}-{lab.number()}"
        librdkafka_client.create_topic_at(broker.bootstrap, topic, replicas)
        send_one = self.client(lab, broker.bootstrap, topic)
        for _ in range(RECORDS_BEFORE):
            send_one()
        killed = broker.nodes[replicas[0] - 1]
        started = time.perf_counter()
        killed.kill()
        send_one()
        seconds = time.perf_counter() - started
        killed.start()
        broker.wait_until_whole()
        librdkafka_client.delete_topic(broker.bootstrap, topic)
        return {"seconds": seconds}


def replicas_with(controller_id: int, node_count: int, *, is_first: bool) -> list[int]:
    """All nodes; the first of them, which leads, is the controller or is not."""
    others = [id for id in range(1, node_count + 1) if id != controller_id]
    return [controller_id, *others] if is_first else [*others, controller_id]


def java(lab: Lab, bootstrap: str, topic: str) -> SendOne:
    return lambda: lab.java.send_one(bootstrap, topic)


def librdkafka(lab: Lab, bootstrap: str, topic: str) -> SendOne:
    producer = Producer(librdkafka_client.settings(bootstrap))

    def send_one() -> None:
        errors: list[KafkaError | None] = []

        def delivered(error: KafkaError | None, _: Message) -> None:
            errors.append(error)

        producer.produce(topic, VALUE, partition=0, on_delivery=delivered)
        producer.flush(SECONDS_MAX)
        if errors != [None]:
            raise Undelivered(f"{topic}: {errors[0] if errors else f'no answer within {SECONDS_MAX} s'}")

    return send_one
