"""Before anything counts: both brokers, and the Java client, have done for a while what will be measured.

Kafka's broker needs some hundred thousand records and ten thousands of requests until its code is compiled; before that
it costs up to ten times as much. The amount is in rounds and does not shrink with the scale of a run.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.broker.contenders import Broker
from bench.broker.lab import Lab
from bench.broker.raw_client import Pipeline, one_record_request

TOPIC = "warm-up"
# Size of a record, and how many a round sends and reads.
AMOUNTS = ((1024, 40_000), (100, 100_000))
PASSES = 2
SMALL_RECORD_BYTES = 100
SMALL_SECONDS = 1.0
SMALL_IN_FLIGHT = 10


def warm_up(lab: Lab, brokers: Sequence[Broker], rounds: int) -> None:
    if not rounds:
        return
    for broker in brokers:
        lab.topic(broker, TOPIC)
    for _ in range(rounds):
        for broker in brokers:
            one_round(lab, broker)
    for broker in brokers:
        lab.drop(broker, TOPIC)


def one_round(lab: Lab, broker: Broker) -> None:
    for size_bytes, count in AMOUNTS:
        lab.java.produce(broker.bootstrap, TOPIC, lab.payload_file(size_bytes), count)
        lab.java.consume(broker.bootstrap, TOPIC, 1, count, PASSES)
    request = one_record_request(lab.topic_id(broker, TOPIC), lab.payloads(SMALL_RECORD_BYTES)[0])
    with Pipeline(broker.address, request, SMALL_IN_FLIGHT) as pipeline:
        pipeline.run(SMALL_SECONDS)
