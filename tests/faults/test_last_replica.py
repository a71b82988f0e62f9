"""The last replica standing (KIP-966): a leader that lost the end of its log does not make the others forget theirs.

The public recipe, with real processes: a follower is killed; records are written and acknowledged by the two that are
left; these end, the leader last and by SIGKILL; ten bytes are cut off its log; it is started first. A cluster that
trusts it loses the last record everywhere, and gives its offset to another.

Where the other ends by SIGKILL too, KIP-966 promises nothing, for two have ended uncleanly. But the leader was the
first of whom that is known, and the other is not in doubt before it comes back: see `fail_over` in the controller.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from ottla.client.blocking import Client
from ottla.client.settings import Settings
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import BatchBuilder
from tests.faults.broker_processes import SECONDS_MAX, BrokerProcess, broker_processes, until
from tests.faults.namespaces import missing

pytestmark = [
    pytest.mark.namespaces,
    pytest.mark.skipif(bool(missing()), reason=f"namespaces: a network of its own needs {', '.join(missing())}"),
]

TOPIC = "letters"
VALUES = [b"%d" % number for number in range(10)]
CUT_BYTES = 10
# Brokers are missed soon, so that the test need not wait for long.
QUICK = {"broker_session_timeout_ms": "3000", "broker_heartbeat_interval_ms": "500"}
IMPATIENT = Settings(retry_timeout_ms=500)


def batch(value: bytes) -> bytes:
    builder = BatchBuilder()
    builder.append(None, value, timestamp=1_700_000_000_000)
    return bytes(builder.build())


def produce(client: Client, value: bytes) -> int:
    produced = client.produce(TOPIC, 0, batch(value))
    assert produced is not None
    return produced.base_offset


def cut_the_end(broker: BrokerProcess) -> None:
    (log,) = (broker.directory / f"{TOPIC}-0").glob("*.log")
    os.truncate(log, log.stat().st_size - CUT_BYTES)


@pytest.mark.parametrize("end_of_the_other", [signal.SIGKILL, signal.SIGTERM])
def test_the_last_replica_standing_is_not_believed_when_its_log_was_cut(
    end_of_the_other: signal.Signals, tmp_path: Path
) -> None:
    with broker_processes(tmp_path, TOPIC, **QUICK) as cluster:
        cluster.create_topic(1, min_insync_replicas="2")
        leader = cluster.brokers[cluster.picture().leader(0)]
        missed, other = [broker for broker in cluster.brokers.values() if broker is not leader]
        missed.kill()
        until(lambda: missed.id not in cluster.picture().partitions[0].isr, "the ISR without the one killed", cluster)
        with cluster.client() as client:
            assert [produce(client, value) for value in VALUES] == list(range(10))
        if end_of_the_other is signal.SIGTERM:
            # It leaves while there is a quorum to note it: the leader is alone, and what it is given is not committed.
            other.stop()
            with cluster.client(IMPATIENT) as client, pytest.raises(KafkaError) as refused:
                produce(client, b"never acknowledged")
            assert refused.value.code in (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.REQUEST_TIMED_OUT)
        else:
            other.kill()
        leader.kill()
        cut_the_end(leader)

        leader.start()
        missed.start()  # a quorum takes two
        until(lambda: {leader.id, missed.id} <= set(cluster.picture().registered), "two brokers to be back", cluster)
        assert cluster.picture().leader(0) not in (leader.id, missed.id)
        other.start()
        until(lambda: cluster.picture().is_whole, "all replicas in sync", cluster)
        with cluster.client(Settings(retry_timeout_ms=SECONDS_MAX * 1000)) as client:
            assert produce(client, b"the next") == len(VALUES)
            found = list(client.consume(TOPIC, 0, 0, end_offset=len(VALUES) + 1))
        assert [bytes(record.value or b"") for record in found] == [*VALUES, b"the next"]
        assert not cluster.complaints()
