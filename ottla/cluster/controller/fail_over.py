"""What happens to all partitions of a broker when it comes, goes, or loses a directory.

Each function adds to a draft: the changes of leaders and ISRs, and the record about the broker itself, in the order in
which Kafka writes them. Who decides that it has come to this is in `brokers`, `heartbeats` and `log_dirs`.
"""

from __future__ import annotations

from collections.abc import Iterable

from ottla.cluster.controller.draft import Draft
from ottla.cluster.controller.partition_change import Election
from ottla.cluster.controller.partition_index import PartitionKey
from ottla.cluster.image import NO_LEADER, Broker, Topic
from ottla.cluster.image.brokers import ENTER_CONTROLLED_SHUTDOWN, FENCE, UNFENCE
from ottla.wire.stored.metadata_records import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    UnregisterBrokerRecord,
)


def fence(draft: Draft, broker: Broker) -> None:
    move_leaders(draft, draft.state.index.in_isr(broker.id), without=broker.id)
    draft.change_broker(_change(broker, fenced=FENCE))


def unfence(draft: Draft, broker: Broker) -> None:
    # One that is told to shut down does not lead again, fenced or not: the draft knows both.
    draft.change_broker(_change(broker, fenced=UNFENCE))
    move_leaders(draft, draft.state.index.leaderless())


def enter_controlled_shutdown(draft: Draft, broker: Broker) -> None:
    draft.change_broker(_change(broker, in_controlled_shutdown=ENTER_CONTROLLED_SHUTDOWN))
    move_leaders(draft, draft.state.index.in_isr(broker.id), without=broker.id)


def unregister(draft: Draft, broker: Broker) -> None:
    index = draft.state.index
    move_leaders(draft, index.in_isr(broker.id), without=broker.id)
    move_leaders(draft, index.in_elr(broker.id), without=broker.id)
    draft.add(UnregisterBrokerRecord(broker_id=broker.id, broker_epoch=broker.epoch))


def restart(draft: Draft, broker_id: int, *, was_clean: bool) -> None:
    """A new incarnation replaces the last. Unless that wrote everything to disk before it ended, nobody may count on
    what it has (KIP-966): it leaves ISR and ELR."""
    index = draft.state.index
    if draft.state.image.elr_enabled and not was_clean:
        move_leaders(draft, index.in_isr(broker_id), unclean=broker_id)
        move_leaders(draft, index.in_elr(broker_id), unclean=broker_id)
    else:
        move_leaders(draft, index.in_isr(broker_id), without=broker_id)


def take_directories_offline(draft: Draft, broker: Broker, offline: Iterable[bytes]) -> None:
    """Directories that the broker says it lost; those that it had not reported as there are no news."""
    gone = [directory for directory in broker.log_dirs if directory in set(offline)]
    if not gone:
        return
    for directory in gone:
        move_leaders(draft, draft.state.index.in_directory(directory), without=broker.id)
    remaining = [directory for directory in broker.log_dirs if directory not in gone]
    if remaining:  # a record cannot say that none is left; such a broker stops by itself
        draft.change_broker(_change(broker, log_dirs=remaining))


def move_leaders(
    draft: Draft,
    partitions: Iterable[PartitionKey],
    *,
    without: int = NO_LEADER,
    unclean: int = NO_LEADER,
) -> None:
    """New ISRs and, where needed, leaders: without a broker, or without one whose log may have lost its end."""
    state = draft.state

    def may_lead(broker_id: int) -> bool:
        return broker_id not in (without, unclean) and draft.is_active(broker_id)

    for topic_id, partition_id in partitions:
        topic = state.image.topics.by_id[topic_id]
        change = draft.change(topic, partition_id, may_lead)
        change.isr = [replica for replica in change.isr if replica not in (without, unclean)]
        change.unclean_shutdown_replica = unclean
        if draft.allows_unclean_election(topic):
            change.election = Election.UNCLEAN
        draft.commit(change)
        if unclean != NO_LEADER:
            _trust_another(draft, topic, partition_id, unclean)


def _trust_another(draft: Draft, topic: Topic, partition_id: int, unclean: int) -> None:
    """Let another be the last leader, to whom a partition goes back when nobody is eligible any longer.

    Kafka goes back to the one that led last, even if that restarted uncleanly before the others did. No choice is safe
    then; but of several that may have lost the ends of their logs, this one is the first of whom it is known.
    """
    partition = draft.partition(topic, partition_id)
    assert partition is not None
    if partition.last_known_elr == (unclean,) and partition.elr:
        last_known = [partition.elr[0]]
        draft.change_partition(
            partition, PartitionChangeRecord(topic_id=topic.id, partition_id=partition_id, last_known_elr=last_known)
        )


def _change(
    broker: Broker, *, fenced: int = 0, in_controlled_shutdown: int = 0, log_dirs: list[bytes] | None = None
) -> BrokerRegistrationChangeRecord:
    return BrokerRegistrationChangeRecord(
        broker_id=broker.id,
        broker_epoch=broker.epoch,
        fenced=fenced,
        in_controlled_shutdown=in_controlled_shutdown,
        log_dirs=log_dirs or [],
    )
