"""Raft's effects done in order, what is committed shown, and a disk that fails ends it all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import trio

from ottla.cluster.image import ConfigType
from ottla.cluster.metadata_log import metadata_batch
from ottla.cluster.raft_log import OffsetAndEpoch
from ottla.cluster.raft_messages import fetch_request
from ottla.cluster.voters import ReplicaKey
from ottla.server.quorum import Quorum, QuorumFailed
from ottla.storage.batch_scan import LogFileDamaged
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.quorum import DescribeQuorumRequest
from tests.server.metadata_world import CLUSTER_ID, NODE_ID, PARTITION, MetadataWorld, a_quorum, setting
from tests.server.world import in_trio, until
from tests.storage.fake_disk import FakeDisk, NameLoss


def propose(quorum: Quorum, value: str, *, epoch: int | None = None) -> None:
    """Write one record as the leader, without a controller."""
    epoch = quorum.raft.epoch if epoch is None else epoch
    batch = metadata_batch([setting(value)], base_offset=quorum.end().offset, leader_epoch=epoch, timestamp=1)
    quorum.propose(batch, 1, epoch)


def value_of(world: MetadataWorld) -> str | None:
    return world.quorum.image.config_override(ConfigType.TOPIC, "topic", "retention.ms")


@in_trio
async def test_a_quorum_of_one_leads_and_tells_its_followers_in_order() -> None:
    async with a_quorum(FakeDisk()) as world:
        quorum = world.quorum
        assert quorum.raft.is_leader
        assert quorum.image.metadata_version > 0, "the first controller has written the features"
        told = world.told.news[world.told.news.index("committed 2") :]
        assert set(world.told.news[: -len(told)]) == {"deactivated"}, "a leader that is elected is not active yet"
        assert told[:3] == ["committed 2", "reached 3", "activated in 1"]
        assert told[-2:] == [f"committed {quorum.applied_offset - 1}", f"reached {quorum.applied_offset}"]


@in_trio
async def test_a_record_is_shown_when_it_is_synced_and_not_earlier() -> None:
    async with a_quorum(FakeDisk()) as world:
        propose(world.quorum, "1")
        assert value_of(world) is None
        assert world.quorum.end().offset == world.quorum.applied_offset + 1
        await world.settle()
        assert value_of(world) == "1"
        assert world.store.log.recovery_point == world.quorum.applied_offset


@in_trio
async def test_many_proposals_share_a_sync() -> None:
    disk = FakeDisk()
    async with a_quorum(disk) as world:
        before = len(disk.journal)
        for number in range(20):
            propose(world.quorum, str(number))
        await world.settle()
        syncs = [line for line in list(disk.journal)[before:] if "sync" in str(line) and ".log" in str(line)]
        assert 1 <= len(syncs) <= 2
        assert value_of(world) == "19"


@in_trio
async def test_the_vote_is_on_the_disk_before_the_first_record_of_an_epoch() -> None:
    """A power cut at any moment of a start: the epoch of a record in the log is never ahead of the quorum-state."""
    for count in range(1, 40):
        disk = FakeDisk(count)
        async with a_quorum(disk) as world:
            epoch = world.quorum.raft.epoch
        disk.crash_after(count)
        try:
            async with a_quorum(disk) as world:
                epoch = world.quorum.raft.epoch
        except BaseException:
            pass
        disk.crash(names=NameLoss.ANY)
        async with a_quorum(disk) as world:
            assert world.quorum.raft.epoch > epoch
            assert world.quorum.image.metadata_version > 0


@in_trio
async def test_what_was_shown_outlives_a_power_cut() -> None:
    for seed in range(10):
        disk = FakeDisk(seed)
        async with a_quorum(disk) as world:
            propose(world.quorum, "kept")
            await world.settle()
            propose(world.quorum, "perhaps")
            disk.crash()
        async with a_quorum(disk) as world:
            assert value_of(world) in ("kept", "perhaps")


@in_trio
async def test_a_second_life_has_the_same_image_and_a_later_epoch() -> None:
    disk = FakeDisk()
    async with a_quorum(disk) as world:
        propose(world.quorum, "1")
        await world.settle()
        image, epoch = world.quorum.image, world.quorum.raft.epoch
    async with a_quorum(disk) as world:
        assert world.quorum.raft.epoch > epoch
        assert world.quorum.raft.kraft_version == 1
        assert world.quorum.raft.voters.ids == [NODE_ID]
        assert (world.quorum.image.configs, world.quorum.image.features) == (image.configs, image.features)


@in_trio
async def test_a_follower_may_propose_while_it_is_told() -> None:
    """The next event comes when the effects of this one are done: raft asserts that."""

    async with a_quorum(FakeDisk()) as world:
        told: list[int] = []

        class Eager:
            def committed(self, change: object) -> None: ...

            def activated(self, epoch: int) -> None: ...

            def deactivated(self) -> None: ...

            def reached(self, offset: int) -> None:
                told.append(offset)
                if len(told) < 5:
                    propose(world.quorum, str(len(told)))
                    propose(world.quorum, str(len(told)))

        world.quorum.follow(Eager())
        propose(world.quorum, "0")
        await until(lambda: len(told) >= 5)
        await world.settle()
        assert value_of(world) == "4"
        assert told == sorted(told)


@in_trio
async def test_nobody_proposes_for_an_epoch_that_is_over() -> None:
    async with a_quorum(FakeDisk()) as world:
        end = world.quorum.end()
        with pytest.raises(KafkaError) as refused:
            propose(world.quorum, "1", epoch=0)
        assert refused.value.code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert world.quorum.end() == end


@in_trio
async def test_a_batch_that_is_too_large_is_refused_before_raft_hears_of_it() -> None:
    """A client could stop the node otherwise: what raft has been told must be written."""
    async with a_quorum(FakeDisk()) as world:
        world.change(*(setting("x" * 30_000, name=f"key-{number}") for number in range(300)))
        assert [answer.code for answer in world.answers] == [ErrorCode.POLICY_VIOLATION]
        assert "8388608 bytes" in world.answers[0].message
        world.change(setting("1"))
        await world.settle()
        assert value_of(world) == "1"


@in_trio
async def test_the_quorum_describes_itself() -> None:
    async with a_quorum(FakeDisk()) as world:
        answers: list[object] = []
        partition = DescribeQuorumRequest.PartitionData(partition_index=0)
        topic = DescribeQuorumRequest.TopicData(topic_name="__cluster_metadata", partitions=[partition])
        world.quorum.request(DescribeQuorumRequest(topics=[topic]), 2, "CONTROLLER", answers.append)
        (response,) = answers
        assert response.topics[0].partitions[0].leader_id == NODE_ID  # type: ignore[attr-defined]


# When the disk fails


@contextmanager
def fails() -> Iterator[None]:
    """The node ends, and for no other reason; both of the quorum's tasks may say so."""
    seen = False
    try:
        yield
    except* QuorumFailed:
        seen = True
    assert seen


async def failing(disk: FakeDisk, operation: str, pattern: str) -> MetadataWorld:
    """A quorum whose disk fails at the next proposal; returned when it has ended."""
    with fails():
        async with a_quorum(disk) as world:
            failed = world
            disk.fail(operation, pattern, forever=True)
            try:
                propose(world.quorum, "lost")
            except QuorumFailed:
                assert operation == "write"
            await trio.sleep_forever()
    return failed


@in_trio
async def test_a_failed_write_ends_the_node() -> None:
    """Raft is not told of it: it would go on with a log that ends elsewhere than it believes."""
    world = await failing(FakeDisk(), "write", "*.log")
    assert value_of(world) is None
    with pytest.raises(QuorumFailed):
        propose(world.quorum, "no more")
    with pytest.raises(QuorumFailed):
        world.quorum.request(DescribeQuorumRequest(topics=[]), 2, "CONTROLLER", lambda response: None)


@in_trio
async def test_a_failed_sync_ends_the_node_and_is_not_tried_again() -> None:
    disk = FakeDisk()
    world = await failing(disk, "sync", "*.log")
    assert value_of(world) is None
    disk.heal()
    with pytest.raises(KafkaError):
        world.store.close()


@in_trio
async def test_a_follower_that_breaks_ends_the_node() -> None:
    """Some would know of a change, and others not."""

    class Broken:
        def committed(self, change: object) -> None:
            raise ZeroDivisionError

        def activated(self, epoch: int) -> None: ...

        def deactivated(self) -> None: ...

        def reached(self, offset: int) -> None: ...

    with fails():
        async with a_quorum(FakeDisk()) as world:
            world.quorum.follow(Broken())
            propose(world.quorum, "1")
            await trio.sleep_forever()


@in_trio
async def test_a_full_disk_refuses_changes_and_nothing_else() -> None:
    disk = FakeDisk()
    async with a_quorum(disk) as world:
        disk.leave_free(1000)
        end = world.quorum.end()
        with pytest.raises(KafkaError, match="no space left") as refused:
            propose(world.quorum, "1")
        assert refused.value.code == ErrorCode.KAFKA_STORAGE_ERROR
        assert world.quorum.end() == end
        disk.heal()
        propose(world.quorum, "2")
        await world.settle()
        assert value_of(world) == "2"
        assert f"{PARTITION}/quorum-state" in disk.files()


@in_trio
async def test_time_passes_for_raft() -> None:
    """A leader of one is never out of touch with its quorum, however long it stands still."""
    async with a_quorum(FakeDisk()) as world:
        world.now_ms += 10**9
        propose(world.quorum, "1")
        await world.settle()
        assert world.quorum.raft.is_leader


@in_trio
async def test_an_effect_that_breaks_in_any_way_ends_the_node() -> None:
    """Those behind it are not done, and raft believes that they are."""
    with fails():
        async with a_quorum(FakeDisk()) as world:

            def damaged(offset: int, bytes_max: int) -> bytes:
                raise LogFileDamaged("no batch here")

            world.store.read_whole_batches = damaged  # type: ignore[method-assign]
            quorum = world.quorum
            end = OffsetAndEpoch(0, 0)
            request = fetch_request(CLUSTER_ID, ReplicaKey(9, b"9" * 16), quorum.raft.epoch, end, 0, 100, 100)
            with pytest.raises(QuorumFailed):
                quorum.request(request, 18, "CONTROLLER", lambda response: None)
            with pytest.raises(QuorumFailed):
                propose(quorum, "no more")
            await trio.sleep_forever()
