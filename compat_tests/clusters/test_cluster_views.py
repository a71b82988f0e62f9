"""What Kafka's tools show of a cluster of Ottla is what our own client is told, on its wire and in its files.

Three nodes, one of which goes away; configurations and features are changed by the tools meanwhile. The tests are one
story, in their order.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compat_tests import node_state
from compat_tests.clusters import metadata_files
from compat_tests.clusters.replicas import create
from compat_tests.clusters.tool_views import (
    NO_LEADER,
    PartitionView,
    Replayed,
    Topics,
    described_topics,
    shown_partition,
    status,
    told_topics,
)
from compat_tests.kafka_tools.tool_jvm import Printed, ToolJvm, a_tool_jvm
from compat_tests.raw_requests import RawConnection
from ottla.wire.messages.log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from ottla.wire.messages.quorum import DescribeQuorumRequest, DescribeQuorumResponse
from ottla.wire.primitives import uuid_text
from tests.commands.three_nodes import Nodes, three_nodes, until

pytestmark = pytest.mark.jvm

QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
TOPICS = "org.apache.kafka.tools.TopicCommand"
FEATURES = "org.apache.kafka.tools.FeatureCommand"
CONFIGS = "kafka.admin.ConfigCommand"
LOG_DIRS = "org.apache.kafka.tools.LogDirsCommand"
CLUSTER = "org.apache.kafka.tools.ClusterTool"
DUMP = "org.apache.kafka.tools.DumpLogSegments"
SHELL = "org.apache.kafka.shell.MetadataShell"

SNAPSHOTS = {"metadata.log.max.record.bytes.between.snapshots": "1500"}
# Topics of one partition: where they are, and how many must be in sync.
PLACES = {
    "healthy": ([1, 2], 1),
    "at-least": ([1, 2, 3], 2),
    "too-few": ([2, 3], 2),
    "gone": ([3], 1),
}
DOWN = 3


@pytest.fixture(scope="module")
def tools() -> Iterator[ToolJvm]:
    with a_tool_jvm() as tools:
        yield tools


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    with three_nodes(tmp_path_factory.mktemp("nodes"), SNAPSHOTS) as nodes:
        for topic, (replicas, min_isr) in PLACES.items():
            create(nodes.command_line.bootstrap, topic, replicas, min_insync_replicas=str(min_isr))
        nodes.command_line.ok("produce", "healthy", stdin=b"one\ntwo\n")
        yield nodes


def done(printed: Printed) -> list[str]:
    assert printed.status == 0, printed
    return printed.lines


def server(nodes: Nodes) -> list[str]:
    return ["--bootstrap-server", nodes.command_line.bootstrap]


def controllers(nodes: Nodes) -> list[str]:
    places = (nodes.controller(id).removeprefix("CONTROLLER://") for id in (1, 2, 3))
    return ["--bootstrap-controller", ",".join(places)]


def connected(nodes: Nodes, id: int) -> RawConnection:
    host, _, port = nodes.bootstraps[id].rpartition(":")
    return RawConnection(host, int(port))


# All nodes are there


@pytest.mark.parametrize("by", [server, controllers])
def test_the_quorum(tools: ToolJvm, nodes: Nodes, by: Callable[[Nodes], list[str]]) -> None:
    shown = status(done(tools.run(QUORUM, [*by(nodes), "describe", "--status"])))
    partition = DescribeQuorumRequest.PartitionData(partition_index=0)
    topic = DescribeQuorumRequest.TopicData(topic_name="__cluster_metadata", partitions=[partition])
    with connected(nodes, 1) as connection:
        told = connection.send(DescribeQuorumRequest(topics=[topic]), DescribeQuorumResponse, 2)
    ((quorum,),) = (one.partitions for one in told.topics)
    assert (int(shown["LeaderId"]), int(shown["LeaderEpoch"])) == (quorum.leader_id, quorum.leader_epoch)
    voters = {one["id"]: (one["directoryId"], one["endpoints"]) for one in json.loads(shown["CurrentVoters"])}
    assert voters == {
        one.replica_id: (uuid_text(one.replica_directory_id), [nodes.controller(one.replica_id)])
        for one in quorum.current_voters
    }
    rows = [row.split() for row in done(tools.run(QUORUM, [*by(nodes), "describe", "--replication"]))[1:]]
    roles = {one: "Leader" if one == quorum.leader_id else "Follower" for one in (1, 2, 3)}
    assert {int(row[0]): row[-1] for row in rows} == roles


def test_topics(tools: ToolJvm, nodes: Nodes) -> None:
    assert described_topics(done(tools.run(TOPICS, [*server(nodes), "--describe"]))) == told_topics(
        nodes.command_line.bootstrap
    )


def test_log_directories(tools: ToolJvm, nodes: Nodes) -> None:
    lines = done(tools.run(LOG_DIRS, [*server(nodes), "--describe"]))
    shown = {
        (broker["broker"], log_dir["logDir"], one["partition"]): (one["size"], one["offsetLag"])
        for broker in json.loads(lines[-1])["brokers"]
        for log_dir in broker["logDirs"]
        for one in log_dir["partitions"]
    }
    told: dict[tuple[int, str, str], tuple[int, int]] = {}
    for id in (1, 2, 3):
        with connected(nodes, id) as connection:
            response = connection.send(DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse, 4)
        told |= {
            (id, found.log_dir, f"{topic.name}-{one.partition_index}"): (one.partition_size, one.offset_lag)
            for found in response.results
            for topic in found.topics
            for one in topic.partitions
        }
    assert shown == told
    places = {(id, f"{topic}-0") for topic, (replicas, _) in PLACES.items() for id in replicas}
    assert {(id, partition) for id, _, partition in shown} == places


def test_endpoints(tools: ToolJvm, nodes: Nodes) -> None:
    brokers = done(tools.run(CLUSTER, ["list-endpoints", *server(nodes)]))
    assert listed(brokers) == nodes.bootstraps
    shown = listed(done(tools.run(CLUSTER, ["list-endpoints", *controllers(nodes)])))
    assert shown == {id: nodes.controller(id).removeprefix("CONTROLLER://") for id in (1, 2, 3)}


def listed(lines: list[str]) -> dict[int, str]:
    rows = [line.split() for line in lines[1:]]
    return {int(row[0]): f"{row[1]}:{row[2]}" for row in rows}


def test_features_are_taken_down_and_up(tools: ToolJvm, nodes: Nodes) -> None:
    feature = "--feature"
    done(tools.run(FEATURES, [*controllers(nodes), "downgrade", feature, "group.version=0"]))
    until(lambda: told_features(nodes)["group.version"] == 0)
    done(tools.run(FEATURES, [*server(nodes), "upgrade", feature, "group.version=1"]))
    until(lambda: told_features(nodes)["group.version"] == 1)
    rows = (line.split() for line in done(tools.run(FEATURES, [*server(nodes), "describe"])))
    shown = {row[1]: row[row.index("FinalizedVersionLevel:") + 1] for row in rows}
    levels = {
        name: "4.3-IV0" if name == "metadata.version" else str(level) for name, level in told_features(nodes).items()
    }
    assert shown == levels


def told_features(nodes: Nodes) -> dict[str, int]:
    (picture,) = nodes.command_line.ok("cluster", "info", "--json").rows
    return {one["name"]: one["level"] for one in picture["features"]}


def test_a_brokers_configuration_is_set_by_itself(tools: ToolJvm, nodes: Nodes) -> None:
    entity = ["--entity-type", "brokers"]
    added = ["--alter", "--add-config"]
    done(tools.run(CONFIGS, [*server(nodes), *entity, "--entity-name", "2", *added, "background.threads=12"]))
    done(tools.run(CONFIGS, [*server(nodes), *entity, "--entity-default", *added, "background.threads=11"]))
    until(lambda: told_configs(nodes, 2, "2") == {"background.threads": "12"})
    until(lambda: told_configs(nodes, 2, "") == {"background.threads": "11"})
    lines = done(tools.run(CONFIGS, [*server(nodes), *entity, "--entity-name", "2", "--describe"]))
    assert re.search("background.threads=12 .*DYNAMIC_DEFAULT_BROKER_CONFIG:background.threads=11", "\n".join(lines))


def told_configs(nodes: Nodes, id: int, name: str) -> dict[str, str | None]:
    """What was set at run time for this broker, or for all of them."""
    with connected(nodes, id) as connection:
        found = node_state.configs(connection, [(node_state.BROKER, name)])[node_state.BROKER, name]
        return found if name else {key: value for key, value in found.items() if key == "background.threads"}


# One is away

SELECTIONS: dict[str, Callable[[PartitionView, int], bool]] = {
    "--under-replicated-partitions": lambda view, min_isr: len(view.isr) < len(view.replicas),
    "--unavailable-partitions": lambda view, min_isr: view.leader == NO_LEADER,
    "--under-min-isr-partitions": lambda view, min_isr: view.leader == NO_LEADER or len(view.isr) < min_isr,
    "--at-min-isr-partitions": lambda view, min_isr: len(view.isr) == min_isr,
}
SELECTED = {
    "--under-replicated-partitions": {"at-least", "too-few"},
    "--unavailable-partitions": {"gone"},
    "--under-min-isr-partitions": {"gone", "too-few"},
    "--at-min-isr-partitions": {"at-least", "gone"},
}


def test_what_suffers_when_a_broker_goes(tools: ToolJvm, nodes: Nodes) -> None:
    nodes.stop(DOWN)
    until(lambda: told_topics(nodes.bootstraps[1])["gone"][0].leader == NO_LEADER)
    until(lambda: told_topics(nodes.bootstraps[1]) == told_topics(nodes.bootstraps[2]))
    told = told_topics(nodes.bootstraps[1])
    for option, is_selected in SELECTIONS.items():
        expected: Topics = {
            topic: partitions
            for topic, partitions in told.items()
            if topic in PLACES and is_selected(partitions[0], PLACES[topic][1])
        }
        shown = described_topics(done(tools.run(TOPICS, [*server(nodes), "--describe", option])))
        assert shown == expected
        assert set(shown) == SELECTED[option]


def test_a_broker_that_is_away_is_configured_by_the_controllers(tools: ToolJvm, nodes: Nodes) -> None:
    words = ["--entity-type", "brokers", "--entity-name", str(DOWN), "--alter", "--add-config", "background.threads=9"]
    done(tools.run(CONFIGS, [*controllers(nodes), *words]))
    nodes.begin(DOWN)
    assert told_configs(nodes, DOWN, str(DOWN)) == {"background.threads": "9"}
    until(lambda: told_topics(nodes.bootstraps[1])["at-least"][0].isr[-1] == DOWN)


# What lies in the files


def copied(nodes: Nodes, id: int, directory: Path) -> Path:
    """The node's metadata log: Kafka's shell wants to lock the directory that it looks at."""
    source = nodes.log_dir(id) / metadata_files.PARTITION
    shutil.copytree(source, directory / metadata_files.PARTITION)
    return directory


@pytest.mark.parametrize("id", [1, 2, 3])
def test_kafkas_decoder_reads_the_log_as_we_do(tools: ToolJvm, nodes: Nodes, id: int, tmp_path: Path) -> None:
    until(lambda: metadata_files.image(nodes.log_dir(id)).topics.by_name.keys() == PLACES.keys())
    log_dir = copied(nodes, id, tmp_path)
    files = [str(path) for path in metadata_files.segments(log_dir)]
    log = Replayed()
    log.replay(
        done(tools.run(DUMP, ["--cluster-metadata-decoder", "--skip-record-metadata", "--files", ",".join(files)]))
    )
    check(nodes, log)
    latest = metadata_files.snapshots(log_dir)[-1]
    assert latest.end_offset > 0
    snapshot = Replayed()
    path = log_dir / metadata_files.PARTITION / latest.file_name
    snapshot.replay(
        done(tools.run(DUMP, ["--cluster-metadata-decoder", "--skip-record-metadata", "--files", str(path)]))
    )
    assert set(snapshot.topics) <= set(log.topics)
    assert snapshot.controllers == {1, 2, 3}


def check(nodes: Nodes, replayed: Replayed) -> None:
    """Whether that is what our client is told."""
    assert replayed.topics == told_topics(nodes.command_line.bootstrap)
    assert replayed.brokers == {1: False, 2: False, 3: False}
    assert replayed.controllers == {1, 2, 3}
    assert replayed.features | {"kraft.version": 1} == told_features(nodes)
    assert replayed.configs[node_state.BROKER, "2"] == told_configs(nodes, 2, "2")
    assert replayed.configs[node_state.BROKER, str(DOWN)] == told_configs(nodes, DOWN, str(DOWN))


def test_the_metadata_shell_shows_what_our_client_is_told(tools: ToolJvm, nodes: Nodes, tmp_path: Path) -> None:
    log_dir = copied(nodes, 1, tmp_path)
    (segment,) = metadata_files.segments(log_dir)
    told = told_topics(nodes.command_line.bootstrap)

    def shown(*words: str) -> list[str]:
        return done(tools.run(SHELL, ["--snapshot", str(segment), *words]))

    def is_shown(topic: str, wanted: PartitionView) -> Callable[[], bool]:
        return lambda: shown_partition(shown("cat", f"/image/topics/byName/{topic}/0")) == wanted

    def are_nodes(path: str) -> Callable[[], bool]:
        return lambda: sorted(" ".join(shown("ls", path)).split()) == ["1", "2", "3"]

    # Each time the shell may look before it has read all.
    for topic, partitions in told.items():
        until(is_shown(topic, partitions[0]))
    for path in ("/image/cluster/brokers", "/image/cluster/controllers"):
        until(are_nodes(path))
    until(lambda: "4.3-IV0" in " ".join(shown("cat", "/image/features/metadataVersion")))
