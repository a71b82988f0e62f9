"""Apache Kafka and Ottla take turns on one directory, and each finds all that the other left.

Topics and their ids, configurations, features, records, offsets and epochs, and also what Ottla keeps without serving
it. How the directory changes hands is in node_swap.py.
"""

from __future__ import annotations

import pytest

from compat_tests.kafka_process import KafkaNode
from compat_tests.node_state import BROKER, TOPIC, NodeState
from compat_tests.node_swap import WITH_RULES, Lives, exchange
from ottla.wire.errors import ErrorCode
from ottla.wire.records import iter_batches

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module", params=[False, True], ids=["voters by configuration", "voters in the log"])
def lives(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Lives:
    return exchange(KafkaNode(tmp_path_factory.mktemp("swap"), WITH_RULES, is_standalone=request.param))


def assert_same(found: NodeState, left: NodeState) -> None:
    """All is as it was left, but for leaders, who begin new epochs."""
    assert found.cluster_id == left.cluster_id
    assert found.features == left.features
    assert found.topics == left.topics
    assert found.configs == left.configs
    assert set(found.partitions) == set(left.partitions)
    for place, before in left.partitions.items():
        now = found.partitions[place]
        assert now.data == before.data, place
        assert now.earliest[0] == before.earliest[0], place
        assert now.latest[0] == before.latest[0], place
        # An epoch without batches is forgotten by both.
        for epoch in {batch.leader_epoch for batch in iter_batches(before.data)}:
            assert now.epoch_ends[epoch] == before.epoch_ends[epoch], (place, epoch)


def test_ottla_finds_what_kafka_left(lives: Lives) -> None:
    assert_same(lives.ottla_found, lives.kafka.state)


def test_kafka_finds_what_ottla_left(lives: Lives) -> None:
    assert lives.ottla_snapshots, "Kafka starts from a snapshot of Ottla's"
    assert_same(lives.kafka_found.state, lives.ottla.state)


def test_what_was_done_is_there(lives: Lives) -> None:
    """Or the comparison would say little."""
    found = lives.kafka_found.state
    assert set(found.topics) >= {"plain", "kept", "empty", "new", "new-empty"}
    assert "doomed" not in found.topics
    assert found.topics["plain"].id == lives.kafka.state.topics["plain"].id
    assert found.configs[TOPIC, "kept"]["retention.ms"] == "42000000"
    assert found.configs[TOPIC, "kept"]["cleanup.policy"] == "compact,delete"
    assert found.configs[BROKER, ""]["log.cleaner.backoff.ms"] == "15002"
    assert found.configs[BROKER, ""]["min.insync.replicas"] == "1", "as a new cluster with ELR has it"
    assert found.configs[BROKER, "1"]["log.retention.ms"] == "9876543210"
    first, second, third = lives.added
    both = [first, second._replace(offset=1)]
    assert lives.ottla.read["plain"] == both
    assert lives.kafka_found.read["plain"] == both
    assert lives.kafka_found.read["new"] == [second]
    assert lives.kafka_added.partitions["plain", 0].latest[0] == 3
    assert third.timestamp > second.timestamp


def test_features_that_are_not_served_are_kept_and_told(lives: Lives) -> None:
    features = lives.ottla_found.features
    assert features["eligible.leader.replicas.version"] == 1
    assert features["metadata.version"] == 30
    assert features.get("kraft.version", 0) == lives.kafka.state.features.get("kraft.version", 0)
    assert any("share.version is at level 1" in line for line in lives.ottla_printed)


def test_what_ottla_does_not_serve_is_still_there(lives: Lives) -> None:
    assert lives.kafka.unserved is not None
    assert all(lives.kafka.unserved)
    assert lives.kafka_found.unserved == lives.kafka.unserved


def test_both_refuse_the_same_changes_of_min_insync_replicas(lives: Lives) -> None:
    """With ELR no broker may have its own, and that of all cannot be removed (KIP-966)."""
    assert lives.ottla.refusals == lives.kafka.refusals
    assert ErrorCode.INVALID_CONFIG in lives.kafka.refusals
    assert ErrorCode.NONE in lives.kafka.refusals


def test_an_empty_partition_has_its_leaders_epoch(lives: Lives) -> None:
    """KAFKA-7415: an epoch is known from its leader's first moment, not from the first record on."""
    theirs = lives.kafka.state.partitions["empty", 0]
    assert theirs.earliest == theirs.latest == (0, 0)
    assert lives.ottla.state.partitions["new-empty", 0] == theirs
