"""Settings have Kafka's defaults."""

from __future__ import annotations

from random import Random

from ottla.cluster.controller import ControllerSettings
from tests.cluster.controller.small_cluster import FewConfigs


def test_what_is_not_said_is_as_in_kafka() -> None:
    settings = ControllerSettings(cluster_id="c", node_id=1, config_rules=FewConfigs(), random=Random(1))
    assert (settings.default_partition_count, settings.default_replication_factor) == (1, 1)
    assert (settings.min_insync_replicas, settings.unclean_leader_election_enabled) == (1, False)
    assert (settings.broker_session_timeout_ms, settings.delete_topics_enabled) == (9000, True)
