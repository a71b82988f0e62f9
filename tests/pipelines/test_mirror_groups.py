"""Committed offsets find the copy of the record that they named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ottla.client.blocking import Client
from ottla.client.groups import commit_offsets, committed_offsets
from ottla.client.metadata import TopicPartition
from ottla.pipelines.appender import Appender
from ottla.pipelines.mirror_groups import GROUP_PREFIX, GroupCopier, target_offset
from ottla.testing import Broker
from tests.pipelines.copied_logs import ORIGIN, PLACE, record, target
from tests.pipelines.test_target_tail import delete_records

SOURCE_PLACE = TopicPartition(ORIGIN.topic, ORIGIN.partition)
NAMES = {ORIGIN.topic: PLACE.topic}


@pytest.mark.parametrize(
    ("source_offset", "found"), [(0, 0), (5, 0), (6, 1), (9, 1), (10, 2), (12, 2), (13, 3), (14, 3), (15, 4), (99, 4)]
)
def test_an_offset_is_that_of_the_first_copy_from_there_on(source_offset: int, found: int) -> None:
    with target() as (_, client):
        appender = Appender(client, PLACE, ORIGIN)
        for offset in (5, 9, 12, 14):
            appender.append([record(offset)])
        assert client.call(target_offset, PLACE, source_offset) == found


def test_a_log_that_begins_late_begins_with_its_first_record() -> None:
    with target() as (_, client):
        assert client.call(target_offset, PLACE, 7) == 0
        Appender(client, PLACE, ORIGIN).append([record(offset) for offset in range(6)])
        delete_records(client, PLACE, 4)
        assert [client.call(target_offset, PLACE, offset) for offset in (0, 4, 5, 6)] == [4, 4, 5, 6]


@contextmanager
def both() -> Iterator[tuple[Client, Client]]:
    with Broker(in_thread=True) as source, target() as (_, client):
        source.create_topic(SOURCE_PLACE.topic)
        Appender(client, PLACE, ORIGIN).append([record(offset) for offset in (0, 3, 6)])
        with Client(source.bootstrap_servers) as source_client:
            yield source_client, client


def test_what_is_copied_is_committed_once() -> None:
    with both() as (source, copied_to):
        for group_id in ("readers", "others", GROUP_PREFIX + "x"):
            source.call(commit_offsets, group_id, {SOURCE_PLACE: 3})
        copier = GroupCopier(source, copied_to, "readers|" + GROUP_PREFIX + "x")
        assert copier.copy(NAMES, {SOURCE_PLACE: 2}) == 0, "that offset is not copied yet"
        assert copier.copy(NAMES, {SOURCE_PLACE: 7}) == 1
        assert copied_to.call(committed_offsets, "readers") == {PLACE: 1}
        assert copied_to.call(committed_offsets, "others") == {}
        assert copied_to.call(committed_offsets, GROUP_PREFIX + "x") == {}
        assert copier.copy(NAMES, {SOURCE_PLACE: 7}) == 0
        source.call(commit_offsets, "readers", {SOURCE_PLACE: 7})
        assert copier.copy(NAMES, {SOURCE_PLACE: 7}) == 1
        assert copied_to.call(committed_offsets, "readers") == {PLACE: 3}


def test_topics_that_are_not_copied_do_not_matter() -> None:
    with both() as (source, copied_to):
        source.call(commit_offsets, "readers", {SOURCE_PLACE: 3})
        assert GroupCopier(source, copied_to, ".*").copy({"other": "other"}, {SOURCE_PLACE: 7}) == 0


def test_without_a_pattern_nobody_is_asked() -> None:
    with target() as (broker, client):
        broker.stop()
        assert GroupCopier(client, client, None).copy(NAMES, {}) == 0
        broker.start()


def test_a_group_that_has_moved_is_left_alone() -> None:
    with both() as (source, copied_to):
        source.call(commit_offsets, "readers", {SOURCE_PLACE: 3})
        with joined(copied_to, "readers"):
            assert GroupCopier(source, copied_to, "readers").copy(NAMES, {SOURCE_PLACE: 7}) == 0
            assert copied_to.call(committed_offsets, "readers") == {}


@contextmanager
def joined(client: Client, group_id: str) -> Iterator[None]:
    """A member of a group, for as long as the block lasts."""
    from ottla.client.routing import group
    from ottla.wire.messages.consumer_groups import ConsumerGroupHeartbeatRequest

    request = ConsumerGroupHeartbeatRequest(
        group_id=group_id,
        member_id="member",
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=[PLACE.topic],
        topic_partitions=[],
    )
    client.request(request, group(group_id))
    yield
