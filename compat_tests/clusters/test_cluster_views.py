"""What Kafka's tools show of a cluster of Ottla is what our own client is told, on its wire and in its files.

Three nodes, one of which goes away; configurations and features are changed by the tools meanwhile. The tests are one
story, in their order.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

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
from ottla.cluster.image import MetadataImage
from ottla.cluster.image.jump import image_of
from ottla.cluster.image.snapshot_file import read_snapshot
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
# What a new cluster with eligible leader replicas has set for all brokers.
OF_ALL_BROKERS = {"min.insync.replicas": "1"}


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


class Quorum(NamedTuple):
    leader: int
    epoch: int
    voters: dict[int, tuple[str, list[str]]]


def told_quorum(nodes: Nodes) -> Quorum:
    partition = DescribeQuorumRequest.PartitionData(partition_index=0)
    topic = DescribeQuorumRequest.TopicData(topic_name="__cluster_metadata", partitions=[partition])
    with connected(nodes, 1) as connection:
        told = connection.send(DescribeQuorumRequest(topics=[topic]), DescribeQuorumResponse, 2)
    ((quorum,),) = (one.partitions for one in told.topics)
    voters = {
        one.replica_id: (uuid_text(one.replica_directory_id), [nodes.controller(one.replica_id)])
        for one in quorum.current_voters
    }
    return Quorum(quorum.leader_id, quorum.leader_epoch, voters)


@pytest.mark.parametrize("by", [server, controllers])
def test_the_quorum(tools: ToolJvm, nodes: Nodes, by: Callable[[Nodes], list[str]]) -> None:
    def shown() -> Quorum:
        rows = status(done(tools.run(QUORUM, [*by(nodes), "describe", "--status"])))
        voters = {one["id"]: (one["directoryId"], one["endpoints"]) for one in json.loads(rows["CurrentVoters"])}
        return Quorum(int(rows["LeaderId"]), int(rows["LeaderEpoch"]), voters)

    def roles() -> dict[int, str]:
        rows = [row.split() for row in done(tools.run(QUORUM, [*by(nodes), "describe", "--replication"]))[1:]]
        return {int(row[0]): row[-1] for row in rows}

    until(lambda: shown() == told_quorum(nodes))
    until(lambda: roles() == {id: "Leader" if id == told_quorum(nodes).leader else "Follower" for id in (1, 2, 3)})


def test_topics(tools: ToolJvm, nodes: Nodes) -> None:
    def shown() -> Topics:
        return described_topics(done(tools.run(TOPICS, [*server(nodes), "--describe"])))

    until(lambda: shown() == told_topics(nodes.command_line.bootstrap))


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
    until(lambda: told_configs(nodes, 2, "") == {"background.threads": "11", **OF_ALL_BROKERS})
    lines = done(tools.run(CONFIGS, [*server(nodes), *entity, "--entity-name", "2", "--describe"]))
    assert re.search("background.threads=12 .*DYNAMIC_DEFAULT_BROKER_CONFIG:background.threads=11", "\n".join(lines))


def told_configs(nodes: Nodes, id: int, name: str) -> dict[str, str | None]:
    """What was set at run time for this broker, or for all of them."""
    with connected(nodes, id) as connection:
        found = node_state.configs(connection, [(node_state.BROKER, name)])[node_state.BROKER, name]
    own = {"background.threads"} if name else {"background.threads", *OF_ALL_BROKERS}
    return {key: value for key, value in found.items() if key in own}


# One is away

SELECTIONS: dict[str, Callable[[PartitionView, int], bool]] = {
    "--under-replicated-partitions": lambda view, min_isr: len(view.isr) < len(view.replicas),
    "--unavailable-partitions": lambda view, min_isr: view.leader == NO_LEADER,
    "--under-min-isr-partitions": lambda view, min_isr: view.leader == NO_LEADER or len(view.isr) < min_isr,
    "--at-min-isr-partitions": lambda view, min_isr: len(view.isr) == min_isr,
}
# The last replica of "gone" is eligible, and in sync with nobody (KIP-966).
SELECTED = {
    "--under-replicated-partitions": {"at-least", "gone", "too-few"},
    "--unavailable-partitions": {"gone"},
    "--under-min-isr-partitions": {"gone", "too-few"},
    "--at-min-isr-partitions": {"at-least"},
}


@pytest.fixture(scope="module")
def without_one(nodes: Nodes) -> None:
    nodes.stop(DOWN)
    until(lambda: told_topics(nodes.bootstraps[1])["gone"][0].leader == NO_LEADER)


@pytest.mark.usefixtures("without_one")
@pytest.mark.parametrize("option", SELECTIONS)
def test_what_suffers_when_a_broker_goes(tools: ToolJvm, nodes: Nodes, option: str) -> None:
    def told() -> Topics:
        return {
            topic: partitions
            for topic, partitions in told_topics(nodes.bootstraps[1]).items()
            if SELECTIONS[option](partitions[0], PLACES[topic][1])
        }

    def shown() -> Topics:
        words = ["--bootstrap-server", nodes.bootstraps[1], "--describe", option]
        return described_topics(done(tools.run(TOPICS, words)))

    until(lambda: shown() == told() and told().keys() == SELECTED[option])


@pytest.mark.usefixtures("without_one")
def test_a_broker_that_is_away_is_configured_by_the_controllers(tools: ToolJvm, nodes: Nodes) -> None:
    words = ["--entity-type", "brokers", "--entity-name", str(DOWN), "--alter", "--add-config", "background.threads=9"]
    done(tools.run(CONFIGS, [*controllers(nodes), *words]))
    nodes.begin(DOWN)
    assert told_configs(nodes, DOWN, str(DOWN)) == {"background.threads": "9"}


# What lies in the files


def copied(nodes: Nodes, id: int, directory: Path) -> Path:
    """The node's metadata log as it is now: Kafka's shell wants to lock the directory that it looks at."""
    log_dir = Path(tempfile.mkdtemp(dir=directory))
    shutil.copytree(nodes.log_dir(id) / metadata_files.PARTITION, log_dir / metadata_files.PARTITION)
    return log_dir


def decoded(tools: ToolJvm, *paths: Path) -> Replayed:
    replayed = Replayed()
    words = ["--cluster-metadata-decoder", "--skip-record-metadata", "--files", ",".join(map(str, paths))]
    replayed.replay(done(tools.run(DUMP, words)))
    return replayed


@pytest.mark.parametrize("id", [1, 2, 3])
def test_kafkas_decoder_reads_the_log_as_we_do(tools: ToolJvm, nodes: Nodes, id: int, tmp_path: Path) -> None:
    until(lambda: is_told(nodes, decoded(tools, *metadata_files.segments(copied(nodes, id, tmp_path)))))


def is_told(nodes: Nodes, replayed: Replayed) -> bool:
    """Whether that is what our client is told; brokers may come and go meanwhile."""
    assert replayed.controllers == {1, 2, 3}
    assert replayed.features | {"kraft.version": 1} == told_features(nodes)
    configs = {(kind, name): values for (kind, name), values in replayed.configs.items() if kind == node_state.BROKER}
    assert configs == {
        (node_state.BROKER, ""): told_configs(nodes, 2, ""),
        (node_state.BROKER, "2"): told_configs(nodes, 2, "2"),
        (node_state.BROKER, str(DOWN)): told_configs(nodes, DOWN, str(DOWN)),
    }
    (picture,) = nodes.command_line.ok("cluster", "info", "--json").rows
    brokers = {one["id"]: one["isFenced"] for one in picture["brokers"]}
    return replayed.topics == told_topics(nodes.command_line.bootstrap) and replayed.brokers == brokers


def test_kafkas_decoder_reads_a_snapshot_as_we_do(tools: ToolJvm, nodes: Nodes, tmp_path: Path) -> None:
    until(lambda: metadata_files.snapshots(nodes.log_dir(1))[-1].end_offset > 0)
    log_dir = copied(nodes, 1, tmp_path)
    latest = metadata_files.snapshots(log_dir)[-1]
    path = log_dir / metadata_files.PARTITION / latest.file_name
    image = image_of(latest, read_snapshot(path.read_bytes()))
    replayed = decoded(tools, path)
    assert replayed.topics == topics_of(image)
    assert replayed.brokers == {id: broker.fenced for id, broker in image.brokers.by_id.items()}
    assert replayed.features == image.feature_levels
    assert replayed.controllers == image.controllers.keys()


def topics_of(image: MetadataImage) -> Topics:
    return {
        name: {
            index: PartitionView(one.leader, list(one.replicas), list(one.isr))
            for index, one in topic.partitions.items()
        }
        for name, topic in image.topics.by_name.items()
    }


def test_the_metadata_shell_shows_what_our_client_is_told(tools: ToolJvm, nodes: Nodes, tmp_path: Path) -> None:
    copies: list[Path] = []

    def is_copied_as_told() -> bool:
        copies.append(copied(nodes, 1, tmp_path))
        return topics_of(metadata_files.image(copies[-1])) == told_topics(nodes.command_line.bootstrap)

    until(is_copied_as_told)
    (segment,) = metadata_files.segments(copies[-1])

    def shown(*words: str) -> list[str]:
        return done(tools.run(SHELL, ["--snapshot", str(segment), *words]))

    def is_shown(topic: str, wanted: PartitionView) -> Callable[[], bool]:
        return lambda: shown_partition(shown("cat", f"/image/topics/byName/{topic}/0")) == wanted

    def are_nodes(path: str) -> Callable[[], bool]:
        return lambda: sorted(" ".join(shown("ls", path)).split()) == ["1", "2", "3"]

    # Each time the shell may look before it has read all.
    for topic, partitions in topics_of(metadata_files.image(copies[-1])).items():
        until(is_shown(topic, partitions[0]))
    for path in ("/image/cluster/brokers", "/image/cluster/controllers"):
        until(are_nodes(path))
    until(lambda: "4.3-IV0" in " ".join(shown("cat", "/image/features/metadataVersion")))
