"""Replicas follow: they append what they are sent, cut where they diverged, and begin anew where they fell behind."""

from __future__ import annotations

import errno
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest
import trio
import trio.testing

from ottla.config.loading import load
from ottla.server.broker import Broker
from ottla.server.followed_partitions import FollowedPartitions
from ottla.server.replica_fetching import FollowingReplica, ReplicaFetching
from ottla.server.replication_throttles import ReplicationThrottles
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directories import LogDirectories
from ottla.storage.log_directory import HostedLog
from ottla.storage.offset_checkpoint import RECOVERY_POINTS, TopicPartition, read_offsets, write_offsets
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.fetch import FetchRequest, FetchResponse
from ottla.wire.messages.offsets_lookup import ListOffsetsRequest, ListOffsetsResponse
from tests.client.stub_cluster import HANG_UP, SILENCE, StubBroker, StubNetwork, in_trio
from tests.storage.batches import NOW_MS, batch, content, opened
from tests.storage.fake_disk import FakeDisk
from tests.storage.log_directory_world import PATH, claimed

TOPIC, TOPIC_ID, LEADER, EPOCH = "t", b"the id of topic!", 2, 5
Answer = FetchResponse.PartitionData


class StandInBroker:
    """What the fetchers want of a broker: the image's address of the leader, the configuration, the time."""

    def __init__(self, *leaders: StubBroker) -> None:
        self.config = load({"log.dirs": "/unused", "node.id": "1"}, {}).config
        listener = self.config.inter_broker_listener
        by_id = {
            one.node_id: SimpleNamespace(
                listeners={listener: SimpleNamespace(host=one.address.host, port=one.address.port)}
            )
            for one in leaders
        }
        self.image = SimpleNamespace(brokers=SimpleNamespace(by_id=by_id))
        self.directories = LogDirectories([], {})
        self.followed = FollowedPartitions(cast("Broker", self))
        self.throttles = ReplicationThrottles(lambda: self.config, lambda: round(trio.current_time() * 1000))
        self.moves = SimpleNamespace(cut=lambda key, offset: self.cuts.append((key, offset)))
        self.cuts: list[tuple[TopicPartition, int]] = []
        self.passes = 0
        self.noticed: list[TopicPartition] = []

    def host(self, log: Log) -> None:
        directory = claimed(log.disk)  # type: ignore[arg-type]
        directory.checkpoints.load()
        directory.hosted[TOPIC, 0] = HostedLog(log, TOPIC_ID, NOW_MS)
        self.directories.directories.append(directory)

    def now_ms(self) -> int:
        return NOW_MS

    def notice_failure(self, key: TopicPartition) -> None:
        self.noticed.append(key)

    def end_pass(self) -> None:
        self.passes += 1


def leaders_log(*sizes: tuple[int, int]) -> Log:
    """A log with so many records in each epoch."""
    log = opened(FakeDisk())
    for count, epoch in sizes:
        for _ in range(count):
            log.append(batch(), leader_epoch=epoch, now_ms=NOW_MS)
    return log


def answered(**more: Any) -> FetchResponse:
    fields = {"high_watermark": 0, "log_start_offset": 0, "records": b"", "aborted_transactions": None, **more}
    one = Answer(partition_index=0, **fields)
    topic = FetchResponse.FetchableTopicResponse(topic=TOPIC, topic_id=TOPIC_ID, partitions=[one])
    return FetchResponse(responses=[topic])


@asynccontextmanager
async def following(log: Log, leader: StubBroker, *, rate: str | None = None) -> AsyncIterator[ReplicaFetching]:
    """A replica that follows; where there is a rate, it is throttled."""
    async with trio.open_nursery() as nursery:
        network = StubNetwork(nursery, (leader,))
        broker: Any = StandInBroker(leader)
        if rate is not None:
            broker.config = broker.config.overlaid({}, {"follower.replication.throttled.rate": rate})
            broker.throttles.follower.throttled = {TOPIC: {0}}
        broker.host(log)
        fetching = ReplicaFetching(broker, lambda: 77, network.open_stream)
        nursery.start_soon(fetching.run)
        fetching.follow(FollowingReplica(TOPIC, TOPIC_ID, 0, log, LEADER, EPOCH))
        await trio.testing.wait_all_tasks_blocked()
        yield fetching
        nursery.cancel_scope.cancel()


@in_trio
async def test_what_a_leader_has_is_appended_as_it_is() -> None:
    theirs, ours = leaders_log((3, 1), (2, 5)), opened(FakeDisk())
    leader = StubBroker(LEADER)
    leader.on(FetchRequest, answered(records=content(theirs), high_watermark=4), SILENCE)
    async with following(ours, leader):
        assert content(ours) == content(theirs)
        assert (ours.end_offset, ours.high_watermark, ours.epochs.latest_epoch) == (5, 4, 5)
        first, second = leader.requests(FetchRequest)
        asked = [request.topics[0].partitions[0] for request in (first, second)]
        assert [(one.fetch_offset, one.last_fetched_epoch) for one in asked] == [(0, -1), (5, 5)]
        assert {one.current_leader_epoch for one in asked} == {EPOCH}
        assert (first.replica_state.replica_id, first.replica_state.replica_epoch) == (1, 77)


@in_trio
async def test_a_log_that_diverged_is_cut_by_epochs_even_below_its_high_watermark() -> None:
    ours = leaders_log((3, 1), (2, 3))
    ours.advance_high_watermark(4)
    leader = StubBroker(LEADER)
    ends = FetchResponse.EpochEndOffset(epoch=1, end_offset=3)
    leader.on(FetchRequest, answered(diverging_epoch=ends, high_watermark=5), SILENCE)
    async with following(ours, leader):
        assert (ours.end_offset, ours.high_watermark, ours.epochs.latest_epoch) == (3, 3, 1)
        assert leader.requests(FetchRequest)[-1].topics[0].partitions[0].fetch_offset == 3


@in_trio
async def test_before_a_log_is_cut_the_recovery_point_on_the_disk_goes_back() -> None:
    ours = leaders_log((3, 1), (2, 3))
    ours.flush()
    ours.disk.make_directory(PATH)
    write_offsets(ours.disk, PATH, RECOVERY_POINTS, {(TOPIC, 0): ours.recovery_point})
    leader = StubBroker(LEADER)
    ends = FetchResponse.EpochEndOffset(epoch=1, end_offset=3)
    leader.on(FetchRequest, answered(diverging_epoch=ends), SILENCE)
    async with following(ours, leader):
        assert ours.end_offset == 3
        assert read_offsets(ours.disk, PATH, RECOVERY_POINTS) == {(TOPIC, 0): 3}, "what comes next is not flushed"


@in_trio
async def test_one_that_fell_behind_the_first_record_begins_anew_there() -> None:
    ours = leaders_log((3, 1))
    leader = StubBroker(LEADER)
    leader.on(FetchRequest, answered(error_code=ErrorCode.OFFSET_OUT_OF_RANGE), SILENCE)

    def offset(request: ListOffsetsRequest) -> ListOffsetsResponse:
        asked = request.topics[0].partitions[0]
        found = {-1: 100, -2: 50}[asked.timestamp]
        one = ListOffsetsResponse.ListOffsetsPartitionResponse(partition_index=0, offset=found)
        return ListOffsetsResponse(topics=[ListOffsetsResponse.ListOffsetsTopicResponse(name=TOPIC, partitions=[one])])

    leader.on(ListOffsetsRequest, offset)
    async with following(ours, leader):
        assert (ours.start_offset, ours.end_offset, ours.high_watermark) == (50, 50, 50)


@in_trio
async def test_the_leaders_first_record_is_followed() -> None:
    ours = leaders_log((5, 1))
    leader = StubBroker(LEADER)
    leader.on(FetchRequest, answered(high_watermark=5, log_start_offset=2), SILENCE)
    async with following(ours, leader):
        assert (ours.start_offset, ours.high_watermark) == (2, 5)


@in_trio
async def test_an_error_is_waited_out_and_a_lost_leader_asked_again() -> None:
    theirs, ours = leaders_log((1, 1)), opened(FakeDisk())
    leader = StubBroker(LEADER)
    leader.on(
        FetchRequest,
        answered(error_code=ErrorCode.UNKNOWN_LEADER_EPOCH),
        HANG_UP,
        answered(records=content(theirs)),
        SILENCE,
    )
    async with following(ours, leader):
        began = trio.current_time()
        while ours.end_offset == 0:
            await trio.sleep(0.5)
        assert trio.current_time() - began >= 2, "twice replica.fetch.backoff.ms"


@in_trio
async def test_what_comes_for_a_replica_that_follows_another_by_now_is_dropped() -> None:
    theirs, ours = leaders_log((1, 1)), opened(FakeDisk())
    leader = StubBroker(LEADER)
    worlds: list[ReplicaFetching] = []

    def late(request: FetchRequest) -> FetchResponse:
        worlds[0].stop((TOPIC, 0))
        return answered(records=content(theirs))

    leader.on(FetchRequest, SILENCE)
    async with trio.open_nursery() as nursery:
        network = StubNetwork(nursery, (leader,))
        broker: Any = StandInBroker(leader)
        worlds.append(ReplicaFetching(broker, lambda: 77, network.open_stream))
        leader.on(FetchRequest, late)
        nursery.start_soon(worlds[0].run)
        worlds[0].follow(FollowingReplica(TOPIC, TOPIC_ID, 0, ours, LEADER, EPOCH))
        await trio.testing.wait_all_tasks_blocked()
        assert ours.end_offset == 0
        assert len(leader.requests(FetchRequest)) == 1, "nobody is left to fetch for"
        nursery.cancel_scope.cancel()


@in_trio
async def test_a_leader_is_told_what_changed_and_everything_when_it_has_forgotten() -> None:
    theirs, ours, idle = leaders_log((2, 1)), opened(FakeDisk()), opened(FakeDisk())
    leader = StubBroker(LEADER)
    told = answered(records=content(theirs))
    told.session_id = 9
    forgot = FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND, responses=[])
    nothing_new = FetchResponse(session_id=9, responses=[])
    leader.on(FetchRequest, SILENCE)
    async with following(ours, leader) as fetching:
        fetching.follow(FollowingReplica(TOPIC, TOPIC_ID, 1, idle, LEADER, EPOCH))
        leader.on(FetchRequest, told, nothing_new, forgot, told, SILENCE)
        while len(leader.requests(FetchRequest)) < 6:
            await trio.sleep(1)
    requests = leader.requests(FetchRequest)[1:]
    assert [(one.session_id, one.session_epoch) for one in requests] == [(0, 0), (9, 1), (9, 2), (0, 0), (9, 1)]
    assert [named(one) for one in requests] == [[0, 1], [0], [], [0, 1], []]


@in_trio
async def test_a_replica_that_stops_is_taken_back() -> None:
    ours, other = opened(FakeDisk()), opened(FakeDisk())
    leader = StubBroker(LEADER)
    nothing = FetchResponse(session_id=9, responses=[])
    worlds: list[ReplicaFetching] = []

    def stop_one(request: FetchRequest) -> FetchResponse:
        worlds[0].stop((TOPIC, 0))
        return nothing

    leader.on(FetchRequest, nothing, SILENCE)
    async with following(ours, leader) as fetching:
        worlds.append(fetching)
        fetching.follow(FollowingReplica(TOPIC, TOPIC_ID, 1, other, LEADER, EPOCH))
        leader.on(FetchRequest, nothing, stop_one, SILENCE)
        while len(leader.requests(FetchRequest)) < 5:
            await trio.sleep(1)
    last = leader.requests(FetchRequest)[-1]
    assert [(one.topic_id, one.partitions) for one in last.forgotten_topics_data] == [(TOPIC_ID, [0])]


def named(request: FetchRequest) -> list[int]:
    return [one.partition for topic in request.topics for one in topic.partitions]


@in_trio
async def test_damaged_records_are_not_taken() -> None:
    theirs, ours = leaders_log((2, 1)), opened(FakeDisk())
    damaged = bytearray(content(theirs))
    damaged[-1] ^= 1
    leader = StubBroker(LEADER)
    leader.on(FetchRequest, answered(records=bytes(damaged)), answered(records=content(theirs)), SILENCE)
    async with following(ours, leader):
        assert ours.end_offset == 0
        while ours.end_offset == 0:
            await trio.sleep(1)
        assert content(ours) == content(theirs)


@in_trio
async def test_of_a_batch_that_is_cut_off_the_ones_before_are_taken() -> None:
    """Apache Kafka sends what fits."""
    theirs, ours = leaders_log((3, 1)), opened(FakeDisk())
    leader = StubBroker(LEADER)
    leader.on(FetchRequest, answered(records=content(theirs)[:-10]), SILENCE)
    async with following(ours, leader):
        assert ours.end_offset == 2
        assert leader.requests(FetchRequest)[-1].topics[0].partitions[0].fetch_offset == 2


@in_trio
async def test_what_a_later_leader_wrote_is_not_taken_from_this_one() -> None:
    """Its epoch would stand in this log for records that it does not have there (KAFKA-18723)."""
    theirs, ours = leaders_log((1, EPOCH), (1, EPOCH + 1)), opened(FakeDisk())
    leader = StubBroker(LEADER)
    leader.on(FetchRequest, answered(records=content(theirs)), SILENCE)
    async with following(ours, leader):
        assert (ours.end_offset, ours.epochs.latest_epoch) == (1, EPOCH)


def offsets(*found: int) -> ListOffsetsResponse:
    """An answer with so many partitions."""
    answers = [ListOffsetsResponse.ListOffsetsPartitionResponse(partition_index=0, offset=one) for one in found]
    topics = [ListOffsetsResponse.ListOffsetsTopicResponse(name=TOPIC, partitions=[one]) for one in answers]
    return ListOffsetsResponse(topics=topics)


@pytest.mark.parametrize("nonsense", [offsets(), offsets(-1)], ids=["nothing", "no offset"])
def test_a_leader_that_cannot_say_where_its_log_ends_changes_nothing(nonsense: ListOffsetsResponse) -> None:
    @in_trio
    async def run() -> None:
        ours = leaders_log((3, 1))
        leader = StubBroker(LEADER)
        leader.on(FetchRequest, answered(error_code=ErrorCode.OFFSET_OUT_OF_RANGE), answered(), SILENCE)
        leader.on(ListOffsetsRequest, nonsense)
        async with following(ours, leader):
            assert (ours.start_offset, ours.end_offset) == (0, 3)
            while len(leader.requests(FetchRequest)) < 3:
                await trio.sleep(1)

    run()


@in_trio
async def test_a_divergence_at_no_offset_changes_nothing() -> None:
    ours = leaders_log((3, 1))
    leader = StubBroker(LEADER)
    nowhere = FetchResponse.EpochEndOffset(epoch=0, end_offset=-1)
    leader.on(FetchRequest, answered(diverging_epoch=nowhere), answered(), SILENCE)
    async with following(ours, leader):
        assert (ours.start_offset, ours.end_offset) == (0, 3)
        while len(leader.requests(FetchRequest)) < 3:
            await trio.sleep(1)


@in_trio
async def test_a_log_that_cannot_be_cut_is_left_out_and_the_others_go_on() -> None:
    disk = FakeDisk()
    ours = opened(disk)
    for _ in range(3):
        ours.append(batch(), leader_epoch=1, now_ms=NOW_MS)
    ours.segments.active.file.write_at(0, [bytes(ours.segments.active.size_bytes)], ours.segments.active.size_bytes)
    leader = StubBroker(LEADER)
    ends = FetchResponse.EpochEndOffset(epoch=1, end_offset=1)
    leader.on(FetchRequest, answered(diverging_epoch=ends), answered(), SILENCE)
    async with following(ours, leader):
        while len(leader.requests(FetchRequest)) < 3:
            await trio.sleep(1)


@in_trio
async def test_what_must_be_on_the_disk_is_there_before_the_leader_hears_of_it() -> None:
    """flush.messages: the leader counts on what the next Fetch says is here."""
    theirs, disk = leaders_log((3, 1)), FakeDisk()
    ours = opened(disk, LogConfig(flush_messages=1))
    leader = StubBroker(LEADER)
    leader.on(FetchRequest, answered(records=content(theirs)), SILENCE)
    async with following(ours, leader):
        while len(leader.requests(FetchRequest)) < 2:
            await trio.sleep(1)
        disk.crash()
        assert opened(disk).end_offset == 3


@in_trio
async def test_one_whose_disk_has_failed_asks_no_more_and_its_broker_hears_of_it() -> None:
    """Its leader would take it for one that is in sync."""
    theirs, disk = leaders_log((3, 1)), FakeDisk()
    ours = opened(disk)
    leader = StubBroker(LEADER)

    def broken(request: FetchRequest) -> FetchResponse:
        ours.failure = OSError(errno.EIO, "broken")
        return answered(records=content(theirs))

    leader.on(FetchRequest, broken, SILENCE)
    async with following(ours, leader) as fetching:
        await trio.sleep(60)
        assert len(leader.requests(FetchRequest)) == 1
        broker: Any = fetching._broker
        assert broker.noticed == [(TOPIC, 0)]


@in_trio
async def test_one_that_is_throttled_and_behind_waits_until_the_rate_is_kept() -> None:
    theirs, ours = leaders_log((4, 1)), opened(FakeDisk())
    whole = content(theirs)
    size = len(whole) // 4
    pieces = [whole[number * size : (number + 1) * size] for number in range(4)]
    leader = StubBroker(LEADER)
    leader.on(FetchRequest, *(answered(records=piece, high_watermark=4) for piece in pieces), SILENCE)
    began = trio.current_time()
    async with following(ours, leader, rate=str(size)):
        for count in range(1, 5):
            while ours.end_offset < count:
                await trio.sleep(0.1)
            # A batch a second; how long a follower rests may be added.
            assert count - 2 <= trio.current_time() - began <= 2 * count
        assert len(leader.requests(FetchRequest)) == 5, "it is in sync, and asks though the rate is exceeded"


@in_trio
async def test_a_replica_that_is_gone_before_it_was_looked_at_is_nobodys_end() -> None:
    theirs, ours = leaders_log((1, 1)), opened(FakeDisk())
    leader = StubBroker(LEADER)
    leader.on(FetchRequest, answered(records=content(theirs)), SILENCE)
    replica = FollowingReplica(TOPIC, TOPIC_ID, 0, ours, LEADER, EPOCH)
    async with trio.open_nursery() as nursery:
        broker: Any = StandInBroker(leader)
        fetching = ReplicaFetching(broker, lambda: 77, StubNetwork(nursery, (leader,)).open_stream)
        nursery.start_soon(fetching.run)
        for _ in range(2):
            fetching.follow(replica)
            fetching.stop((TOPIC, 0))
            await trio.testing.wait_all_tasks_blocked()
        assert leader.requests(FetchRequest) == []
        fetching.follow(replica)
        await trio.testing.wait_all_tasks_blocked()
        assert ours.end_offset == 1
        nursery.cancel_scope.cancel()
