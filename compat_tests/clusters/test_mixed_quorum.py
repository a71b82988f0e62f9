"""Quorums of other kinds: one that passes from Ottla to Apache Kafka and back, and one as Kafka 3.3 made them.

In the first, node 1 is an Ottla and begins the quorum; node 2, an Apache Kafka, joins it and is left alone in it by
Kafka's own tool; then the other way round. Both are brokers as well, and hold every partition.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.clusters import mixed_story
from compat_tests.clusters.mixed_cluster import KAFKA, OTTLA, MixedCluster, a_mixed_cluster
from compat_tests.clusters.replicas import CREATED_BY_VERSION, are_equal, create, values
from compat_tests.clusters.tool_views import told_topics
from compat_tests.kafka_tools.tool_jvm import ToolJvm, a_tool_jvm
from compat_tests.raw_requests import RawConnection
from compat_tests.turn_clients import LastingProducer
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.topics import CreateTopicsRequest, CreateTopicsResponse
from tests.commands.three_nodes import until

pytestmark = pytest.mark.jvm

OTTLAS, KAFKAS = 1, 2
QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"


@pytest.fixture(scope="module")
def tools() -> Iterator[ToolJvm]:
    with a_tool_jvm() as tools:
        yield tools


def quorum(mixed: MixedCluster) -> dict[str, object]:
    (picture,) = mixed.command_line().ok("cluster", "info", "--json").rows
    found: dict[str, object] = picture["quorum"]
    return found


def roles(mixed: MixedCluster) -> dict[int, str]:
    replicas = quorum(mixed)["replicas"]
    assert isinstance(replicas, list)
    return {one["id"]: one["role"] for one in replicas}


def look_for_the_leader(bootstrap: str) -> None:
    """Have a broker pass on something that tells it to look for the leader, should it take another for it.

    Kafka's broker passes requests on to the controller that led when it last looked, and looks again at
    NOT_CONTROLLER. Of the quorum's own requests a controller of Kafka that does not lead refuses each with
    NOT_LEADER_OR_FOLLOWER: whoever asked is told that, every time. Apache Kafka is so among its own as well.
    """
    topic = CreateTopicsRequest.CreatableTopic(
        name="never-made", num_partitions=1, replication_factor=1, assignments=[], configs=[]
    )
    request = CreateTopicsRequest(topics=[topic], timeout_ms=60_000, validate_only=True)
    host, port = bootstrap.split(":")
    with RawConnection(host, int(port)) as connection:
        response = connection.send(request, CreateTopicsResponse, CREATED_BY_VERSION)
    assert [one.error_code for one in response.topics] == [ErrorCode.NONE], response


def pass_on(mixed: MixedCluster, tools: ToolJvm, old: int, new: int) -> None:
    """Let the one vote, and then the other no more."""
    mixed.command_line(old).ok("cluster", "add-voter", str(new), "--listener", f"CONTROLLER://{mixed.controllers[new]}")
    until(lambda: roles(mixed) == {old: "leader", new: "voter"})
    for bootstrap in mixed.bootstraps.values():
        look_for_the_leader(bootstrap)
    server = ["--bootstrap-server", mixed.bootstraps[new]]
    rows = [line.split() for line in tools.run(QUORUM, [*server, "describe", "--replication"]).lines]
    (directory_id,) = (row[1] for row in rows if row[0] == str(old))
    words = ["remove-controller", "--controller-id", str(old), "--controller-directory-id", directory_id]
    removed = tools.run(QUORUM, [*server, *words])
    assert removed.status == 0, removed
    until(lambda: roles(mixed) == {old: "observer", new: "leader"})


def test_a_quorum_passes_to_kafka_and_back(tmp_path: Path, tools: ToolJvm) -> None:
    with a_mixed_cluster(tmp_path, controllers=(OTTLAS, KAFKAS)) as mixed:
        mixed.begin(OTTLAS, OTTLA, "broker,controller")
        mixed.begin(KAFKAS, KAFKA, "broker,controller")
        producers = []
        for number, (old, new) in enumerate(((OTTLAS, KAFKAS), (KAFKAS, OTTLAS), (OTTLAS, KAFKAS))):
            create(mixed.bootstraps[old], f"of-{number}", [old, new])
            producers.append(LastingProducer(mixed.bootstrap, f"of-{number}"))
            for producer in producers:
                producer.give(50)
            pass_on(mixed, tools, old, new)
            for producer in producers:
                producer.give(50)
                producer.flush()
        until(lambda: told_topics(mixed.bootstraps[OTTLAS]) == told_topics(mixed.bootstraps[KAFKAS]))
        for producer in producers:
            until(are_equal(mixed, producer.topic, OTTLAS, KAFKAS))
            assert values(mixed.bootstrap, producer.topic) == producer.given


def test_ottlas_broker_joins_a_cluster_of_the_oldest_level(tmp_path: Path) -> None:
    with a_mixed_cluster(tmp_path, controllers=(KAFKAS,), static_release="3.3") as mixed:
        mixed.begin(KAFKAS, KAFKA, "broker,controller")
        mixed.begin(OTTLAS, OTTLA, "broker")
        (picture,) = mixed.command_line(OTTLAS).ok("cluster", "info", "--json").rows
        levels = {one["name"]: one["level"] for one in picture["features"] if one["level"]}
        assert levels == {"metadata.version": 7}
        mixed_story.replicas_stay_equal(mixed, tmp_path / "plan.json", "both", (KAFKAS, OTTLAS))
