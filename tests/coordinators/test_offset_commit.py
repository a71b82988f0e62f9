"""Who may commit, what is written, what a client is told; and deleting what was committed."""

from __future__ import annotations

import pytest

from ottla.coordinators.offset_commit import VALUE_VERSION, VALUE_VERSION_EXPIRING
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.group_offsets import OffsetDeleteRequest
from ottla.wire.stored.classic_group_records import OffsetCommitKey, OffsetCommitValue
from tests.coordinators.shard_world import START_MS, ShardWorld


def delete(world: ShardWorld, topic: str = "orders", *partitions: int) -> int:
    request = OffsetDeleteRequest(
        group_id="g",
        topics=[
            OffsetDeleteRequest.OffsetDeleteRequestTopic(
                name=topic,
                partitions=[
                    OffsetDeleteRequest.OffsetDeleteRequestPartition(partition_index=index)
                    for index in partitions or (0,)
                ],
            )
        ],
    )
    response = world.ask(lambda: world.shard.delete_offsets(request))
    if isinstance(response, KafkaError):
        return response.code
    found: int = response.error_code or response.topics[0].partitions[0].error_code
    return found


def test_a_commit_without_a_group_makes_one_that_keeps_offsets() -> None:
    world = ShardWorld()
    assert world.commit_offset(7, metadata="note") == ErrorCode.NONE
    assert world.log[0].key == OffsetCommitKey(group="g", topic="orders", partition=0)
    assert world.log[0].value == OffsetCommitValue(
        offset=7, metadata="note", commit_timestamp=START_MS, topic_id=b"o" * 16
    )
    assert world.log[0].version == VALUE_VERSION
    assert world.state() == "Empty"
    assert world.fetch_offset().committed_offset == 7


def test_a_member_of_no_group_is_told_by_version() -> None:
    world = ShardWorld()
    assert world.commit_offset(7, generation=1, version=8) == ErrorCode.ILLEGAL_GENERATION
    assert world.commit_offset(7, generation=1, version=9) == ErrorCode.GROUP_ID_NOT_FOUND
    assert world.log == []


def test_members_commit_in_their_generation_only() -> None:
    world = ShardWorld()
    (_leader, other), generation = world.stable_group(2)
    assert world.commit_offset(1, member_id=other, generation=generation) == ErrorCode.NONE
    assert world.commit_offset(2, member_id=other, generation=generation - 1) == ErrorCode.ILLEGAL_GENERATION
    assert world.commit_offset(2, member_id="stranger", generation=generation) == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.commit_offset(2) == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.fetch_offset().committed_offset == 1


def test_a_generation_without_assignment_commits_nothing() -> None:
    world = ShardWorld()
    member_id, token = world.new_member()
    world.advance(3000)
    generation = world.joined(token).generation_id
    assert world.state() == "CompletingRebalance"
    code = world.commit_offset(1, member_id=member_id, generation=generation)
    assert code == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_commit_keeps_the_session_alive() -> None:
    world = ShardWorld()
    (leader,), generation = world.stable_group(session_timeout_ms=10_000)
    for _ in range(5):
        world.advance(9_000)
        assert world.commit_offset(1, member_id=leader, generation=generation) == ErrorCode.NONE
    world.advance(10_000)
    assert world.commit_offset(1, member_id=leader, generation=generation) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_commit_during_a_rebalance_is_taken() -> None:
    world = ShardWorld()
    (leader,), generation = world.stable_group()
    world.new_member()
    assert world.state() == "PreparingRebalance"
    assert world.commit_offset(3, member_id=leader, generation=generation) == ErrorCode.NONE


def test_a_note_that_is_too_long_is_refused_by_itself() -> None:
    world = ShardWorld(offset_metadata_max=3)
    assert world.commit_offset(7, metadata="four") == ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert world.log == []
    assert world.commit_offset(7, metadata="abc") == ErrorCode.NONE
    assert world.commit_offset(8, metadata=None) == ErrorCode.NONE
    assert world.fetch_offset().metadata == ""


def test_an_old_client_brings_its_own_retention() -> None:
    world = ShardWorld()
    assert world.commit_offset(7, retention_ms=1000, version=4) == ErrorCode.NONE
    value = world.log[0].value
    assert isinstance(value, OffsetCommitValue)
    assert (world.log[0].version, value.expire_timestamp) == (VALUE_VERSION_EXPIRING, START_MS + 1000)


def test_a_retention_without_end_has_none() -> None:
    world = ShardWorld()
    assert world.commit_offset(7, retention_ms=2**63 - 1, version=4) == ErrorCode.NONE
    world.advance(10**12)
    assert world.fetch_offset().committed_offset == 7


def test_a_commit_is_answered_when_it_is_committed() -> None:
    world = ShardWorld()
    world.holds_commits = True
    told: list[object] = []
    world.commit_offset(7, tell=told.append)
    assert told == []
    world.commit()
    assert len(told) == 1


@pytest.mark.parametrize("partitions", [(0,), (0, 0, 1)])
def test_offsets_are_deleted_where_there_are_any(partitions: tuple[int, ...]) -> None:
    world = ShardWorld()
    world.commit_offset(7)
    assert delete(world, "orders", *partitions) == ErrorCode.NONE
    assert world.fetch_offset().committed_offset == -1
    assert len(world.log) == 2


def test_offsets_of_no_group_are_not_deleted() -> None:
    assert delete(ShardWorld()) == ErrorCode.GROUP_ID_NOT_FOUND


def test_offsets_of_a_subscribed_topic_stay() -> None:
    world = ShardWorld()
    (leader,), generation = world.stable_group()
    world.commit_offset(1, member_id=leader, generation=generation)
    world.commit_offset(1, member_id=leader, generation=generation, topic="bills")
    assert delete(world, "orders") == ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    assert delete(world, "bills") == ErrorCode.NONE
    assert world.fetch_offset().committed_offset == 1
    assert world.fetch_offset(topic="bills").committed_offset == -1


def test_a_group_of_another_protocol_has_to_be_empty() -> None:
    world = ShardWorld()
    world.stable_group(protocol_type="connect")
    assert delete(world) == ErrorCode.NON_EMPTY_GROUP
