"""Whether a member of a consumer group may commit or see offsets with the epoch it names.

A commit in an older epoch is good for partitions that the member had by then and has still (KIP-1251): its offsets are
then those of the partition's only owner. Members of the classic protocol hear of a generation where others hear of an
epoch.
"""

from __future__ import annotations

from ottla.coordinators.consumer_group.member import Member
from ottla.coordinators.group import PartitionCheck
from ottla.wire.errors import ErrorCode, KafkaError

EPOCH_COMMIT_VERSION_MIN = 9


def for_member(member: Member, epoch: int, *, is_transactional: bool, version: int) -> PartitionCheck | None:
    """Whether the member may commit; for each partition, if a check is returned."""
    if not is_transactional and member.classic is None and version < EPOCH_COMMIT_VERSION_MIN:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_VERSION,
            f"members of the consumer protocol commit with version {EPOCH_COMMIT_VERSION_MIN} or later",
        )
    if epoch == member.epoch:
        return None
    if epoch > member.epoch:
        raise _wrong_epoch(member, f"{epoch} is later than the member's epoch, {member.epoch}")

    def check(topic_name: str, topic_id: bytes, partition: int) -> None:
        since = member.epoch_of(topic_id, partition)
        if since is None:
            raise _wrong_epoch(member, f"the member does not have {topic_name}-{partition}")
        if epoch < since:
            raise _wrong_epoch(member, f"the member got {topic_name}-{partition} in epoch {since}, after {epoch}")

    return check


def same_epoch(member: Member, epoch: int) -> None:
    """Whether the member is in the epoch that it names."""
    if epoch != member.epoch:
        raise _wrong_epoch(member, f"the member is in epoch {member.epoch}, not {epoch}")


def _wrong_epoch(member: Member, text: str) -> KafkaError:
    code = ErrorCode.STALE_MEMBER_EPOCH if member.classic is None else ErrorCode.ILLEGAL_GENERATION
    return KafkaError(code, text)
