"""The quick way gives, byte for byte, what the long way gives, and leaves alone what it does not understand."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from ottla.cluster.in_sync_replicas import InSyncReplicas
from ottla.server.handlers import fetch, produce, quick_produce
from ottla.server.handlers.produce_parts import FIRST_VERSION_WITH_IDS
from ottla.server.partition import Partition
from ottla.server.routes import Route
from ottla.storage.files import OsFile
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.produce import ProduceRequest, ProduceResponse
from tests.server.world import TOPIC_ID, Client, World, a_world, batch, fetching, in_trio, producing, until

if TYPE_CHECKING:
    from ottla.server.in_sync_keeping import InSyncKeeping

QUICK_VERSIONS = range(9, 14)
LONG_WAY = tuple(route._replace(quick=None) for route in produce.ROUTES)

Watched = list[bool]


def watched(taken: Watched) -> tuple[Route, ...]:
    """The routes, with a note of whether the quick way took each Produce."""

    def quick(*args: Any) -> bool:
        taken.append(quick_produce.quick_produce(*args))
        return taken[-1]

    return (*(route._replace(quick=quick) for route in produce.ROUTES), *fetch.ROUTES)


async def answers(path: Path, routes: tuple[Route, ...], requests: list[bytes], **config: Any) -> list[bytes]:
    """What a broker with one topic of two partitions says to these requests, sent one after the other."""
    async with a_world(path, routes=routes) as world:
        for index in range(2):
            world.partition(index, **config)
        client = await world.connect()
        found = []
        for request in requests:
            await client.stream.send_all(request)
            found.append(await client.frame())
        return found


def framed(request: ProduceRequest, version: int, client_id: str | None = "client") -> bytes:
    return Client(None).encode(request, version, client_id)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", QUICK_VERSIONS)
@pytest.mark.parametrize("config", [{}, {"log_append_time": True}])
def test_both_ways_give_the_same_bytes(tmp_path: Path, version: int, config: dict[str, Any]) -> None:
    @in_trio
    async def compare() -> None:
        requests = [
            framed(producing(batch(b"a", b"b"), index=1), version),
            framed(producing(batch(b"c" * 300), index=1, acks=1), version, client_id=None),
            framed(producing(batch(b"d" * 40_000), index=0), version, client_id="ümlaut"),
        ]
        taken: Watched = []
        quick = await answers(tmp_path / "quick", watched(taken), requests, **config)
        assert taken == [True] * 3
        slow = await answers(tmp_path / "slow", LONG_WAY, requests, **config)
        if config:  # the time of the append differs between the two runs
            quick, slow = ([one[:-25] + one[-17:] for one in found] for found in (quick, slow))
        assert quick == slow

    compare()


@pytest.mark.parametrize("version", QUICK_VERSIONS)
@in_trio
async def test_requests_of_one_pass_are_answered_as_those_that_come_alone(tmp_path: Path, version: int) -> None:
    requests = [framed(producing(batch(b"x" * size), index=size % 2), version) for size in (1, 100, 20_000, 2)]
    async with a_world(tmp_path / "together", serves=False) as world:
        for index in range(2):
            world.partition(index)
        connection, client = world.local_connection()
        connection._receiver.reader.receive_data(b"".join(requests))
        connection.handle_pass()
        together = [await client.frame() for _ in requests]
        connection.close()
    async with a_world(tmp_path / "alone", serves=False) as world:
        for index in range(2):
            world.partition(index)
        connection, client = world.local_connection()
        alone = []
        for request in requests:
            comes_alone(connection, request)
            assert connection.is_alone
            alone.append(await client.frame())
        connection.close()
    assert together == alone


@in_trio
async def test_who_comes_alone_is_not_answered_before_those_who_wait(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        waiting = world.partition(0, flush_messages=1)
        world.partition(1)
        connection, client = world.local_connection()
        comes_alone(connection, client.encode(producing(batch()), 12))
        comes_alone(connection, client.encode(producing(batch(), index=1), 12))
        assert (connection.is_alone, connection.parked_count) == (False, 1)
        waiting.log.flush()
        waiting.flushed()
        world.broker.send_answers()
        assert [(await client.receive(ProduceRequest, 12))[0] for _ in range(2)] == [1, 2]
        connection.close()


def unusual(version: int) -> dict[str, bytes]:
    """Requests that are not of the usual shape, or that are to be refused."""
    plain = producing(batch())
    usual = framed(plain, version)
    two_topics = producing(batch())
    two_topics.topic_data.append(producing(batch(), index=1).topic_data[0])
    transactional = producing(batch())
    transactional.transactional_id = "t"
    marked = bytearray(batch())
    marked[22] |= 0x10
    damaged = bytearray(batch())
    damaged[-1] ^= 1
    return {
        "two topics": framed(two_topics, version),
        "no topics": framed(ProduceRequest(acks=1, timeout_ms=1, topic_data=[]), version),
        "no partitions": framed(producing(), version),
        "a transactional id": framed(transactional, version),
        "a batch of a transaction": framed(producing(bytes(marked)), version),
        "no records": framed(producing(None), version),
        "few records": framed(producing(b"x" * 60), version),
        "a damaged batch": framed(producing(bytes(damaged)), version),
        "two batches": framed(producing(batch() + batch()), version),
        "an unknown topic": framed(producing(batch(), topic="none", topic_id=b"another topic id"), version),
        "an unknown partition": framed(producing(batch(), index=7), version),
        "a negative partition": framed(producing(batch(), index=-1), version),
        "acks that mean nothing": framed(producing(batch(), acks=5), version),
        "a long name": framed(producing(batch(), topic="t" * 200), version),
        # A tag at the end of the request: its bytes are not those of an ending.
        "a tag": struct.pack(">i", len(usual) - 4 + 3) + usual[4:-1] + b"\1\x63\1x",
    }


@pytest.mark.parametrize("version", [9, 12, 13])
def test_what_is_not_usual_is_left_to_the_long_way(tmp_path: Path, version: int) -> None:
    @in_trio
    async def compare() -> None:
        requests = unusual(version)
        if version >= FIRST_VERSION_WITH_IDS:
            del requests["a long name"]  # there are no names
        taken: Watched = []
        found = await answers(tmp_path / "quick", watched(taken), list(requests.values()))
        assert dict(zip(requests, taken, strict=True)) == dict.fromkeys(requests, False)
        assert found == await answers(tmp_path / "slow", LONG_WAY, list(requests.values()))

    compare()


@in_trio
async def test_acks_0_and_internal_topics_are_left_to_the_long_way(tmp_path: Path) -> None:
    taken: Watched = []
    async with a_world(tmp_path, routes=watched(taken)) as world:
        partition = world.partition()
        world.partition(topic="__consumer_offsets", topic_id=bytes(15) + b"1")
        client = await world.connect()
        await client.send((producing(batch(), acks=0), 12))
        await until(lambda: partition.log.end_offset == 1)
        response = await client.ask(producing(batch(), topic="__consumer_offsets"), 12)
        assert response.responses[0].partition_responses[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
        assert taken == [False, False]


@pytest.mark.parametrize("cut", range(4, 60, 5))
@in_trio
async def test_a_request_that_ends_early_closes_the_connection(tmp_path: Path, cut: int) -> None:
    async with a_world(tmp_path) as world:
        world.partition()
        client = await world.connect()
        whole = framed(producing(batch()), 12)[4:]
        await client.stream.send_all(struct.pack(">i", cut) + whole[:cut])
        assert await client.is_cut_off()


@in_trio
async def test_answers_wait_for_the_disk_where_they_must(tmp_path: Path) -> None:
    taken: Watched = []
    async with a_world(tmp_path, routes=watched(taken), serves=False) as world:
        partition = world.partition(flush_messages=1)
        connection, client = world.local_connection()
        await handled(world, connection, client, 3)
        assert (taken, connection.parked_count, partition.log.end_offset) == ([True] * 3, 3, 3)
        world.nursery.start_soon(world.broker.flusher.run)
        for number in range(3):
            correlation_id, response = await client.receive(ProduceRequest, 12)
            assert correlation_id == number + 1
            assert response.responses[0].partition_responses[0].base_offset == number
        assert partition.log.recovery_point == 3
        connection.close()


@pytest.mark.parametrize("is_alone", [False, True])
@in_trio
async def test_a_sync_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_alone: bool) -> None:
    async with a_world(tmp_path, serves=False) as world:
        world.append(world.partition(flush_messages=1), b"the epoch is on the disk")
        connection, client = world.local_connection()
        monkeypatch.setattr(OsFile, "sync", failing)
        if is_alone:
            comes_alone(connection, client.encode(producing(batch()), 12))
        else:
            await handled(world, connection, client, 1)
        assert connection.parked_count == 1
        world.nursery.start_soon(world.broker.flusher.run)
        await expect_storage_error(client)
        connection.close()


@in_trio
async def test_a_write_that_fails_is_told_to_everybody_in_the_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_world(tmp_path, serves=False) as world:
        world.partition()
        connection, client = world.local_connection()
        monkeypatch.setattr(OsFile, "write_at", failing)
        await handled(world, connection, client, 2)
        for _ in range(2):
            await expect_storage_error(client)
        connection.close()


@in_trio
async def test_a_write_that_fails_is_told_to_who_came_alone_and_the_next_may_succeed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: Any) -> None:
        raise OSError(28, "no space left on device")

    async with a_world(tmp_path, serves=False) as world:
        partition = world.partition()
        world.append(partition, b"the epoch is on the disk")
        connection, client = world.local_connection()
        with monkeypatch.context() as patch:
            patch.setattr(OsFile, "write_at", full)
            comes_alone(connection, client.encode(producing(batch()), 12))
        await expect_storage_error(client)
        comes_alone(connection, client.encode(producing(batch()), 12))
        _, response = await client.receive(ProduceRequest, 12)
        assert response.responses[0].partition_responses[0].error_code == ErrorCode.NONE
        assert (partition.commit_error, partition.log.end_offset) == (None, 2)
        connection.close()


@in_trio
async def test_a_mistake_of_ours_in_writing_is_told_to_who_came_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any) -> None:
        raise ValueError("a mistake")

    async with a_world(tmp_path, serves=False) as world:
        world.append(world.partition(), b"the epoch is on the disk")
        connection, client = world.local_connection()
        monkeypatch.setattr(OsFile, "write_at", broken)
        comes_alone(connection, client.encode(producing(batch()), 12))
        _, response = await client.receive(ProduceRequest, 12)
        assert response.responses[0].partition_responses[0].error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        connection.close()


def failing(*args: Any) -> None:
    raise OSError(5, "input/output error")


async def handled(world: World, connection: Any, client: Client, count: int) -> None:
    """So many requests come in one pass."""
    data = b"".join(client.encode(producing(batch()), 12) for _ in range(count))
    connection._receiver.reader.receive_data(data)
    connection.handle_pass()


def comes_alone(connection: Any, data: bytes) -> None:
    """This request comes whole, and nothing with it."""
    connection._receiver.only = connection._receiver.reader.whole(data, len(data))
    connection.handle_pass()


async def expect_storage_error(client: Client) -> None:
    _, response = await client.receive(ProduceRequest, 12)
    (topic,) = response.responses
    assert (topic.name, topic.partition_responses[0].error_code) == ("t", ErrorCode.KAFKA_STORAGE_ERROR)


@in_trio
async def test_a_partition_that_is_not_led_any_more_is_not_found(tmp_path: Path) -> None:
    taken: Watched = []
    async with a_world(tmp_path, routes=watched(taken)) as world:
        world.partition()
        client = await world.connect()
        for version in (12, 13):
            assert (await client.ask(producing(batch()), version)).responses[0].partition_responses[0].error_code == 0
        world.broker.resign("t", TOPIC_ID, 0)
        for version, code in ((12, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), (13, ErrorCode.UNKNOWN_TOPIC_ID)):
            response: ProduceResponse = await client.ask(producing(batch()), version)
            assert response.responses[0].partition_responses[0].error_code == code
        assert taken == [True, True, False, False]


@in_trio
async def test_answers_keep_their_place_between_others(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.partition()
        client = await world.connect()
        requests = [(producing(batch()), 12), (producing(batch(), batch()), 12), (fetching(), 12)] * 3
        await client.send(*requests)
        for number, (request, version) in enumerate(requests, 1):
            correlation_id, _ = await client.receive(type(request), version)
            assert correlation_id == number


@in_trio
async def test_a_client_that_goes_before_its_answer_is_there_hurts_nobody(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = world.partition(flush_messages=1)
        connection, client = world.local_connection()
        await handled(world, connection, client, 2)
        connection.close()
        world.nursery.start_soon(world.broker.flusher.run)
        await until(lambda: partition.log.recovery_point == 2)
        assert partition.log.high_watermark == 2


class Replicated:
    """A partition with a follower; the test says what that one has."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.has_enough = True
        self.end_offset = 0
        self.partition = world.partition()
        self.partition.in_sync = InSyncReplicas(1, (1, 2), (1, 2), 0, epoch_start_offset=0, now_ms=0)
        self.partition.committed_end = lambda partition: self.end_offset
        world.broker.in_sync = cast("InSyncKeeping", self)

    def check_enough(self, partition: Partition) -> None:
        if not self.has_enough:
            raise KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS, "too few")

    def commit_to(self, end_offset: int) -> None:
        self.end_offset = end_offset
        self.partition.update_high_watermark(0)
        self.world.broker.send_answers()


async def replicated_answers(path: Path, routes: tuple[Route, ...], version: int) -> list[bytes]:
    """Of a batch that comes to be everywhere, one that is there at once, and those that are not."""
    plain = framed(producing(batch()), version)
    late = producing(batch())
    late.timeout_ms = 1
    found = []
    async with a_world(path, routes=routes) as world:
        kept = Replicated(world)
        stored = kept.partition.log
        client = await world.connect()
        await client.stream.send_all(plain)
        await until(lambda: stored.end_offset == 1)
        kept.commit_to(1)
        found.append(await client.frame())
        kept.end_offset = 2
        await client.stream.send_all(plain)
        found.append(await client.frame())
        await client.stream.send_all(framed(late, version))
        found.append(await client.frame())
        kept.commit_to(3)  # too late, and of no consequence
        kept.has_enough = False
        await client.stream.send_all(plain)
        found.append(await client.frame())
        kept.has_enough = True
        await client.stream.send_all(plain)
        await until(lambda: stored.end_offset == 4)
        world.broker.resign("t", TOPIC_ID, 0)
        found.append(await client.frame())
    return found


@pytest.mark.parametrize("version", [12, 13])
def test_where_all_replicas_are_waited_for_both_ways_give_the_same_bytes(tmp_path: Path, version: int) -> None:
    @in_trio
    async def compare() -> None:
        taken: Watched = []
        quick = await replicated_answers(tmp_path / "quick", watched(taken), version)
        assert taken == [True, True, True, False, True]
        assert quick == await replicated_answers(tmp_path / "slow", LONG_WAY, version)
        codes = [ErrorCode.NONE] * 2
        codes += [ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.NOT_LEADER_OR_FOLLOWER]
        responses = [ProduceResponse.decode(frame, version, 5) for frame in quick]
        assert [one.responses[0].partition_responses[0].error_code for one in responses] == codes

    compare()


@in_trio
async def test_a_client_that_goes_before_all_replicas_have_its_batch_hurts_nobody(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        kept = Replicated(world)
        connection, client = world.local_connection()
        await handled(world, connection, client, 2)
        assert connection.parked_count == 2
        connection.close()
        kept.commit_to(2)
        assert kept.partition.log.high_watermark == 2
