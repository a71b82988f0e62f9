"""ConsumerGroupDescribe: a group as its administrator sees it."""

from __future__ import annotations

from collections.abc import Iterable

from ottla.coordinators.consumer_group.group import ConsumerGroup, held_by
from ottla.coordinators.consumer_group.member import Member
from ottla.coordinators.consumer_group.target import most_wanted_assignor
from ottla.coordinators.group import Group
from ottla.coordinators.topics_view import TopicsView
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.consumer_groups import ConsumerGroupDescribeResponse

DescribedGroup = ConsumerGroupDescribeResponse.DescribedGroup
CLASSIC_MEMBER, CONSUMER_MEMBER = 0, 1


def described(group_id: str, group: Group | None, topics: TopicsView, default_assignor: str) -> DescribedGroup:
    """The group, or GROUP_ID_NOT_FOUND in its place."""
    if not isinstance(group, ConsumerGroup):
        reason = f"there is no group {group_id}" if group is None else f"{group_id} is not a consumer group"
        return DescribedGroup(
            error_code=ErrorCode.GROUP_ID_NOT_FOUND,
            error_message=reason,
            group_id=group_id,
            group_state="",
            group_epoch=0,
            assignment_epoch=0,
            assignor_name="",
            members=[],
        )
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state_text,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=most_wanted_assignor(group.assignors, default_assignor),
        members=[_member(group, member, topics) for member in group.members.values()],
    )


def _member(group: ConsumerGroup, member: Member, topics: TopicsView) -> ConsumerGroupDescribeResponse.Member:
    target = group.target_of(member.member_id)
    return ConsumerGroupDescribeResponse.Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.subscription.names),
        subscribed_topic_regex=member.subscription.regex,
        # What it has not given back yet is still its own.
        assignment=_assignment(held_by(member), topics),
        target_assignment=_assignment(((topic, number) for topic in target for number in target[topic]), topics),
        member_type=CONSUMER_MEMBER if member.classic is None else CLASSIC_MEMBER,
    )


def _assignment(
    partitions: Iterable[tuple[bytes, int]], topics: TopicsView
) -> ConsumerGroupDescribeResponse.Assignment:
    numbers: dict[bytes, list[int]] = {}
    for topic_id, partition in partitions:
        numbers.setdefault(topic_id, []).append(partition)
    found = []
    for topic_id in sorted(numbers):
        topic = topics.by_id(topic_id)
        if topic is not None:
            found.append(
                ConsumerGroupDescribeResponse.TopicPartitions(
                    topic_id=topic_id, topic_name=topic.name, partitions=sorted(numbers[topic_id])
                )
            )
    return ConsumerGroupDescribeResponse.Assignment(topic_partitions=found)
