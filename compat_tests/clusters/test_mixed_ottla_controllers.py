"""An Apache Kafka broker in a cluster of Ottla's: it registers with Ottla's controller, follows and leads.

Node 1 is the controller, an Ottla; nodes 2, an Ottla, and 3, an Apache Kafka, are brokers. Kafka's joins when the
metadata log has let go of its beginning, and so begins with a snapshot of Ottla's.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.clusters import metadata_files, mixed_story
from compat_tests.clusters.mixed_cluster import KAFKA, OTTLA, MixedCluster, a_mixed_cluster
from compat_tests.clusters.replicas import are_equal, create, is_led, shown, values
from compat_tests.turn_clients import CLASSIC, CONSUMER, LastingProducer
from tests.commands.three_nodes import until

pytestmark = pytest.mark.jvm

CONTROLLER, OTTLAS, KAFKAS = 1, 2, 3
SNAPSHOTS = {"metadata.log.max.record.bytes.between.snapshots": "1000", "metadata.max.retention.bytes": "1"}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MixedCluster]:
    with a_mixed_cluster(tmp_path_factory.mktemp("mixed"), SNAPSHOTS) as mixed:
        mixed.begin(CONTROLLER, OTTLA, "controller")
        mixed.begin(OTTLAS, OTTLA, "broker")
        for number in range(10):
            create(mixed.bootstrap, f"before-{number}", [OTTLAS])
        until(lambda: metadata_files.snapshots(mixed.log_dirs[CONTROLLER][0])[-1].end_offset > 0)
        mixed.begin(KAFKAS, KAFKA, "broker")
        yield mixed


def test_kafkas_broker_begins_with_a_snapshot(mixed: MixedCluster) -> None:
    assert metadata_files.begins_at(mixed.log_dirs[KAFKAS][0]) > 0
    for id in (OTTLAS, KAFKAS):
        (picture,) = mixed.command_line(id).ok("cluster", "info", "--json").rows
        assert {one["id"]: one["isFenced"] for one in picture["brokers"]} == {OTTLAS: False, KAFKAS: False}


def test_replicas_are_equal_whoever_leads(mixed: MixedCluster, tmp_path: Path) -> None:
    mixed_story.replicas_stay_equal(mixed, tmp_path / "plan.json", "both", (OTTLAS, KAFKAS))


def test_the_controller_knows_the_directory_of_every_replica(mixed: MixedCluster) -> None:
    mixed_story.directories_are_known(mixed, "spread", (OTTLAS, KAFKAS))


@pytest.mark.parametrize("protocol", [CLASSIC, CONSUMER])
def test_a_group_goes_on_when_its_coordinator_is_of_the_other_kind(
    mixed: MixedCluster, tmp_path: Path, protocol: str
) -> None:
    plan = tmp_path / "plan.json"
    mixed_story.a_group_goes_on(mixed, plan, f"read-{protocol}", protocol, (OTTLAS, KAFKAS))


@pytest.mark.parametrize(("fallen", "survivor"), [(KAFKAS, OTTLAS), (OTTLAS, KAFKAS)])
def test_what_only_a_fallen_leader_had_is_cut(mixed: MixedCluster, fallen: int, survivor: int) -> None:
    topic = f"forked-{fallen}"
    create(mixed.bootstraps[OTTLAS], topic, [fallen, survivor])
    first, lost, kept = (LastingProducer(mixed.bootstrap, topic) for _ in range(3))
    first.give(20)
    first.flush()
    until(are_equal(mixed, topic, OTTLAS, KAFKAS))
    mixed.members[survivor].stop()
    until(is_led(mixed.command_line(fallen), topic, fallen, [fallen]))
    lost.give(30)
    lost.flush()
    mixed.members[fallen].kill()
    mixed.members[survivor].start()
    ottla = mixed.command_line(survivor)
    until(lambda: shown(ottla, topic)["leader"] == -1)
    ottla.ok("cluster", "elect", "--topic", topic, "--unclean", "--yes")
    until(is_led(ottla, topic, survivor, [survivor]))
    kept.give(5)
    kept.flush()
    mixed.members[fallen].start()
    until(is_led(ottla, topic, survivor, [OTTLAS, KAFKAS]))
    until(are_equal(mixed, topic, OTTLAS, KAFKAS))
    assert values(mixed.bootstrap, topic) == first.given + kept.given
