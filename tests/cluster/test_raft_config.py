"""Kafka's defaults, and who a replica is."""

from __future__ import annotations

import pytest

from ottla.cluster.raft_config import RaftConfig
from ottla.cluster.voters import Endpoint, KRaftVersions, ReplicaKey, Voter

HERE = b"d" * 16


def test_the_defaults_are_kafkas() -> None:
    config = RaftConfig("cluster", 1, HERE)
    assert config.election_timeout_ms == 1000
    assert config.fetch_timeout_ms == 2000
    assert config.election_backoff_ms_max == 1000
    assert config.request_timeout_ms == 2000
    assert config.retry_backoff_ms == 20
    assert config.append_linger_ms == 25


def test_a_replica_describes_itself_as_a_voter() -> None:
    endpoints = {"CONTROLLER": Endpoint("h", 1)}
    assert RaftConfig("cluster", 1, HERE, endpoints=endpoints).voter == Voter(
        ReplicaKey(1, HERE), endpoints, KRaftVersions(0, 1)
    )


def test_a_replica_has_an_id_and_a_directory() -> None:
    with pytest.raises(AssertionError):
        RaftConfig("cluster", -1, HERE)
    with pytest.raises(AssertionError):
        RaftConfig("cluster", 1, bytes(16))
