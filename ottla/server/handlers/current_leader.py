"""Who asks the wrong broker is told which one leads, and where that is (KIP-951): it need not ask for that first."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ottla.cluster.image.brokers import Broker

if TYPE_CHECKING:
    from ottla.server.context import Context


class CurrentLeader(NamedTuple):
    """As this broker knows it. There is no broker where nobody leads, or not on the listener of who asks."""

    leader_id: int
    leader_epoch: int
    broker: Broker | None

    def address(self, listener_name: str) -> tuple[str, int]:
        assert self.broker is not None
        endpoint = self.broker.listeners[listener_name]
        return endpoint.host, endpoint.port


def current_leader(context: Context, topic: str, topic_id: bytes, index: int) -> CurrentLeader | None:
    """The leader of a partition by its topic's name, or by its id where there is no name; None: there is none such."""
    image = context.broker.image
    known = image.topics.by_name.get(topic) if topic else image.topics.by_id.get(topic_id)
    placed = None if known is None else known.partitions.get(index)
    if placed is None:
        return None
    broker = image.brokers.by_id.get(placed.leader)
    is_reached = broker is not None and not broker.fenced and context.listener_name in broker.listeners
    return CurrentLeader(placed.leader, placed.leader_epoch, broker if is_reached else None)
