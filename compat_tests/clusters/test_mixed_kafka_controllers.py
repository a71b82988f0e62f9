"""An Ottla broker in a cluster of Apache Kafka's: it registers with Kafka's controller, follows and leads.

Node 1 is Kafka's, broker and controller, formatted as Kafka likes best, with all its features on; node 2 is a broker
of Ottla's. Node 3, another, joins when Kafka's metadata log has let go of its beginning, and so begins with a snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest

from compat_tests.clusters import metadata_files, mixed_story
from compat_tests.clusters.mixed_cluster import KAFKA, OTTLA, SECONDS_MAX, KafkaMember, MixedCluster, a_mixed_cluster
from compat_tests.clusters.replicas import are_equal, create, is_led, values
from compat_tests.turn_clients import CLASSIC, CONSUMER, QUIET, LastingProducer
from ottla.client.blocking import Client
from ottla.wire.messages.classic_groups import FindCoordinatorRequest
from tests.commands.three_nodes import until

pytestmark = pytest.mark.jvm

KAFKAS, OTTLAS, LATECOMER = 1, 2, 3
SNAPSHOTS = {"metadata.log.max.record.bytes.between.snapshots": "1000", "metadata.max.retention.bytes": "1"}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MixedCluster]:
    with a_mixed_cluster(tmp_path_factory.mktemp("mixed"), SNAPSHOTS) as mixed:
        mixed.begin(KAFKAS, KAFKA, "broker,controller")
        mixed.begin(OTTLAS, OTTLA, "broker")
        yield mixed


def kafka(mixed: MixedCluster) -> KafkaMember:
    member = mixed.members[KAFKAS]
    assert isinstance(member, KafkaMember)
    return member


def test_replicas_are_equal_whoever_leads(mixed: MixedCluster, tmp_path: Path) -> None:
    mixed_story.replicas_stay_equal(mixed, tmp_path / "plan.json", "both", (KAFKAS, OTTLAS))


def test_the_controller_knows_the_directory_of_every_replica(mixed: MixedCluster) -> None:
    mixed_story.directories_are_known(mixed, "spread", (KAFKAS, OTTLAS))


@pytest.mark.parametrize("protocol", [CLASSIC, CONSUMER])
def test_a_group_goes_on_when_its_coordinator_is_of_the_other_kind(
    mixed: MixedCluster, tmp_path: Path, protocol: str
) -> None:
    plan = tmp_path / "plan.json"
    mixed_story.a_group_goes_on(mixed, plan, f"read-{protocol}", protocol, (KAFKAS, OTTLAS))


def test_transactions_are_kafkas_and_ottla_follows(mixed: MixedCluster) -> None:
    """Whom the client asks for its coordinator is up to it: here it is Ottla, which sends it to Kafka."""
    place = mixed.bootstraps[OTTLAS]
    create(place, "__transaction_state", [KAFKAS, OTTLAS], cleanup_policy="compact")
    create(place, "transactions", [KAFKAS, OTTLAS])
    request = FindCoordinatorRequest(key_type=1, coordinator_keys=["transactions"])
    with Client(place) as client, client.connect(place) as connection:
        until(lambda: connection.request(request).coordinators[0].node_id == KAFKAS)
    config: dict[str, Any] = {"bootstrap.servers": mixed.bootstrap, "transactional.id": "transactions", **QUIET}
    producer = confluent_kafka.Producer(config)
    producer.init_transactions(SECONDS_MAX)
    for end in (producer.commit_transaction, producer.abort_transaction, producer.commit_transaction):
        producer.begin_transaction()
        for number in range(10):
            producer.produce("transactions", b"%d" % number)
        assert producer.flush(SECONDS_MAX) == 0
        end(SECONDS_MAX)
    until(are_equal(mixed, "transactions", KAFKAS, OTTLAS))
    until(are_equal(mixed, "__transaction_state", KAFKAS, OTTLAS))
    assert values(mixed.bootstrap, "transactions") == [b"%d" % number for number in range(10)] * 3


def test_kafka_takes_over_from_a_leader_that_is_killed(mixed: MixedCluster) -> None:
    create(mixed.bootstraps[OTTLAS], "taken", [OTTLAS, KAFKAS])
    producer = LastingProducer(mixed.bootstrap, "taken")
    producer.give(50)
    producer.flush()
    producer.give(50)
    mixed.members[OTTLAS].kill()
    producer.give(50)
    producer.flush()
    mixed.members[OTTLAS].start()
    until(is_led(mixed.command_line(OTTLAS), "taken", KAFKAS, [OTTLAS, KAFKAS]))
    until(are_equal(mixed, "taken", OTTLAS, KAFKAS))
    assert values(mixed.bootstrap, "taken") == producer.given


def test_ottlas_broker_leaves_by_a_controlled_shutdown(mixed: MixedCluster) -> None:
    create(mixed.bootstraps[KAFKAS], "left", [OTTLAS, KAFKAS])
    producer = LastingProducer(mixed.bootstrap, "left")
    producer.give(50)
    producer.flush()
    mixed.members[OTTLAS].stop()
    kafka(mixed).wait_for(f"broker {OTTLAS} has requested and been granted a controlled shutdown")
    until(is_led(mixed.command_line(KAFKAS), "left", KAFKAS, [KAFKAS]))
    producer.give(50)
    producer.flush()
    mixed.members[OTTLAS].start()
    until(is_led(mixed.command_line(OTTLAS), "left", KAFKAS, [OTTLAS, KAFKAS]))
    until(are_equal(mixed, "left", OTTLAS, KAFKAS))


def test_a_broker_that_comes_late_begins_with_a_snapshot(mixed: MixedCluster) -> None:
    # Kafka looks once a minute whether its metadata log may let go of something.
    kafka(mixed).wait_for("Marking snapshot .* for deletion")
    until(lambda: metadata_files.snapshots(mixed.log_dirs[KAFKAS][0])[0].end_offset > 0)
    mixed.begin(LATECOMER, OTTLA, "broker")
    assert metadata_files.begins_at(mixed.log_dirs[LATECOMER][0]) > 0
    create(mixed.bootstraps[LATECOMER], "late", [LATECOMER, KAFKAS])
    producer = LastingProducer(mixed.bootstrap, "late")
    producer.give(50)
    producer.flush()
    until(are_equal(mixed, "late", LATECOMER, KAFKAS))
