"""What groups have committed in the source, committed in the target: the offset of the copy of the same record.

Offsets differ between a log and its copy, wherever records were deleted, compacted or part of transactions. Copies
say where they came from, in order, so the place is found by halving. A group that has members in the target has moved
there already, and is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ottla.client.blocking import Client
from ottla.client.cluster import Cluster
from ottla.client.consume import PartitionReader
from ottla.client.groups import commit_offsets, committed_offsets, list_groups
from ottla.client.metadata import TopicPartition
from ottla.client.offsets import EARLIEST, LATEST, list_offsets
from ottla.pipelines.source_header import source_of
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import Record

GROUP_PREFIX = "ottla-mirror."
HAS_MEMBERS = {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NON_EMPTY_GROUP, ErrorCode.STALE_MEMBER_EPOCH}


class GroupCopier:
    """Remembers what it has committed, so that a group at rest costs nothing."""

    def __init__(self, source: Client, target: Client, pattern: str | None) -> None:
        self.source = source
        self.target = target
        self.pattern = pattern
        self._copied: dict[tuple[str, TopicPartition], int] = {}

    def copy(self, names: Mapping[str, str], next_offsets: Mapping[TopicPartition, int]) -> int:
        """Commit what has changed and is copied; returns for how many groups."""
        if self.pattern is None:
            return 0
        groups = [one.group_id for one in self.source.call(list_groups) if self._is_meant(one.group_id)]
        return sum(self._copy_group(group_id, names, next_offsets) for group_id in groups)

    def _is_meant(self, group_id: str) -> bool:
        assert self.pattern is not None
        return not group_id.startswith(GROUP_PREFIX) and re.fullmatch(self.pattern, group_id) is not None

    def _copy_group(self, group_id: str, names: Mapping[str, str], next_offsets: Mapping[TopicPartition, int]) -> bool:
        changed = {
            place: offset
            for place, offset in self.source.call(committed_offsets, group_id).items()
            if place.topic in names
            and offset <= next_offsets.get(place, -1)
            and self._copied.get((group_id, place)) != offset
        }
        translated = {}
        for place, offset in changed.items():
            copied_to = TopicPartition(names[place.topic], place.partition)
            translated[copied_to] = self.target.call(target_offset, copied_to, offset)
        if not translated or not self._commit(group_id, translated):
            return False
        self._copied.update({(group_id, place): offset for place, offset in changed.items()})
        return True

    def _commit(self, group_id: str, offsets: Mapping[TopicPartition, int]) -> bool:
        try:
            self.target.call(commit_offsets, group_id, offsets)
        except KafkaError as error:
            if error.code not in HAS_MEMBERS:
                raise
            return False
        return True


async def target_offset(cluster: Cluster, place: TopicPartition, source_offset: int) -> int:
    """The first offset of a copied log whose record came from this source offset or a later one; its end if none."""
    low = (await list_offsets(cluster, {place: EARLIEST}))[place].offset
    high = (await list_offsets(cluster, {place: LATEST}))[place].offset
    # All below `low` came from before the source offset; what is at `high`, if anything, did not.
    while low < high:
        middle = (low + high) // 2
        record = await first_record(cluster, place, middle, high)
        if record is None:
            high = middle
            continue
        source = source_of(record.headers)
        if source is None or source.offset >= source_offset:
            high = middle
        else:
            low = record.offset + 1
    return low


async def first_record(cluster: Cluster, place: TopicPartition, offset: int, end_offset: int) -> Record | None:
    """The first record from an offset on, before an end."""
    reader = PartitionReader(cluster, *place, offset, end_offset=end_offset)
    while not reader.is_at_end:
        for record in await reader.fetch():
            return record
    return None
