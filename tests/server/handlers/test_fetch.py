"""Fetch: whole batches within the limits, at once or as soon as there is enough, and honest errors."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from ottla.server.handlers import fetch as fetch_module
from ottla.server.parking import Pending
from ottla.server.partition import Partition
from ottla.server.transport import FileRange
from ottla.storage.batch_scan import LogFileDamaged
from ottla.storage.log_trimming import advance_start
from ottla.storage.producer_state import AppendOrigin
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.fetch import FetchRequest, FetchResponse
from ottla.wire.records import EndTransactionMarker, end_transaction_batch
from tests.server.handler_world import LEADER_EPOCH, NOW_MS, World
from tests.server.world import (
    FETCH,
    TOPIC_ID,
    Client,
    a_world,
    batch,
    by_test_clock,
    fetched,
    fetching,
    in_trio,
    pass_time,
    until,
    values_of,
)
from tests.server.world import World as ServedWorld

HOUR_MS = 3_600_000
COMMITTED = 1


def answered(world: World, request: FetchRequest, version: int = 12) -> FetchResponse:
    """The answer as the client decodes it."""
    serving = world.serving[1]
    sent = FetchRequest.decode(request.encode(version), version)
    try:
        reply = serving.handler(world.context(version), sent)
    except KafkaError as error:
        reply = serving.on_error(sent, error)
    assert isinstance(reply, FetchResponse), "it was parked"
    pieces = [
        piece.file.read_at(piece.position, piece.size_bytes) if isinstance(piece, FileRange) else bytes(piece)
        for piece in reply.pieces(version)
    ]
    return FetchResponse.decode(b"".join(pieces), version)


def ask(world: World, request: FetchRequest, version: int = 12) -> dict[int, FetchResponse.PartitionData]:
    return fetched(answered(world, request, version))


def append(partition: Partition, *values: bytes, **more: Any) -> None:
    partition.log.append(batch(*values, **more), leader_epoch=LEADER_EPOCH, now_ms=NOW_MS)
    partition.update_high_watermark(0)


# What can be read


@pytest.mark.parametrize("version", range(4, 19))
def test_records_are_given_with_what_is_known_of_the_partition_in_every_version(world: World, version: int) -> None:
    topic_id = world.topic("t")
    append(world.partition("t"), b"a")
    append(world.partition("t"), b"b")
    part = ask(world, fetching(1, topic_id=topic_id), version)[0]
    assert values_of(part.records) == [b"b"]
    assert (part.error_code, part.high_watermark, part.last_stable_offset) == (0, 2, 2)
    assert part.log_start_offset == (0 if version >= 5 else -1)
    assert part.aborted_transactions is None
    assert part.preferred_read_replica == -1


def test_the_first_batch_comes_however_large_it_is_and_the_rest_keeps_to_the_limits(world: World) -> None:
    world.topic("t", 3)
    for index in range(3):
        for number in range(4):
            append(world.partition("t", index), bytes([number]) * 1000)
    size_bytes = len(batch(bytes(1000)))

    def counts(**limits: int) -> list[int]:
        parts = ask(world, fetching(indexes=range(3), **limits))
        return [len(values_of(parts[index].records)) for index in range(3)]

    assert counts() == [4, 4, 4]
    assert counts(partition_bytes=1) == [1, 0, 0]
    assert counts(partition_bytes=2 * size_bytes + 5) == [2, 2, 2]
    assert counts(max_bytes=1) == [1, 0, 0]
    assert counts(max_bytes=5 * size_bytes) == [4, 1, 0]
    assert counts(max_bytes=0) == [1, 0, 0]
    assert counts(max_bytes=-(2**31)) == [1, 0, 0]
    assert world.partition("t").log.failure is None


def test_a_limit_below_zero_is_refused_where_there_is_something_to_read(world: World) -> None:
    world.topic("t", 2)
    append(world.partition("t", 0), b"a")
    parts = ask(world, fetching(indexes=range(2), partition_bytes=-(2**31)))
    assert [parts[index].error_code for index in range(2)] == [ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.NONE]
    assert (parts[0].high_watermark, parts[1].high_watermark) == (-1, 0)


def test_an_isolation_level_that_is_none_fails_the_request_where_a_partition_is_there(world: World) -> None:
    topic_id = world.topic("t")
    response = answered(world, fetching(isolation_level=2), 12)
    ((part,),) = (topic.partitions for topic in response.responses)
    assert (response.error_code, part.error_code) == (ErrorCode.UNKNOWN_SERVER_ERROR,) * 2
    by_id = answered(world, fetching(isolation_level=2, topic_id=topic_id), 13)
    assert (by_id.error_code, by_id.responses) == (ErrorCode.UNKNOWN_SERVER_ERROR, [])
    missing = answered(world, fetching(topic="nope", isolation_level=2), 12)
    assert missing.error_code == ErrorCode.NONE


@pytest.mark.parametrize("world", [{"fetch.max.bytes": "2048"}], indirect=True)
def test_the_broker_bounds_what_one_answer_holds(world: World) -> None:
    world.topic("t")
    for _ in range(5):
        append(world.partition("t"), bytes(1000))
    # More than may be given is not waited for either.
    part = ask(world, fetching(wait_ms=HOUR_MS, min_bytes=1 << 20, max_bytes=1 << 30))[0]
    assert len(values_of(part.records)) == 1


@pytest.mark.parametrize("offset", [-1, 3, 1 << 62])
def test_an_offset_outside_the_log_is_an_error_without_an_offset(world: World, offset: int) -> None:
    world.topic("t")
    append(world.partition("t"), b"a", b"b")
    part = ask(world, fetching(offset, wait_ms=HOUR_MS))[0]
    assert part.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert (part.high_watermark, part.last_stable_offset, part.log_start_offset) == (-1, -1, -1)
    assert not part.records


@pytest.mark.parametrize("version", [12, 13])
def test_partitions_that_are_not_here_are_named_as_such(world: World, version: int) -> None:
    there = world.topic("t")
    elsewhere = world.topic("elsewhere", replicas=[2], leader=2)
    unknown = ErrorCode.UNKNOWN_TOPIC_ID if version == 13 else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    for topic, topic_id, index, code in [
        ("none", bytes(16), 0, unknown),
        ("t", there, 5, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("elsewhere", elsewhere, 0, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ]:
        request = fetching(topic=topic, topic_id=topic_id, indexes=[index], wait_ms=HOUR_MS)
        assert ask(world, request, version)[index].error_code == code


def test_the_leader_epoch_of_the_client_is_checked(world: World) -> None:
    world.topic("t")
    assert ask(world, fetching(leader_epoch=LEADER_EPOCH))[0].error_code == 0
    assert ask(world, fetching(leader_epoch=LEADER_EPOCH - 1))[0].error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert ask(world, fetching(leader_epoch=LEADER_EPOCH + 1))[0].error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert ask(world, fetching(leader_epoch=-2))[0].error_code == 0, "any negative epoch is none"


def test_who_believes_an_old_leader_is_told_of_the_new_one_from_version_16_on(world: World) -> None:
    topic_id = world.topic("t")
    for version in (15, 16, 18):
        part = ask(world, fetching(topic_id=topic_id, leader_epoch=LEADER_EPOCH - 1), version)[0]
        leader = (part.current_leader.leader_id, part.current_leader.leader_epoch)
        assert leader == ((1, LEADER_EPOCH) if version >= 16 else (-1, -1))


def test_with_the_leader_comes_its_address_from_version_16_on(world: World) -> None:
    world.register(2, rack="r")
    topic_id = world.topic("t", 2, replicas=[2], leader=2)
    for version in (15, 16, 18):
        response = answered(world, fetching(topic_id=topic_id, indexes=[0, 1]), version)
        found = [(one.node_id, one.host, one.port, one.rack) for one in response.node_endpoints]
        assert found == ([(2, "host-2", 9092, "r")] if version >= 16 else [])
    state = FetchRequest.ReplicaState(replica_id=3)
    assert answered(world, fetching(topic_id=topic_id, replica_state=state), 18).node_endpoints == [], "brokers know"


def test_a_consumer_that_read_in_another_epoch_is_told_where_that_ended(world: World) -> None:
    world.topic("t")
    append(world.partition("t"), b"a")
    append(world.partition("t"), b"b")
    request = fetching(1)
    (asked,) = request.topics[0].partitions
    asked.last_fetched_epoch = LEADER_EPOCH
    assert ask(world, request)[0].diverging_epoch.end_offset == -1
    asked.last_fetched_epoch = LEADER_EPOCH - 1
    part = ask(world, request)[0]
    assert (part.error_code, part.diverging_epoch.end_offset) == (0, 0)
    asked.last_fetched_epoch = LEADER_EPOCH + 1
    assert ask(world, request)[0].error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_where_a_log_begins_later_there_is_nothing_to_compare_with(world: World) -> None:
    world.topic("t")
    stored = world.partition("t").log
    for epoch in (LEADER_EPOCH - 2,) * 3 + (LEADER_EPOCH,):
        stored.append(batch(), leader_epoch=epoch, now_ms=NOW_MS)
    stored.advance_high_watermark(4)
    request = fetching(1)
    request.topics[0].partitions[0].last_fetched_epoch = LEADER_EPOCH - 1
    assert ask(world, request)[0].diverging_epoch.epoch == LEADER_EPOCH - 2
    advance_start(stored, 2)
    assert ask(world, request)[0].error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_partitions_that_are_not_there_come_last_and_without_transactions(world: World) -> None:
    world.topic("t", 2)
    found = ask(world, fetching(indexes=[7, 1, 0]))
    assert list(found) == [1, 0, 7]
    assert found[7].aborted_transactions == []


def test_clients_too_old_for_zstd_are_not_given_a_topic_that_has_it(world: World) -> None:
    world.topic("t", configs={"compression.type": "zstd"})
    world.topic("u")
    append(world.partition("t"), b"a")
    assert ask(world, fetching(), 9)[0].error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert ask(world, fetching(), 10)[0].error_code == 0
    assert ask(world, fetching(topic="u"), 9)[0].error_code == 0


@pytest.mark.parametrize("version", [5, 12])
def test_what_is_damaged_is_an_error_of_its_partition(
    world: World, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    world.topic("t", 2)
    for index in range(2):
        append(world.partition("t", index), b"a")
    read = fetch_module.read

    def damaged(log: Any, *arguments: Any, **more: Any) -> Any:
        if log is world.partition("t", 0).log:
            raise LogFileDamaged("a byte is wrong")
        return read(log, *arguments, **more)

    monkeypatch.setattr(fetch_module, "read", damaged)
    parts = ask(world, fetching(indexes=[0, 1]), version)
    assert parts[0].error_code == ErrorCode.CORRUPT_MESSAGE
    assert values_of(parts[1].records) == [b"a"]


@pytest.mark.parametrize("version", [5, 12])
def test_a_request_that_fails_as_a_whole_says_so_where_the_client_looks(world: World, version: int) -> None:
    serving = world.serving[1]
    sent = fetching(indexes=[0, 1])
    reply = serving.on_error(sent, KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "ours"))
    response = FetchResponse.decode(reply.encode(version), version)
    assert response.error_code == (ErrorCode.UNKNOWN_SERVER_ERROR if version >= 7 else 0)
    assert [part.error_code for part in fetched(response).values()] == [ErrorCode.UNKNOWN_SERVER_ERROR] * 2


# Transactions


def test_readers_of_what_is_committed_stop_at_an_open_transaction_and_are_told_of_aborted_ones(world: World) -> None:
    world.topic("t")
    partition = world.partition("t")
    numbers = {"producer_id": 7, "producer_epoch": 0, "is_transactional": True}
    append(partition, b"plain")
    append(partition, b"doomed", base_sequence=0, **numbers)
    abort = end_transaction_batch(
        EndTransactionMarker(is_commit=False, coordinator_epoch=0), producer_id=7, producer_epoch=0, timestamp=NOW_MS
    )
    partition.log.append(abort, leader_epoch=LEADER_EPOCH, now_ms=NOW_MS, origin=AppendOrigin.COORDINATOR)
    partition.update_high_watermark(0)
    append(partition, b"open", base_sequence=1, **numbers)
    part = ask(world, fetching(isolation_level=COMMITTED))[0]
    assert (part.high_watermark, part.last_stable_offset) == (4, 3)
    assert values_of(part.records)[:2] == [b"plain", b"doomed"]
    assert part.aborted_transactions is not None
    assert [(one.producer_id, one.first_offset) for one in part.aborted_transactions] == [(7, 1)]
    assert ask(world, fetching(3, isolation_level=COMMITTED))[0].aborted_transactions == []
    assert values_of(ask(world, fetching(3))[0].records) == [b"open"]


# Sessions


def session_of(response: FetchResponse) -> int:
    assert response.error_code == 0
    assert response.session_id > 0
    return response.session_id


def test_a_session_tells_what_has_changed_and_nothing_else(world: World) -> None:
    world.topic("t", 3)
    first = answered(world, fetching(indexes=range(3), session_epoch=0))
    assert list(fetched(first)) == [0, 1, 2]
    session_id = session_of(first)
    append(world.partition("t", 1), b"news")
    changed = answered(world, fetching(indexes=[], session_id=session_id, session_epoch=1))
    assert list(fetched(changed)) == [1]
    # It had data and is at the end now; it says it again, since the client has not moved on.
    append(world.partition("t", 2), b"more")
    changed = answered(world, fetching(indexes=[], session_id=session_id, session_epoch=2))
    assert list(fetched(changed)) == [2, 1]
    moved_on = fetching(1, indexes=[1, 2], session_id=session_id, session_epoch=3)
    assert fetched(answered(world, moved_on)) == {}
    forgotten = [FetchRequest.ForgottenTopic(topic="t", topic_id=TOPIC_ID, partitions=[0])]
    append(world.partition("t", 0), b"unheard")
    last = fetching(indexes=[], session_id=session_id, session_epoch=4, forgotten_topics_data=forgotten)
    assert fetched(answered(world, last)) == {}


def test_errors_of_sessions_are_those_of_the_whole_request(world: World) -> None:
    world.topic("t")
    session_id = session_of(answered(world, fetching(session_epoch=0)))
    for number, epoch, version, code in [
        (session_id + 1, 1, 12, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
        (session_id, 7, 12, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
        (session_id, 1, 13, ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR),
    ]:
        response = answered(world, fetching(session_id=number, session_epoch=epoch), version)
        assert (response.error_code, response.session_id, response.responses) == (code, 0, [])


@pytest.mark.parametrize("world", [{"max.incremental.fetch.session.cache.slots": "1"}], indirect=True)
def test_class_20_who_gets_no_session_is_answered_in_full_each_time(world: World) -> None:
    world.topic("t")
    session_of(answered(world, fetching(session_epoch=0)))
    for _ in range(2):
        response = answered(world, fetching(session_epoch=0))
        assert (response.error_code, response.session_id, list(fetched(response))) == (0, 0, [0])


def test_a_topic_that_comes_back_is_news_to_a_session(world: World) -> None:
    topic_id = world.topic("t")
    partition = world.partition("t")
    session_id = session_of(answered(world, fetching(topic_id=topic_id, session_epoch=0), 13))
    world.broker.resign("t", topic_id, 0)
    for epoch in (1, 2):
        response = answered(world, fetching(indexes=[], session_id=session_id, session_epoch=epoch), 13)
        assert fetched(response)[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    world.broker.lead(partition)
    response = answered(world, fetching(indexes=[], session_id=session_id, session_epoch=3), 13)
    assert fetched(response)[0].error_code == 0


# Waiting


async def parked(world: ServedWorld, request: FetchRequest) -> Client:
    """A client whose Fetch has come and was not answered."""
    client = await world.connect()
    count = sum(len(partition._watchers) for partition in world.broker.partitions())
    await client.send((request, FETCH))
    await until(lambda: sum(len(partition._watchers) for partition in world.broker.partitions()) > count)
    return client


async def received(client: Client) -> dict[int, FetchResponse.PartitionData]:
    return fetched((await client.receive(FetchRequest, FETCH))[1])


@in_trio
async def test_a_fetch_waits_for_as_many_bytes_as_it_wants_from_all_its_partitions(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        first, second = world.partition(0), world.partition(1)
        world.append(first, b"a")
        client = await parked(world, fetching(indexes=[0, 1], wait_ms=HOUR_MS, min_bytes=3 * len(batch(b"a"))))
        world.append(second, b"b")
        assert client.stream.socket.fileno() >= 0
        assert first._watchers
        world.append(second, b"c")
        parts = await received(client)
        assert [values_of(parts[index].records) for index in (0, 1)] == [[b"a"], [b"b", b"c"]]
        assert not first._watchers
        assert not second._watchers


@in_trio
async def test_bytes_that_the_limits_keep_back_do_not_count(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        first, second = world.partition(0), world.partition(1)
        size_bytes = len(batch(b"a"))
        request = fetching(indexes=[0, 1], wait_ms=HOUR_MS, min_bytes=2 * size_bytes, partition_bytes=size_bytes + 1)
        client = await parked(world, request)
        for _ in range(5):
            world.append(first, b"a")
        assert first._watchers, "one partition alone may not give as much"
        world.append(second, b"b")
        parts = await received(client)
        assert [values_of(parts[index].records) for index in (0, 1)] == [[b"a"], [b"b"]]


@in_trio
async def test_bytes_of_a_transaction_that_is_open_do_not_count(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        partition = world.partition()
        client = await parked(world, fetching(wait_ms=HOUR_MS, isolation_level=COMMITTED))
        numbers = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "is_transactional": True}
        partition.stage(batch(b"open", **numbers), NOW_MS)
        world.broker.staged(partition)
        world.broker.end_pass()
        assert partition._watchers
        commit = end_transaction_batch(
            EndTransactionMarker(is_commit=True, coordinator_epoch=0),
            producer_id=7,
            producer_epoch=0,
            timestamp=NOW_MS,
        )
        partition.log.append(commit, leader_epoch=3, now_ms=NOW_MS, origin=AppendOrigin.COORDINATOR)
        partition.update_high_watermark(len(commit))
        world.broker.send_answers()
        assert values_of((await received(client))[0].records)[0] == b"open"


@by_test_clock
async def test_a_fetch_is_answered_with_what_there_is_when_its_time_is_up(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        partition = world.partition()
        client = await parked(world, fetching(wait_ms=500, min_bytes=1000))
        world.append(partition, b"little")
        await pass_time(0.4)
        assert partition._watchers
        await pass_time(0.2)
        assert not partition._watchers
        assert values_of((await received(client))[0].records) == [b"little"]


@by_test_clock
async def test_an_incremental_fetch_whose_time_is_up_says_that_nothing_has_changed(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.partition()
        client = await world.connect()
        response = await client.ask(fetching(session_epoch=0), FETCH)
        await client.send((fetching(indexes=[], session_id=response.session_id, session_epoch=1, wait_ms=500), FETCH))
        await pass_time(1)
        _, response = await client.receive(FetchRequest, FETCH)
        assert (response.error_code, response.responses) == (0, [])


@in_trio
async def test_who_wants_nothing_or_does_not_want_to_wait_is_answered_at_once(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.partition()
        client = await world.connect()
        for request in (
            fetching(wait_ms=0),
            fetching(wait_ms=-5),
            fetching(wait_ms=HOUR_MS, min_bytes=0),
            fetching(indexes=[], wait_ms=HOUR_MS),
            fetching(indexes=[7], wait_ms=HOUR_MS),
            fetching(99, wait_ms=HOUR_MS),
        ):
            assert (await client.ask(request, FETCH)).error_code == 0


@in_trio
async def test_a_topic_that_is_not_there_does_not_keep_a_client_from_waiting_for_others(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        partition = world.partition()
        client = await parked(world, fetching(indexes=[0, 7], wait_ms=HOUR_MS))
        world.append(partition, b"news")
        parts = await received(client)
        assert values_of(parts[0].records) == [b"news"]
        assert parts[7].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@in_trio
async def test_who_waits_is_told_at_once_when_a_partition_goes(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        first, second = world.partition(0), world.partition(1)
        client = await parked(world, fetching(indexes=[0, 1], wait_ms=HOUR_MS))
        world.broker.resign("t", TOPIC_ID, 0)
        assert (await received(client))[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert not first._watchers
        assert not second._watchers


@in_trio
async def test_who_waits_is_told_at_once_when_the_disk_fails(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        partition = world.partition()
        client = await parked(world, fetching(wait_ms=HOUR_MS))
        partition.log.failure = OSError(errno.EIO, "broken")
        partition.dismiss_watchers()
        world.broker.send_answers()
        assert (await received(client))[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR


@in_trio
async def test_a_mistake_of_ours_in_the_pass_of_another_hurts_nobody_but_gets_an_honest_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with a_world(tmp_path) as world:
        world.partition()
        client, producer = await parked(world, fetching(wait_ms=HOUR_MS)), await world.connect()

        def broken(*arguments: Any, **more: Any) -> Any:
            raise ZeroDivisionError("ours")

        monkeypatch.setattr(fetch_module, "read", broken)
        assert (await producer.produce()).error_code == 0
        assert (await received(client))[0].error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        assert "Fetch v12 failed" in caplog.text


@in_trio
async def test_one_that_was_answered_is_not_told_again(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = world.partition()
        connection, _ = world.local_connection()
        pending = world.broker.serving[1].handler(world.context(FETCH, connection), fetching(wait_ms=HOUR_MS))
        assert isinstance(pending, Pending)
        (reading,) = partition._watchers
        pending.abandon()
        assert not partition._watchers
        assert reading.moved(partition, 100)
        reading.gone()
        connection.close()


@in_trio
async def test_many_who_wait_for_one_partition_are_all_answered(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        partition = world.partition()
        clients = [await parked(world, fetching(wait_ms=HOUR_MS)) for _ in range(30)]
        world.append(partition, b"news")
        await trio.testing.wait_all_tasks_blocked()
        for client in clients:
            assert values_of((await received(client))[0].records) == [b"news"]
