"""To whom a request belongs: a name for the broker that does not say where it is. The cluster finds that out."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple, TypeAlias

from ottla.client.metadata import TopicPartition


class CoordinatorType(IntEnum):
    """What FindCoordinator may be asked for; SHARE from version 6 on (KIP-932)."""

    GROUP = 0
    TRANSACTION = 1
    SHARE = 2


class AnyBroker(NamedTuple):
    """Whichever answers; before anything is known, a bootstrap server."""

    def __str__(self) -> str:
        return "any broker"


class Broker(NamedTuple):
    """The broker with this id."""

    node_id: int

    def __str__(self) -> str:
        return f"broker {self.node_id}"


class Controller(NamedTuple):
    """The broker that is named as controller. Under KRaft that is any broker, which forwards (KIP-590)."""

    def __str__(self) -> str:
        return "the controller"


class Leader(NamedTuple):
    """The leader of a partition."""

    partition: TopicPartition

    def __str__(self) -> str:
        return f"the leader of {self.partition}"


class Coordinator(NamedTuple):
    """The coordinator of a group, a transactional id or a share partition."""

    kind: CoordinatorType
    key: str

    def __str__(self) -> str:
        return f"the coordinator of {self.kind.name.lower()} {self.key}"


Target: TypeAlias = AnyBroker | Broker | Controller | Leader | Coordinator

ANY = AnyBroker()
CONTROLLER = Controller()


def leader(topic: str, partition: int) -> Leader:
    return Leader(TopicPartition(topic, partition))


def group(group_id: str) -> Coordinator:
    return Coordinator(CoordinatorType.GROUP, group_id)


def transaction(transactional_id: str) -> Coordinator:
    return Coordinator(CoordinatorType.TRANSACTION, transactional_id)
