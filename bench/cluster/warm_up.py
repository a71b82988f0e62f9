"""Before anything counts: both clusters, and the Java client, have done for a while what will be measured.

Three JVMs need longer than one until their code is compiled. The amount is in rounds and does not shrink with the scale
of a run.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.broker.contenders import Broker
from bench.broker.lab import Lab

TOPIC = "warm-up"
# As many leaders on each node, so that all of them lead and follow.
PARTITIONS = 3
RECORD_BYTES = 1024
RECORD_COUNT = 20_000


def warm_up(lab: Lab, clusters: Sequence[Broker], rounds: int) -> None:
    if not rounds:
        return
    for cluster in clusters:
        lab.topic(cluster, TOPIC, PARTITIONS)
    for _ in range(rounds):
        for cluster in clusters:
            lab.java.produce(cluster.bootstrap, TOPIC, lab.payload_file(RECORD_BYTES), RECORD_COUNT)
            lab.java.consume(cluster.bootstrap, TOPIC, PARTITIONS, RECORD_COUNT, 1)
    for cluster in clusters:
        lab.drop(cluster, TOPIC)
