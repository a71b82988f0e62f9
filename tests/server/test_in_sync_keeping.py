"""Followers' fetches move the high watermark and lead to proposals; what the controller says of them is taken in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
import trio
import trio.testing

from ottla.cluster.image import EMPTY, MetadataLoader
from ottla.cluster.image import Partition as PlacedPartition
from ottla.server.controller_channel import ControllerChannel
from ottla.server.in_sync_keeping import InSyncKeeping
from ottla.server.partition import Partition
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.controller import AlterPartitionRequest, AlterPartitionResponse
from ottla.wire.stored.metadata_records import ConfigRecord, RegisterBrokerRecord
from tests.server.world import NOW_MS, TOPIC, World, a_world, batch, by_test_clock

NODE_ID, OTHER, THIRD = 1, 2, 3
LAG_MS = 30_000


def placed(isr: tuple[int, ...], partition_epoch: int = 0) -> PlacedPartition:
    replicas = (NODE_ID, OTHER, THIRD)
    return PlacedPartition(
        replicas=replicas,
        directories=(bytes(16),) * 3,
        isr=isr,
        removing_replicas=(),
        adding_replicas=(),
        leader=NODE_ID,
        leader_recovery_state=0,
        leader_epoch=3,
        partition_epoch=partition_epoch,
        elr=(),
        last_known_elr=(),
    )


class Channel:
    """A controller that says what the test wants it to say."""

    def __init__(self) -> None:
        self.asked: list[AlterPartitionRequest] = []
        self.error: KafkaError | None = None
        self.code = ErrorCode.NONE

    async def request(self, request: AlterPartitionRequest) -> AlterPartitionResponse:
        await trio.lowlevel.checkpoint()
        self.asked.append(request)
        if self.error is not None:
            raise self.error
        (topic,) = request.topics
        (one,) = topic.partitions
        answer = AlterPartitionResponse.PartitionData(
            partition_index=one.partition_index,
            error_code=self.code,
            leader_id=NODE_ID,
            leader_epoch=3,
            isr=[member.broker_id for member in one.new_isr_with_epochs],
            partition_epoch=one.partition_epoch + 1,
        )
        return AlterPartitionResponse(
            topics=[AlterPartitionResponse.TopicData(topic_id=topic.topic_id, partitions=[answer])]
        )

    @property
    def isrs(self) -> list[list[int]]:
        return [
            [member.broker_id for member in one.new_isr_with_epochs]
            for request in self.asked
            for topic in request.topics
            for one in topic.partitions
        ]


class Kept:
    def __init__(self, world: World) -> None:
        self.now_ms = 1_000_000
        self.channel = Channel()
        self.world = world
        self.keeping = InSyncKeeping(
            world.broker, cast("ControllerChannel", self.channel), lambda: 7, lambda: self.now_ms
        )
        world.broker.in_sync = self.keeping
        self.partition: Partition = world.partition()

    def lead(self, *isr: int) -> None:
        self.keeping.lead(self.partition, placed(isr))

    def write(self) -> None:
        self.partition.stage(batch(), NOW_MS)
        self.partition.commit()

    def fetched(self, id: int, offset: int) -> None:
        self.keeping.fetched(self.partition, id, offset, id)

    @property
    def high_watermark(self) -> int:
        return self.partition.log.high_watermark


@asynccontextmanager
async def keeping(path: Path, *, min_isr: int = 1) -> AsyncIterator[Kept]:
    async with a_world(path, {"node.id": str(NODE_ID)}, serves=False) as world, trio.open_nursery() as nursery:
        loader = MetadataLoader(EMPTY)
        records: list[Any] = [
            RegisterBrokerRecord(
                broker_id=id,
                incarnation_id=bytes(16),
                broker_epoch=id,
                end_points=[],
                features=[],
                rack=None,
                fenced=False,
                log_dirs=[],
            )
            for id in (NODE_ID, OTHER, THIRD)
        ]
        records.append(
            ConfigRecord(resource_type=2, resource_name=TOPIC, name="min.insync.replicas", value=str(min_isr))
        )
        loader.load(records, base_offset=0, last_offset=3, epoch=1, timestamp_ms=1)
        world.broker.image = loader.image
        kept = Kept(world)
        nursery.start_soon(kept.keeping.run)
        yield kept
        nursery.cancel_scope.cancel()


@by_test_clock
async def test_a_record_is_committed_when_all_in_sync_have_it(tmp_path: Path) -> None:
    async with keeping(tmp_path) as kept:
        kept.lead(NODE_ID, OTHER)
        told: list[object] = []
        kept.write()
        kept.partition.when_committed(1, told.append)
        assert (kept.high_watermark, told) == (0, [])
        kept.fetched(OTHER, 0)
        assert (kept.high_watermark, told) == (0, [])
        kept.fetched(OTHER, 1)
        assert (kept.high_watermark, told) == (1, [None])


@by_test_clock
async def test_a_partition_without_followers_is_as_it_was(tmp_path: Path) -> None:
    async with keeping(tmp_path) as kept:
        alone = placed((NODE_ID,))._replace(replicas=(NODE_ID,), directories=(bytes(16),))
        kept.keeping.lead(kept.partition, alone)
        kept.write()
        assert kept.high_watermark == 1
        assert kept.partition.in_sync is None


@by_test_clock
async def test_one_that_has_caught_up_is_proposed_and_taken_in(tmp_path: Path) -> None:
    async with keeping(tmp_path) as kept:
        kept.lead(NODE_ID, OTHER)
        kept.fetched(OTHER, 0)
        kept.fetched(THIRD, 0)
        await trio.testing.wait_all_tasks_blocked()
        assert kept.channel.isrs == [[NODE_ID, OTHER, THIRD]]
        (request,) = kept.channel.asked
        assert (request.broker_id, request.broker_epoch) == (NODE_ID, 7)
        assert kept.partition.in_sync is not None
        assert kept.partition.in_sync.isr == (NODE_ID, OTHER, THIRD)


@by_test_clock
async def test_one_that_lags_is_proposed_to_go(tmp_path: Path) -> None:
    async with keeping(tmp_path) as kept:
        kept.lead(NODE_ID, OTHER)
        await trio.testing.wait_all_tasks_blocked()
        kept.write()
        kept.fetched(OTHER, 0)
        kept.now_ms += LAG_MS + 1
        clock = trio.lowlevel.current_clock()
        assert isinstance(clock, trio.testing.MockClock)
        clock.jump(LAG_MS / 2000)
        await trio.testing.wait_all_tasks_blocked()
        assert kept.channel.isrs == [[NODE_ID]]
        assert kept.high_watermark == 1, "those who are left have it"


def jump(seconds: float) -> None:
    clock = trio.lowlevel.current_clock()
    assert isinstance(clock, trio.testing.MockClock)
    clock.jump(seconds)


@by_test_clock
async def test_a_proposal_that_is_refused_may_be_made_again(tmp_path: Path) -> None:
    async with keeping(tmp_path) as kept:
        kept.lead(NODE_ID, OTHER)
        kept.channel.code = ErrorCode.INELIGIBLE_REPLICA
        kept.fetched(THIRD, 0)
        await trio.testing.wait_all_tasks_blocked()
        assert kept.partition.in_sync is not None
        assert kept.partition.in_sync.isr == (NODE_ID, OTHER)
        assert kept.partition.in_sync.proposed is None
        kept.channel.code = ErrorCode.NONE
        kept.fetched(THIRD, 0)
        await trio.testing.wait_all_tasks_blocked()
        assert kept.partition.in_sync.isr == (NODE_ID, OTHER, THIRD)


UNDECIDED = [
    ("the request", ErrorCode.NONE, KafkaError(ErrorCode.REQUEST_TIMED_OUT, "silence")),
    ("an error that passes", ErrorCode.NOT_CONTROLLER, None),
    ("out of date", ErrorCode.INVALID_UPDATE_VERSION, None),
]


@pytest.mark.parametrize(("code", "error"), [one[1:] for one in UNDECIDED], ids=[one[0] for one in UNDECIDED])
def test_whoever_the_controller_may_have_taken_in_counts_until_it_is_known(
    tmp_path: Path, code: ErrorCode, error: KafkaError | None
) -> None:
    """The answer to the first attempt may be lost: then the controller may let the proposed one lead next."""

    @by_test_clock
    async def run() -> None:
        async with keeping(tmp_path) as kept:
            kept.lead(NODE_ID, OTHER)
            kept.channel.code, kept.channel.error = code, error
            kept.fetched(THIRD, 0)
            await trio.testing.wait_all_tasks_blocked()
            kept.now_ms += LAG_MS + 1
            kept.write()
            kept.fetched(OTHER, 1)
            assert kept.high_watermark == 0, "the third one may be in sync, and does not have it"
            kept.keeping.changed(kept.partition, placed((NODE_ID, OTHER), 1))
            assert kept.high_watermark == 1, "the cluster has decided: it is not"

    run()


@by_test_clock
async def test_a_proposal_without_an_answer_is_made_again_until_there_is_one(tmp_path: Path) -> None:
    async with keeping(tmp_path) as kept:
        kept.lead(NODE_ID, OTHER)
        kept.channel.error = KafkaError(ErrorCode.REQUEST_TIMED_OUT, "silence")
        kept.fetched(THIRD, 0)
        for _ in range(2):
            await trio.testing.wait_all_tasks_blocked()
            jump(1)
        await trio.testing.wait_all_tasks_blocked()
        kept.channel.error = None
        jump(1)
        await trio.testing.wait_all_tasks_blocked()
        assert kept.channel.isrs == [[NODE_ID, OTHER, THIRD]] * 4
        assert kept.partition.in_sync is not None
        assert kept.partition.in_sync.isr == (NODE_ID, OTHER, THIRD)


@by_test_clock
async def test_a_proposal_for_what_is_led_elsewhere_by_now_is_not_made_again(tmp_path: Path) -> None:
    async with keeping(tmp_path) as kept:
        kept.lead(NODE_ID, OTHER)
        kept.channel.error = KafkaError(ErrorCode.REQUEST_TIMED_OUT, "silence")
        kept.fetched(THIRD, 0)
        await trio.testing.wait_all_tasks_blocked()
        kept.world.broker.resign(kept.partition.topic, kept.partition.topic_id, kept.partition.index)
        jump(1)
        await trio.testing.wait_all_tasks_blocked()
        assert len(kept.channel.asked) == 1


@by_test_clock
async def test_what_an_earlier_life_of_a_follower_says_moves_nothing(tmp_path: Path) -> None:
    """KIP-903: it may have lost what it had when it died."""
    async with keeping(tmp_path) as kept:
        kept.lead(NODE_ID, OTHER)
        kept.write()
        with pytest.raises(KafkaError) as refused:
            kept.keeping.fetched(kept.partition, OTHER, 1, OTHER - 1)
        assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert kept.high_watermark == 0
        kept.keeping.fetched(kept.partition, OTHER, 1, -1)
        assert kept.high_watermark == 1, "older versions of Fetch do not say"


@by_test_clock
async def test_with_too_few_in_sync_nothing_is_taken_and_nothing_is_committed(tmp_path: Path) -> None:
    async with keeping(tmp_path, min_isr=2) as kept:
        kept.lead(NODE_ID)
        with pytest.raises(KafkaError) as refused:
            kept.keeping.check_enough(kept.partition)
        assert refused.value.code is ErrorCode.NOT_ENOUGH_REPLICAS
        kept.write()
        assert kept.high_watermark == 0
        kept.keeping.changed(kept.partition, placed((NODE_ID, OTHER), 1))
        kept.keeping.check_enough(kept.partition)
        kept.fetched(OTHER, 1)
        assert kept.high_watermark == 1


@by_test_clock
async def test_class_10_who_only_calls_himself_a_replica_moves_nothing(tmp_path: Path) -> None:
    async with keeping(tmp_path) as kept:
        kept.lead(NODE_ID, OTHER)
        kept.write()
        with pytest.raises(KafkaError) as refused:
            kept.fetched(99, 1)
        assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
        kept.fetched(OTHER, 1_000_000)
        assert kept.high_watermark == 1, "nobody has more than there is"


@by_test_clock
async def test_who_waits_is_told_when_the_partition_is_led_elsewhere(tmp_path: Path) -> None:
    async with keeping(tmp_path) as kept:
        kept.lead(NODE_ID, OTHER)
        kept.write()
        told: list[Any] = []
        kept.partition.when_committed(1, told.append)
        kept.world.broker.resign(kept.partition.topic, kept.partition.topic_id, kept.partition.index)
        assert [error.code for error in told] == [ErrorCode.NOT_LEADER_OR_FOLLOWER]


@by_test_clock
async def test_what_is_committed_is_not_for_a_leader_to_say_that_is_none_any_more(tmp_path: Path) -> None:
    """The log is another leader's to move: an answer or a sync that comes late must not."""
    async with keeping(tmp_path) as kept:
        kept.lead(NODE_ID, OTHER)
        kept.write()
        kept.fetched(THIRD, 1)
        kept.fetched(OTHER, 0)
        kept.world.broker.resign(kept.partition.topic, kept.partition.topic_id, kept.partition.index)
        assert kept.partition.in_sync is not None
        kept.partition.in_sync.changed((NODE_ID,), (NODE_ID,), 1)
        await trio.testing.wait_all_tasks_blocked()
        kept.partition.flushed()
        assert kept.channel.asked
        assert kept.high_watermark == 0
