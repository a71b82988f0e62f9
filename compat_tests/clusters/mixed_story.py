"""What happens in a cluster of both kinds, whichever of them its controller is: leaders move to and fro under load.

`order` is two brokers, one of each kind. What has to hold is asserted on the way.
"""

from __future__ import annotations

from pathlib import Path

from compat_tests.clusters import metadata_files
from compat_tests.clusters.mixed_cluster import CONTROLLER_ID, MixedCluster
from compat_tests.clusters.replicas import are_equal, create, lead, place
from compat_tests.clusters.streams import Streams
from compat_tests.turn_clients import LastingMember, LastingProducer, read_and_go
from ottla.wire.primitives import uuid_text
from tests.commands.three_nodes import until

Order = tuple[int, int]
SPREAD_PARTITIONS = 4
OFFSETS = "__consumer_offsets"


def turns(order: Order) -> tuple[Order, ...]:
    """Who leads: the first, the other, the first again."""
    one, other = order
    return (one, other), (other, one), (one, other)


def replicas_stay_equal(mixed: MixedCluster, plan: Path, topic: str, order: Order) -> None:
    """Producers of every codec go on while leaders move. All they sent is there, once, and the same on both."""
    create(mixed.bootstraps[order[0]], topic, order)
    with Streams(mixed.bootstrap, topic) as streams:
        # Every broker is asked: what is the controller's to say, each of them passes on.
        for replicas, asked in zip(turns(order), (*order, order[0]), strict=True):
            streams.give(50)
            lead(mixed.command_line(asked), plan, topic, replicas)
            streams.give(50)
            streams.flush()
            until(are_equal(mixed, topic, *order))
        assert streams.read() == streams.sent


def directories_are_known(mixed: MixedCluster, topic: str, order: Order) -> None:
    """Brokers spread their replicas over two directories, and say which lies where (KIP-858)."""
    words = ["--partitions", str(SPREAD_PARTITIONS), "--replication-factor", "2"]
    mixed.command_line(order[0]).ok("topics", "create", topic, *words)
    until(lambda: said_directories(mixed, topic) == kept_directories(mixed, topic, order))


def said_directories(mixed: MixedCluster, topic: str) -> dict[tuple[int, int], str]:
    """By broker and partition, the id of the directory as the controller has it."""
    image = metadata_files.image(mixed.log_dirs[CONTROLLER_ID][0])
    partitions = image.topics.by_name[topic].partitions
    return {
        (id, index): uuid_text(directory)
        for index, one in partitions.items()
        for id, directory in zip(one.replicas, one.directories, strict=True)
    }


def kept_directories(mixed: MixedCluster, topic: str, order: Order) -> dict[tuple[int, int], str]:
    """The same by where each replica is."""
    return {
        (id, index): directory_id(place(mixed, id, topic, index).parent)
        for id in order
        for index in range(SPREAD_PARTITIONS)
    }


def directory_id(log_dir: Path) -> str:
    lines = (log_dir / "meta.properties").read_text().splitlines()
    return next(line.removeprefix("directory.id=") for line in lines if line.startswith("directory.id="))


def a_group_goes_on(mixed: MixedCluster, plan: Path, topic: str, protocol: str, order: Order) -> None:
    """A member stays and others come and go while the group's coordinator moves. Nobody reads anything twice."""
    create(mixed.bootstraps[order[1]], topic, order)
    producer = LastingProducer(mixed.bootstrap, topic)
    member = LastingMember(mixed.bootstrap, topic, protocol)
    try:
        for replicas in turns(order):
            producer.give(10)
            producer.flush()
            member.read(10)
            assert read_and_go(mixed.bootstrap, topic, protocol, 10) == producer.given[-10:]
            lead(mixed.command_line(), plan, OFFSETS, replicas)
            until(are_equal(mixed, OFFSETS, *order))
        assert member.values == producer.given
        assert member.assignments == 1
    finally:
        member.close()
