"""Replicas for new partitions: as an administrator wants them, or as the placer does.

Shared by those who make topics and those who grow or move them. Knows brokers, not requests.
"""

from __future__ import annotations

from collections.abc import Sequence

from ottla.cluster.controller.draft import Draft
from ottla.cluster.image import Partition
from ottla.cluster.placement import UsableBroker, place
from ottla.wire.errors import ErrorCode, KafkaError


def check_manual_assignment(draft: Draft, replicas: Sequence[int], replication_factor: int | None = None) -> None:
    """INVALID_REPLICA_ASSIGNMENT unless these are brokers, each named once, as many as other partitions have."""
    if not replicas:
        raise _invalid("no replica in a manual assignment")
    for broker_id in replicas:
        if draft.broker(broker_id) is None:
            raise _invalid(f"broker {broker_id} of a manual assignment is not registered")
    if len(set(replicas)) != len(replicas):
        raise _invalid(f"a broker twice in the manual assignment {list(replicas)}")
    if replication_factor is not None and len(replicas) != replication_factor:
        raise _invalid(
            f"{len(replicas)} replicas in a manual assignment where other partitions have {replication_factor}"
        )


def manual_partition(
    draft: Draft, partition_id: int, replicas: Sequence[int], replication_factor: int | None
) -> Partition:
    """A new partition on brokers that were named; at least one of them has to be up."""
    check_manual_assignment(draft, replicas, replication_factor)
    partition = _new_partition(draft, replicas)
    if partition is None:
        raise _invalid(f"no broker of the manual assignment for partition {partition_id} is active")
    return partition


def placed_partitions(draft: Draft, *, partition_count: int, replication_factor: int) -> list[Partition]:
    """New partitions where the placer puts them. INVALID_REPLICATION_FACTOR if there are too few brokers."""
    assignments = place(
        usable_brokers(draft),
        draft.state.settings.random,
        partition_count=partition_count,
        replication_factor=replication_factor,
    )
    partitions = []
    for replicas in assignments:
        partition = _new_partition(draft, replicas)
        assert partition is not None, "the placer puts an active broker first"
        partitions.append(partition)
    return partitions


def usable_brokers(draft: Draft) -> list[UsableBroker]:
    """Those that may get replicas: not the ones that are on their way out, nor the cordoned ones (KIP-1066)."""
    return [
        UsableBroker(broker.id, broker.rack, broker.fenced)
        for broker in draft.state.image.brokers.by_id.values()
        if not broker.in_controlled_shutdown and broker.has_uncordoned_log_dirs
    ]


def _new_partition(draft: Draft, replicas: Sequence[int]) -> Partition | None:
    isr = tuple(broker_id for broker_id in replicas if draft.is_active(broker_id))
    if not isr:
        return None
    directories = tuple(draft.default_log_dir(broker_id) for broker_id in replicas)
    return Partition(tuple(replicas), directories, isr, leader=isr[0])


def _invalid(reason: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)
