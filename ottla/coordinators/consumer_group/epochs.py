"""When the epoch of a group grows, and which epoch a member may come with.

The group's epoch grows when its members, what they want, or the topics they want change: a new target is due then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ottla.coordinators.consumer_group import records
from ottla.coordinators.consumer_group.group import ConsumerGroup, Refresh
from ottla.coordinators.consumer_group.member import JOINING_EPOCH, EpochedPartitions, Member
from ottla.coordinators.contract import Record
from ottla.coordinators.settings import INT_MAX
from ottla.wire.errors import ErrorCode, KafkaError

# Changes of topics are told; to look without being told is for what was missed, as in Kafka.
REFRESH_INTERVAL_MS = INT_MAX


def bump_for(group: ConsumerGroup, metadata_hash: int, drafted: list[Record], now_ms: int) -> int:
    """Draft the next epoch of the group, for topics with this hash; says which it is."""
    epoch = group.epoch + 1
    drafted.append(records.group_epoch(group.group_id, epoch, metadata_hash))
    group.refresh = Refresh(now_ms + REFRESH_INTERVAL_MS, epoch)
    return epoch


def check_member_epoch(member: Member, epoch: int, owned: Mapping[bytes, Iterable[int]] | None) -> None:
    """Whether a member may come with this epoch; the one before is good while it owns nothing it should not.

    The answer that brought the new epoch may have been lost. KafkaError(FENCED_MEMBER_EPOCH) otherwise.
    """
    if epoch in (JOINING_EPOCH, member.epoch):
        return
    if (
        epoch == member.previous_epoch
        and epoch < member.epoch
        and owned is not None
        and _is_part(owned, member.assigned)
    ):
        return
    raise KafkaError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"the member came with epoch {epoch} and is in {member.epoch}; it has to give up its partitions and join again",
    )


def _is_part(owned: Mapping[bytes, Iterable[int]], assigned: EpochedPartitions) -> bool:
    return all(topic in assigned and set(partitions) <= assigned[topic].keys() for topic, partitions in owned.items())
