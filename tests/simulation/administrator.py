"""Whoever runs the simulated cluster: makes and deletes topics, moves replicas, adds and removes voters, one at a time.

An operation is asked for again, of whoever some node believes to lead, until there is an answer. What is acknowledged
is committed: the cluster's image says so at that moment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any, Protocol

from ottla.cluster.controller.elections import PREFERRED
from ottla.cluster.image import MetadataImage
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.configs import IncrementalAlterConfigsRequest
from ottla.wire.messages.partition_admin import AlterPartitionReassignmentsRequest, ElectLeadersRequest
from ottla.wire.messages.quorum import AddRaftVoterRequest, RemoveRaftVoterRequest
from ottla.wire.messages.topics import CreateTopicsRequest, CreateTopicsResponse, DeleteTopicsRequest
from ottla.wire.schema import Request
from tests.cluster.controller.small_cluster import directory
from tests.simulation.controller import TOPIC
from tests.simulation.quorum_replica import LISTENER

PLACE = 300
TIMEOUT_MS = 500
RETRY_MS = 40
OTHER_TOPICS_MAX = 4


class Around(Protocol):
    dice: Random
    counts: Counter[str]

    @property
    def image(self) -> MetadataImage: ...

    @property
    def broker_ids(self) -> list[int]: ...

    @property
    def controller_ids(self) -> list[int]: ...

    @property
    def voter_ids(self) -> list[int]: ...

    def administer(self, request: Request, done: Callable[[Any], None]) -> None:
        """Ask whoever seems to lead; None is the answer of one who does not."""

    def after(self, delay_ms: int, action: Callable[[], None]) -> None: ...


class Administrator:
    def __init__(self, around: Around) -> None:
        self._around = around
        self._request: Request | None = None
        self._attempt_count = 0
        self._topic_count = 0

    @property
    def is_idle(self) -> bool:
        return self._request is None

    def create(self, name: str, replicas: list[int], **configs: str) -> None:
        """Configs with underscores for dots."""
        topic = CreateTopicsRequest.CreatableTopic(
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[CreateTopicsRequest.CreatableReplicaAssignment(partition_index=0, broker_ids=replicas)],
            configs=[
                CreateTopicsRequest.CreatableTopicConfig(name=key.replace("_", "."), value=value)
                for key, value in configs.items()
            ],
        )
        self.do(CreateTopicsRequest(topics=[topic]))

    def do(self, request: Request) -> None:
        """Begin an operation, unless there is one."""
        if self._request is None:
            self._request = request
            self._attempt()

    # What it thinks of

    def create_some(self) -> None:
        self._topic_count += 1
        dice, ids = self._around.dice, self._around.broker_ids
        self.create(f"other-{self._topic_count}", dice.sample(ids, dice.randint(1, min(3, len(ids)))))

    def delete_some(self) -> None:
        names = [name for name in self._around.image.topics.by_name if name != TOPIC]
        if names:
            self.do(DeleteTopicsRequest(topics=[], topic_names=[self._around.dice.choice(sorted(names))], timeout_ms=1))

    def configure(self) -> None:
        value = str(self._around.dice.randrange(1000))
        kind = IncrementalAlterConfigsRequest
        config = kind.AlterableConfig(name="retention.ms", config_operation=0, value=value)
        resource = kind.AlterConfigsResource(resource_type=2, resource_name=TOPIC, configs=[config])
        self.do(kind(resources=[resource], validate_only=False))

    def reassign(self) -> None:
        dice, kind = self._around.dice, AlterPartitionReassignmentsRequest
        target = None if dice.randrange(6) == 0 else dice.sample(self._around.broker_ids, 3)
        partition = kind.ReassignablePartition(partition_index=0, replicas=target)
        self.do(kind(topics=[kind.ReassignableTopic(name=TOPIC, partitions=[partition])]))

    def elect(self) -> None:
        self.do(ElectLeadersRequest(election_type=PREFERRED, topic_partitions=None))

    def change_voters(self) -> None:
        id = self._around.dice.choice(self._around.controller_ids)
        if id in self._around.voter_ids:
            self.do(RemoveRaftVoterRequest(cluster_id=None, voter_id=id, voter_directory_id=directory(id)))
            return
        self.do(
            AddRaftVoterRequest(
                cluster_id=None,
                timeout_ms=1000,
                voter_id=id,
                voter_directory_id=directory(id),
                listeners=[AddRaftVoterRequest.Listener(name=LISTENER, host="node", port=id)],
            )
        )

    def do_something(self) -> None:
        others = len(self._around.image.topics.by_name) - 1
        self._around.dice.choice(
            [self.create_some if others < OTHER_TOPICS_MAX else self.delete_some, self.configure, self.elect]
        )()

    # How it is done

    def _attempt(self) -> None:
        assert self._request is not None
        self._attempt_count += 1
        count = self._attempt_count
        self._around.administer(self._request, lambda response: self._answered(count, response))
        self._again(TIMEOUT_MS, count)

    def _again(self, delay_ms: int, count: int) -> None:
        self._around.after(delay_ms, lambda: self._attempt() if count == self._attempt_count else None)

    def _answered(self, count: int, response: Any) -> None:
        if count != self._attempt_count:
            return
        if response is None or _is_passing(response):
            self._again(RETRY_MS, count)
            return
        self._attempt_count += 1
        request, self._request = self._request, None
        is_done = getattr(response, "error_code", 0) == ErrorCode.NONE
        self._around.counts[f"{type(request).__name__.removesuffix('Request')} {'done' if is_done else 'refused'}"] += 1
        if isinstance(response, CreateTopicsResponse) and not response.topics[0].error_code:
            known = self._around.image.topics.by_id
            assert response.topics[0].topic_id in known, "a topic is acknowledged that is not committed"


def _is_passing(response: Any) -> bool:
    """Whether it is worth asking again; Kafka says that a change of voters timed out where another is under way."""
    code = ErrorCode.of(getattr(response, "error_code", 0))
    return code.retriable and code is not ErrorCode.REQUEST_TIMED_OUT
