"""How long a producer waits when its leader is killed: default settings, on brokers and on the producer.

What is certain is that producing goes on; the seconds depend on the machine, and are printed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

import confluent_kafka
import pytest

from tests.faults.broker_processes import SECONDS_MAX, broker_processes, until
from tests.faults.namespaces import missing

pytestmark = [
    pytest.mark.namespaces,
    pytest.mark.skipif(bool(missing()), reason=f"namespaces: a network of its own needs {', '.join(missing())}"),
]

TOPIC, PARTITIONS = "letters", 6


@pytest.fixture
def failed() -> list[str]:
    return []


def test_producing_goes_on_after_the_leader_was_killed(
    failed: list[str], tmp_path: Path, counted: Callable[[str, Mapping[str, float]], None]
) -> None:
    with broker_processes(tmp_path, TOPIC) as cluster:
        cluster.create_topic(PARTITIONS, min_insync_replicas="2")
        producer = confluent_kafka.Producer(
            {"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True, "log_level": 0}
        )

        def seconds_without(broker_id: int) -> float:
            """From the kill of a broker to the first acknowledgement in a partition that it led."""
            partition = next(index for index in range(PARTITIONS) if cluster.picture().leader(index) == broker_id)
            send(producer, partition, failed)
            cluster.brokers[broker_id].kill()
            killed_at = time.monotonic()
            send(producer, partition, failed)
            seconds = time.monotonic() - killed_at
            cluster.start(broker_id)
            until(lambda: cluster.picture().is_whole, "all replicas in sync", cluster)
            return seconds

        controller = cluster.picture().controller
        others = [id for id in cluster.brokers if id != controller]
        counted(
            "seconds without a leader after kill -9",
            {
                "of a broker": round(seconds_without(others[0]), 2),
                "of the active controller": round(seconds_without(cluster.picture().controller), 2),
            },
        )
        assert not failed
        assert not cluster.complaints()


def send(producer: confluent_kafka.Producer, partition: int, failed: list[str]) -> None:
    """Send a record, and return when it is acknowledged."""

    def delivered(error: object, _: object) -> None:
        if error is not None:
            failed.append(str(error))

    producer.produce(TOPIC, b"a record", partition=partition, on_delivery=delivered)
    assert producer.flush(SECONDS_MAX) == 0, "producing did not go on"
