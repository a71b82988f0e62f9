"""The broker finds partitions by name and id, and ends a pass in the right order."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
import trio

from ottla.cluster.image import MetadataLoader
from ottla.server.controller_channel import OnBehalf
from ottla.server.partition import Partition
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.stored.metadata_records import ConfigRecord, PartitionRecord, TopicRecord
from tests.server.world import LEADER_EPOCH, NOW_MS, TOPIC_ID, World, a_world, batch, in_trio

OTHER_ID = b"another topic id"


def tell(world: World, *records: Any) -> None:
    """The metadata says this."""
    loader = MetadataLoader()
    loader.load(list(records), base_offset=0, last_offset=len(records) - 1, epoch=1, timestamp_ms=NOW_MS)
    world.broker.image = loader.image


def code_of(call: Any, *arguments: Any) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        call(*arguments)
    return caught.value.code


def elsewhere(topic: str = "elsewhere", topic_id: bytes = OTHER_ID) -> list[Any]:
    """A topic whose partition is led by another broker."""
    partition = PartitionRecord(
        partition_id=0,
        topic_id=topic_id,
        replicas=[2],
        isr=[2],
        removing_replicas=[],
        adding_replicas=[],
        leader=2,
        leader_epoch=0,
        partition_epoch=0,
    )
    return [TopicRecord(name=topic, topic_id=topic_id), partition]


@in_trio
async def test_a_partition_is_found_by_name_and_by_id_or_it_is_said_what_is_wrong(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        broker = world.broker
        partition = world.partition(2)
        tell(world, *elsewhere())
        assert broker.partition("t", 2) is broker.partition_by_id(TOPIC_ID, 2) is broker.led(TOPIC_ID, 2) is partition
        assert broker.partitions() == [partition]
        assert code_of(broker.partition, "t", 3) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert code_of(broker.partition, "elsewhere", 0) == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert code_of(broker.partition_by_id, bytes(16), 0) == ErrorCode.UNKNOWN_TOPIC_ID
        assert code_of(broker.partition_by_id, OTHER_ID, 0) == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert code_of(broker.partition_by_id, OTHER_ID, 1) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert broker.led(OTHER_ID, 0) is None


@in_trio
async def test_a_partition_that_was_given_up_is_not_found_and_its_successor_stays(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        broker = world.broker
        old = world.partition(0)
        world.partition(1)
        assert broker.resign("t", OTHER_ID, 0) is None
        # The topic was deleted and made anew under its name: the old id goes, the new one stays.
        new = Partition("t", OTHER_ID, 0, old.log, LEADER_EPOCH)
        broker.lead(new)
        assert broker.resign("t", TOPIC_ID, 0) is old
        assert broker.partition("t", 0) is new
        assert broker.resign("t", OTHER_ID, 0) is new
        assert broker.resign("t", TOPIC_ID, 1) is not None
        assert broker.partitions() == []
        assert broker._by_id == {}


@in_trio
async def test_the_epoch_that_a_client_believes_in_must_be_ours(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = world.partition()
        check = world.broker.check_leader_epoch
        check(partition, -1)
        check(partition, LEADER_EPOCH)
        assert code_of(check, partition, LEADER_EPOCH - 1) == ErrorCode.FENCED_LEADER_EPOCH
        assert code_of(check, partition, LEADER_EPOCH + 1) == ErrorCode.UNKNOWN_LEADER_EPOCH


@in_trio
async def test_the_compression_of_a_topic_is_its_own_or_the_brokers(tmp_path: Path) -> None:
    async with a_world(tmp_path, {"compression.type": "gzip"}, serves=False) as world:
        tell(world, ConfigRecord(resource_type=2, resource_name="t", name="compression.type", value="zstd"))
        assert world.broker.compression_type("t") == "zstd"
        assert world.broker.compression_type("u") == "gzip"


@in_trio
async def test_what_waits_for_the_end_of_a_pass_comes_after_the_write_and_may_bring_more(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = world.partition()
        broker = world.broker
        ends: list[int] = []

        def stage() -> None:
            partition.stage(batch(), NOW_MS)
            broker.staged(partition)

        def first() -> None:
            ends.append(partition.log.end_offset)
            stage()
            broker.after_pass(lambda: ends.append(partition.log.end_offset))

        stage()
        broker.after_pass(first)
        broker.end_pass()
        assert ends == [1, 2]


@in_trio
async def test_class_13_a_mistake_at_the_end_of_a_pass_is_noted_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with a_world(tmp_path, serves=False) as world:
        broken, whole = world.partition(0), world.partition(1)
        done: list[str] = []

        def fail() -> None:
            raise ZeroDivisionError("ours")

        def commit(log: Any) -> None:
            if log is broken.log:
                fail()
            original(log)

        original = type(broken.log).commit
        for partition in (broken, whole):
            partition.stage(batch(), NOW_MS)
            world.broker.staged(partition)
        monkeypatch.setattr(type(broken.log), "commit", commit)
        world.broker.after_pass(fail)
        world.broker.after_pass(lambda: done.append("done"))
        world.broker.end_pass()
        assert done == ["done"]
        assert broken.commit_error is not None
        assert broken.commit_error.code == ErrorCode.UNKNOWN_SERVER_ERROR
        assert whole.log.end_offset == 1
        assert "t-0 cannot be written" in caplog.text
        assert "an answer cannot be made" in caplog.text


@in_trio
async def test_a_failure_of_a_log_that_is_in_no_directory_any_more_is_nobodys(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = world.partition()
        world.directories.delete(("t", 0), "0" * 32, NOW_MS)
        world.broker._storage_failed(partition)
        assert world.directories.online


# What the controller and the quorum have to say


class Channel:
    """Asks the controller at once; what becomes of it is told now, or when the test says so."""

    def __init__(self, *, error: KafkaError | None = None, tells_now: bool = True) -> None:
        self.error = error
        self.tells_now = tells_now
        self.done: Any = None

    def ask(self, request: Any, version: int, done: Any, *, on_behalf: OnBehalf) -> None:
        self.done = done
        if self.tells_now:
            done(None if self.error is not None else f"answer to {request} v{version} of {on_behalf.host}", self.error)


class Place:
    def __init__(self) -> None:
        self.replies: list[Any] = []

    def fill(self, reply: Any) -> None:
        self.replies.append(reply)


CLIENT = OnBehalf("User:ANONYMOUS", "127.0.0.1", "client")


def changed(world: World, channel: Any, **options: Any) -> tuple[Any, Place]:
    """A change that is under way, and where its answer goes."""
    world.broker.channel = channel
    pending = world.broker.ask_controller(cast("Any", "it"), 3, CLIENT, lambda result: f"from the {result}", **options)
    place = pending.place = Place()
    pending.refuse = lambda error: error.code
    return pending, place


@in_trio
async def test_a_change_is_answered_when_the_pass_ends_in_which_it_is_committed(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        pending, place = changed(world, Channel())
        assert pending.stops_line
        assert place.replies == []
        world.broker.end_pass()
        assert place.replies == ["from the answer to it v3 of 127.0.0.1"]


@in_trio
async def test_a_change_that_is_refused_at_once_is_the_handlers_error(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        error = KafkaError(ErrorCode.NOT_CONTROLLER, "elsewhere")
        assert code_of(changed, world, Channel(error=error)) == ErrorCode.NOT_CONTROLLER


@in_trio
async def test_a_change_that_is_lost_later_fails_as_a_whole(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        channel = Channel(tells_now=False)
        _, place = changed(world, channel)
        channel.done(None, KafkaError(ErrorCode.NOT_CONTROLLER, "the controller has moved"))
        world.broker.end_pass()
        assert place.replies == [ErrorCode.NOT_CONTROLLER]


class Quorum:
    """Answers at once, or keeps the way to answer later."""

    class raft:
        kraft_version = 1

    def __init__(self, *, answers_now: bool) -> None:
        self.answers_now = answers_now
        self.answer: Any = None

    def request(self, request: Any, version: int, listener: str, answer: Any) -> None:
        self.answer = answer
        if self.answers_now:
            answer(f"v{version} on {listener}")


@in_trio
async def test_the_quorum_answers_now_or_later(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        broker: Any = world.broker
        broker.quorum = Quorum(answers_now=True)
        assert broker.ask_quorum(None, 2, "PLAINTEXT") == "v2 on PLAINTEXT"
        assert broker.kraft_version == 1
        broker.quorum = Quorum(answers_now=False)
        pending = broker.ask_quorum(None, 2, "PLAINTEXT")
        place = pending.place = Place()
        broker.quorum.answer("later")
        assert place.replies == ["later"]


@in_trio
async def test_producer_ids_come_from_whoever_keeps_them(tmp_path: Path) -> None:
    class Ids:
        def next(self) -> int:
            return 4000

    async with a_world(tmp_path, serves=False) as world:
        broker: Any = world.broker
        broker.producer_ids = Ids()
        assert broker.next_producer_id() == 4000


@in_trio
async def test_a_change_that_takes_too_long_is_answered_and_goes_on(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        channel = Channel(tells_now=False)
        _, place = changed(world, channel, timeout_ms=5000)
        now = trio.current_time()
        world.broker.deadlines.expire_until(now + 4)
        assert place.replies == []
        world.broker.deadlines.expire_until(now + 6)
        assert place.replies == [ErrorCode.REQUEST_TIMED_OUT]
        channel.done("result", None)
        world.broker.end_pass()
        assert place.replies == [ErrorCode.REQUEST_TIMED_OUT]
