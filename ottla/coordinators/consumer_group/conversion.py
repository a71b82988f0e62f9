"""A classic group as a consumer group, and the other way round: what of the one becomes what of the other.

A generation becomes an epoch, and back. Classic members keep the protocols they joined with. Assignments are translated
between the names of the classic protocol and the ids of the new one; topics that are gone are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ottla.coordinators import embedded
from ottla.coordinators.assignors.spec import NO_PARTITIONS, Partitions
from ottla.coordinators.classic.group import ClassicGroup, ClassicState
from ottla.coordinators.classic.member import Member as ClassicMember
from ottla.coordinators.consumer_group import records
from ottla.coordinators.consumer_group.group import ConsumerGroup
from ottla.coordinators.consumer_group.member import ClassicSide, Member, MemberState
from ottla.coordinators.contract import Record
from ottla.coordinators.java_strings import hash_map_order, timeline_map_order
from ottla.coordinators.subscriptions import Subscription, all_wanted_names
from ottla.coordinators.topics_view import TopicsView
from ottla.wire.errors import ErrorCode, KafkaError


def consumer_records_of(
    classic: ClassicGroup, topics: TopicsView, hash_of: Callable[[Iterable[str]], int]
) -> list[Record]:
    """The consumer group that a classic group becomes; KafkaError(GROUP_ID_NOT_FOUND) if that would lose something.

    `hash_of` gives the hash of topics; those are the ones that all members want, whether or not in a generation yet.
    """
    try:
        members = [_consumer_member(classic, classic.members[id_], topics) for id_ in _as_in_kafka(classic)]
    except KafkaError as error:
        raise KafkaError(
            ErrorCode.GROUP_ID_NOT_FOUND, f"{classic.group_id} cannot become a consumer group: {error.message}"
        ) from error
    group_id, epoch = classic.group_id, classic.generation
    metadata_hash = hash_of(all_wanted_names((member.subscription for member in members), {}))
    return [
        *(records.member_metadata(group_id, member) for member in members),
        records.group_epoch(group_id, epoch, metadata_hash),
        *(
            records.target_member(
                group_id, member.member_id, {topic: frozenset(held) for topic, held in member.assigned.items()}
            )
            for member in members
        ),
        records.target_epoch(group_id, epoch, 0),
        *(records.current_assignment(group_id, member) for member in members),
    ]


def _as_in_kafka(classic: ClassicGroup) -> list[str]:
    """Members in the order in which Kafka writes them: out of a hash map, through another.

    It decides who leads, should it be a classic group again.
    """
    return timeline_map_order(sorted(classic.members, key=hash_map_order), len(classic.members) - 1)


def _consumer_member(classic: ClassicGroup, member: ClassicMember, topics: TopicsView) -> Member:
    subscription = embedded.subscription_of(member.metadata(classic.protocol or ""))
    epoch = classic.generation
    return Member(
        member.member_id,
        epoch=epoch,
        previous_epoch=epoch,
        state=MemberState.STABLE,
        instance_id=member.instance_id,
        rack_id=subscription.rack_id or None,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        client_id=member.client_id,
        client_host=member.client_host,
        subscription=Subscription(frozenset(subscription.topics)),
        assigned={
            topic: dict.fromkeys(partitions, epoch)
            for topic, partitions in _assigned(member.assignment, topics).items()
            if partitions
        },
        classic=ClassicSide(member.session_timeout_ms, tuple(member.protocols.items())),
    )


def _assigned(assignment: bytes, topics: TopicsView) -> Partitions:
    """What a classic member has, by topic id; one that joined and never synced has nothing."""
    if not assignment:
        return NO_PARTITIONS
    found = embedded.assignment_of(assignment)
    if found.user_data:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "its assignor keeps data that would be lost")
    known = ((topics.by_name(entry.topic), entry.partitions) for entry in found.assigned_partitions)
    return {topic.id: frozenset(partitions) for topic, partitions in known if topic is not None}


def classic_from(
    group: ConsumerGroup,
    members: Iterable[Member],
    targets: Mapping[str, Partitions],
    topics: TopicsView,
    now_ms: int,
) -> ClassicGroup:
    """The classic group of these members, who are to have what their targets say."""
    classic = ClassicGroup(
        group.group_id,
        state=ClassicState.STABLE,
        state_timestamp_ms=now_ms,
        generation=group.epoch,
        protocol_type=embedded.CONSUMER,
    )
    for member in members:
        assert member.classic is not None, "only classic members make a classic group"
        classic.add(
            ClassicMember(
                member.member_id,
                instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout_ms=member.rebalance_timeout_ms,
                session_timeout_ms=member.classic.session_timeout_ms,
                protocol_type=embedded.CONSUMER,
                protocols=dict(member.classic.protocols),
            )
        )
    classic.protocol = classic.select_protocol()
    classic.find_subscribed_topics()
    for classic_member in classic.members.values():
        version = embedded.version_of(classic_member.metadata(classic.protocol))
        by_name = named(targets[classic_member.member_id], topics)
        classic_member.assignment = embedded.assignment_bytes(by_name, version)
    return classic


def named(partitions: Mapping[bytes, Iterable[int]], topics: TopicsView) -> dict[str, Iterable[int]]:
    """Partitions by the names of their topics, as far as those exist."""
    known = ((topics.by_id(topic_id), numbers) for topic_id, numbers in partitions.items())
    return {topic.name: numbers for topic, numbers in known if topic is not None}
