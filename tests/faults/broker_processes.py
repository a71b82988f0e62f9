"""Three Ottla processes that are one cluster, each in its own network namespace, and what can be done to them.

Each is broker and controller. A process can be killed, paused and stopped, and started again on what it left; starting
does not wait, since a broker alone has no quorum. `picture` is what the brokers that answer say about the cluster;
under faults it may be old, or missing. Whoever starts processes must outlive them: they end with the thread that did.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from ottla.client.blocking import Client
from ottla.client.settings import Settings
from ottla.wire.errors import KafkaError
from ottla.wire.messages.metadata import DescribeClusterRequest, DescribeTopicPartitionsRequest
from ottla.wire.messages.quorum import DescribeQuorumRequest
from ottla.wire.messages.topics import CreateTopicsRequest
from tests.faults.namespaces import Network, a_network
from tests.server.node_process import NodeProcess

CLUSTER_ID = "abcdefghijklmnopqrstuw"
PORT, CONTROLLER_PORT = 9092, 9093
IDS = (1, 2, 3)
# Far beyond what anything takes on a busy machine: what is not there by then does not come.
SECONDS_MAX = 240
# For questions about the cluster, to brokers that may be silent.
IMPATIENT = Settings(connect_timeout_ms=2_000, request_timeout_ms=2_000, retry_timeout_ms=2_000)

T = TypeVar("T")


class BrokerProcess:
    def __init__(self, id: int, network: Network, settings: Mapping[str, str]) -> None:
        self.id = id
        self.name = str(id)
        self.address = f"{network.address(self.name)}:{PORT}"
        self.directory = Path(settings["log.dirs"])
        self.is_paused = False
        self._inside = network.inside(self.name)
        self._words = [word for key, value in settings.items() for word in (f"--{key}", value)]
        self._lives: list[NodeProcess] = []
        self._running: NodeProcess | None = None

    @property
    def is_up(self) -> bool:
        return self._running is not None

    @property
    def answers(self) -> bool:
        return self.is_up and not self.is_paused

    def start(self) -> None:
        assert not self.is_up, f"broker {self.id} runs already"
        self._running = NodeProcess(*self._words, inside=self._inside)
        self._lives.append(self._running)

    def kill(self) -> None:
        self._ended().kill()

    def stop(self) -> None:
        """As an administrator does it."""
        running = self._ended()
        status = running.stop()
        # One that has not come so far as to listen for signals ends as any process would.
        is_early = status == -signal.SIGTERM and not running.printed
        assert status == 0 or is_early, f"broker {self.id} ended with {status}: {running.printed[-50:]}"

    def _ended(self) -> NodeProcess:
        """The process, which is about to end; what is paused must go on to hear of it."""
        self.resume()
        assert self._running is not None, f"broker {self.id} does not run"
        running, self._running = self._running, None
        return running

    def pause(self) -> None:
        assert self._running is not None
        self._running.send(signal.SIGSTOP)
        self.is_paused = True

    def resume(self) -> None:
        if self.is_paused:
            assert self._running is not None
            self._running.send(signal.SIGCONT)
            self.is_paused = False

    def complaints(self) -> list[str]:
        """What no broker should print, whatever is done to it."""
        return [
            f"broker {self.id}: {line}"
            for life in self._lives
            for line in life.printed
            if "Traceback" in line or "Error:" in line
        ]

    def printed(self) -> list[str]:
        return [f"[{self.id}.{number}] {line}" for number, life in enumerate(self._lives, 1) for line in life.printed]

    def close(self) -> None:
        for life in self._lives:
            life.close()


@dataclass(frozen=True)
class SeenPartition:
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    elr: tuple[int, ...]


@dataclass(frozen=True)
class Picture:
    """A cluster as one broker knows it: the partitions of a topic, and the quorum."""

    partitions: dict[int, SeenPartition] = field(default_factory=dict)
    registered: tuple[int, ...] = ()
    controller: int = -1
    controller_epoch: int = -1

    def leader(self, partition: int) -> int:
        return self.partitions[partition].leader if partition in self.partitions else -1

    @property
    def is_whole(self) -> bool:
        """Every partition has all its replicas in sync."""
        found = self.partitions.values()
        return bool(found) and all(len(one.isr) == len(IDS) and one.leader in one.isr for one in found)


class BrokerProcesses:
    def __init__(self, brokers: dict[int, BrokerProcess], network: Network, topic: str) -> None:
        self.brokers = brokers
        self.network = network
        self.topic = topic

    @property
    def bootstrap(self) -> str:
        return ",".join(broker.address for broker in self.brokers.values())

    @property
    def ups(self) -> list[BrokerProcess]:
        return [broker for broker in self.brokers.values() if broker.is_up]

    def start(self, *ids: int) -> None:
        for id in ids or self.brokers:
            if not self.brokers[id].is_up:
                self.brokers[id].start()

    def create_topic(self, partitions: int, **configs: str) -> None:
        topic = CreateTopicsRequest.CreatableTopic(
            name=self.topic,
            num_partitions=partitions,
            replication_factor=len(self.brokers),
            assignments=[],
            configs=[
                CreateTopicsRequest.CreatableTopicConfig(name=key.replace("_", "."), value=value)
                for key, value in configs.items()
            ],
        )
        until(lambda: len(self.picture().registered) == len(self.brokers), "every broker to be registered", self)
        with self.client() as client:
            response = client.request(CreateTopicsRequest(topics=[topic], timeout_ms=60_000))
        assert response.topics[0].error_code == 0, response.topics[0].error_message
        until(lambda: self.picture().is_whole, "replicas of the new topic in sync", self)

    def client(self, settings: Settings | None = None) -> Client:
        return Client(self.bootstrap, settings or Settings(retry_timeout_ms=SECONDS_MAX * 1000))

    def picture(self) -> Picture:
        """The newest that a broker which answers has."""
        pictures = [self._picture_of(broker) for broker in self.brokers.values() if broker.answers]
        return max((one for one in pictures if one), key=_age_of, default=Picture())

    def _picture_of(self, broker: BrokerProcess) -> Picture | None:
        """As this broker has it, and no other; None if it says nothing."""
        topics = [DescribeTopicPartitionsRequest.TopicRequest(name=self.topic)]
        try:
            with Client(broker.address, IMPATIENT) as client, client.connect(broker.address) as connection:
                cluster = connection.request(DescribeClusterRequest(include_cluster_authorized_operations=False))
                answer = connection.request(DescribeTopicPartitionsRequest(topics=topics))
                quorum = connection.request(a_question_about_the_quorum())
        except KafkaError:
            return None
        (metadata,) = quorum.topics[0].partitions if quorum.topics else (None,)
        return Picture(
            {
                one.partition_index: SeenPartition(
                    one.leader_id,
                    one.leader_epoch,
                    tuple(one.isr_nodes),
                    tuple(one.eligible_leader_replicas or ()),
                )
                for one in answer.topics[0].partitions
            },
            tuple(one.broker_id for one in cluster.brokers),
            -1 if metadata is None else metadata.leader_id,
            -1 if metadata is None else metadata.leader_epoch,
        )

    def printed(self) -> str:
        return "\n".join(line for broker in self.brokers.values() for line in broker.printed()[-40:])

    def complaints(self) -> list[str]:
        return [line for broker in self.brokers.values() for line in broker.complaints()]


def _age_of(picture: Picture) -> tuple[int, int]:
    return picture.controller_epoch, sum(one.leader_epoch for one in picture.partitions.values())


def a_question_about_the_quorum() -> DescribeQuorumRequest:
    partition = DescribeQuorumRequest.PartitionData(partition_index=0)
    topic = DescribeQuorumRequest.TopicData(topic_name="__cluster_metadata", partitions=[partition])
    return DescribeQuorumRequest(topics=[topic])


def until(
    condition: Callable[[], T], what: str, cluster: BrokerProcesses | None = None, seconds_max: float = SECONDS_MAX
) -> T:
    """Wait for something that a cluster brings about; asking it is what takes the time."""
    deadline = time.monotonic() + seconds_max
    while not (found := condition()):
        if time.monotonic() > deadline:
            more = f"\n{cluster.picture()}\n{cluster.printed()}" if cluster else ""
            raise AssertionError(f"waited {seconds_max} seconds for {what}{more}")
    return found


@contextlib.contextmanager
def broker_processes(directory: Path, topic: str, **settings: str) -> Iterator[BrokerProcesses]:
    """A cluster that has been told to start, in a network of its own."""
    with a_network([str(id) for id in IDS]) as network:
        voters = ",".join(f"{id}@{network.address(str(id))}:{CONTROLLER_PORT}" for id in IDS)
        brokers = {
            id: BrokerProcess(id, network, settings_of(id, network.address(str(id)), voters, directory, settings))
            for id in IDS
        }
        cluster = BrokerProcesses(brokers, network, topic)
        try:
            cluster.start()
            yield cluster
        finally:
            for broker in brokers.values():
                broker.close()


def settings_of(id: int, host: str, voters: str, directory: Path, more: Mapping[str, str]) -> dict[str, str]:
    return {
        "node.id": str(id),
        "process.roles": "broker,controller",
        "cluster.id": CLUSTER_ID,
        "log.dirs": str(directory / f"broker-{id}"),
        "listeners": f"PLAINTEXT://{host}:{PORT},CONTROLLER://{host}:{CONTROLLER_PORT}",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": voters,
        **{key.replace("_", "."): value for key, value in more.items()},
    }
