"""Questions about offsets, and lists of groups, that can be put to a group of either protocol, rightly and wrongly.

Who asks is drawn by `somebody`, which each protocol says for itself. It knows nothing of how members come and go.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from compat_tests.group_scripts.asking import NO_SUCH_GROUP, OTHER_TOPIC, PARTITIONS, TOPIC, Asker, response_of
from ottla.wire.messages.group_admin import DeleteGroupsRequest, ListGroupsRequest
from ottla.wire.messages.group_offsets import OffsetCommitRequest, OffsetDeleteRequest, OffsetFetchRequest

NOTE_LENGTH_MAX = 4096
NAMES = (TOPIC, OTHER_TOPIC, "missing")
NO_TOPIC_ID = b"\7" * 16
# Before these, OffsetFetch asks about one group; and it does not say who asks.
FETCH_GROUPS_VERSION_MIN, FETCH_MEMBER_VERSION_MIN = 8, 9


class OffsetQuestions(Asker, ABC):
    @abstractmethod
    def somebody(self) -> tuple[str, str | None, int]:
        """A member's id, name and generation or epoch, each of them possibly another's or nobody's."""

    @abstractmethod
    def has_members(self) -> bool:
        """Whether anybody is in the group, or has an id for it."""

    def commit(self) -> None:
        """In Kafka a first commit that is refused for its note leaves a group that can be joined and not seen."""
        member_id, instance_id, generation = self.somebody()
        version = self.version(OffsetCommitRequest, is_static=instance_id is not None)
        longest = "x" * (NOTE_LENGTH_MAX + self.has_members())
        partitions = [
            OffsetCommitRequest.OffsetCommitRequestPartition(
                partition_index=self.luck.randrange(PARTITIONS),
                committed_offset=self.luck.randrange(100),
                committed_leader_epoch=self.luck.randrange(-1, 3) if version >= 6 else -1,
                committed_metadata=self.luck.choice(["", None, "note", longest]),
            )
        ]
        name = self.luck.choice(NAMES)
        topic = OffsetCommitRequest.OffsetCommitRequestTopic(
            name=name, topic_id=self.topic_ids.get(name, NO_TOPIC_ID), partitions=partitions
        )
        request = OffsetCommitRequest(
            group_id=self.group_id,
            generation_id_or_member_epoch=generation,
            member_id=member_id,
            group_instance_id=instance_id,
            topics=[topic],
        )
        self.ask(self.control, request, version)

    def fetch(self) -> None:
        version = self.version(OffsetFetchRequest)
        names = self.luck.sample(NAMES, 2)
        if version < FETCH_GROUPS_VERSION_MIN:
            topics = [
                OffsetFetchRequest.OffsetFetchRequestTopic(name=name, partition_indexes=[0, 1, 9]) for name in names
            ]
            asks_all = version >= 2 and self.luck.random() < 0.5
            request = OffsetFetchRequest(group_id=self.group_id, topics=None if asks_all else topics)
        else:
            request = OffsetFetchRequest(
                groups=[self._fetched_group(id_, names, version) for id_ in self._two_groups()]
            )
        request.require_stable = version >= 7 and self.luck.random() < 0.5
        self.ask(self.control, request, version)

    def _two_groups(self) -> tuple[str, str]:
        return self.group_id, NO_SUCH_GROUP

    def _fetched_group(self, group_id: str, names: list[str], version: int) -> Any:
        topics = [
            OffsetFetchRequest.OffsetFetchRequestTopics(
                name=name, topic_id=self.topic_ids.get(name, NO_TOPIC_ID), partition_indexes=[0, 1, 9]
            )
            for name in names
        ]
        group = OffsetFetchRequest.OffsetFetchRequestGroup(
            group_id=group_id, topics=None if self.luck.random() < 0.5 else topics
        )
        if version >= FETCH_MEMBER_VERSION_MIN and self.luck.random() < 0.5:
            group.member_id, _, group.member_epoch = self.somebody()
        return group

    def delete_offsets(self) -> None:
        topics = [
            OffsetDeleteRequest.OffsetDeleteRequestTopic(
                name=name, partitions=[OffsetDeleteRequest.OffsetDeleteRequestPartition(partition_index=0)]
            )
            for name in self.luck.sample(NAMES, self.luck.randint(1, 3))
        ]
        group_id = self.luck.choice([self.group_id, self.group_id, NO_SUCH_GROUP, ""])
        self.ask(self.control, OffsetDeleteRequest(group_id=group_id, topics=topics), 0)

    def delete_group(self) -> None:
        group_ids = self.luck.choice([[NO_SUCH_GROUP], [self.group_id, NO_SUCH_GROUP]])
        self.ask(self.control, DeleteGroupsRequest(groups_names=group_ids), self.version(DeleteGroupsRequest))

    def listed(self) -> None:
        """Only this script's own group, among others. Kafka may answer a JoinGroup before its group is listed."""
        self.settle_writes()
        version = self.version(ListGroupsRequest)
        states = self.luck.choice([[], ["Stable"], ["empty", "PreparingRebalance"], ["Assigning"], ["nonsense"]])
        types = self.luck.choice([[], ["classic"], ["Consumer"], ["nonsense"]])
        request = ListGroupsRequest(
            states_filter=states if version >= 4 else [], types_filter=types if version >= 5 else []
        )
        response = self.control.send(request, response_of(ListGroupsRequest), version)
        response.groups = [one for one in response.groups if one.group_id == self.group_id]
        self.note(request, response, version)

    def settle_writes(self) -> None:
        """Offsets that have to be stable are told when all that was written before is committed."""
        topic = OffsetFetchRequest.OffsetFetchRequestTopic(name=TOPIC, partition_indexes=[0])
        stable = OffsetFetchRequest(group_id=self.group_id, topics=[topic], require_stable=True)
        self.control.send(stable, response_of(OffsetFetchRequest), 7)
