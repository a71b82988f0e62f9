"""Produce: every partition is answered for itself, in every version, and nothing is acknowledged that was not kept."""

from __future__ import annotations

import errno
import gc
from pathlib import Path
from typing import Any

import pytest

from ottla.storage.files import OsFile
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.fetch import FetchRequest
from ottla.wire.messages.produce import ProduceRequest, ProduceResponse
from ottla.wire.records import Codec
from ottla.wire.schema import Request
from tests.server.handler_world import LEADER_EPOCH, NOW_MS, World
from tests.server.world import a_world, batch, fetched, fetching, in_trio, producing, until, values_of

VERSIONS = range(3, 14)
LOG_APPEND_TIME = {"message.timestamp.type": "LogAppendTime"}


def produced(
    world: World, request: ProduceRequest, version: int = 13
) -> list[ProduceResponse.PartitionProduceResponse]:
    """The partitions of the answer, as the client decodes them."""
    sent = ProduceRequest.decode(request.encode(version), version)
    reply: Any = world.answer(sent, version)
    response = ProduceResponse.decode(reply if isinstance(reply, bytes) else reply.encode(version), version)
    assert response.throttle_time_ms == 0
    return [part for topic in response.responses for part in topic.partition_responses]


def codes(parts: list[ProduceResponse.PartitionProduceResponse]) -> list[tuple[int, int]]:
    return [(part.error_code, part.base_offset) for part in parts]


@pytest.mark.parametrize("version", VERSIONS)
def test_one_batch_is_answered_with_its_offset_in_every_version(world: World, version: int) -> None:
    topic_id = world.topic("t" * 200)
    request = producing(batch(b"a", b"b"), topic="t" * 200, topic_id=topic_id)
    for base_offset in (0, 2):
        (part,) = produced(world, request, version)
        assert (part.index, part.error_code, part.base_offset) == (0, 0, base_offset)
        assert part.log_append_time_ms == -1
        assert part.log_start_offset == (0 if version >= 5 else -1)
    assert world.partition("t" * 200).log.high_watermark == 4


@pytest.mark.parametrize("version", VERSIONS)
def test_partitions_that_fail_do_not_touch_the_others(world: World, version: int) -> None:
    topic_id = world.topic("t", 3)
    request = producing(batch(), b"not a batch at all, but long enough", batch(), batch(), topic_id=topic_id)
    parts = produced(world, request, version)
    assert [part.index for part in parts] == [0, 1, 2, 3]
    assert codes(parts) == [
        (ErrorCode.NONE, 0),
        (parts[1].error_code, -1),
        (ErrorCode.NONE, 0),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1),
    ]
    assert parts[1].error_code != ErrorCode.NONE
    assert all(part.log_start_offset == -1 for part in (parts[1], parts[3]))  # failure class 40
    assert all((part.error_message is None) == (version < 8 or not part.error_code) for part in parts)


@pytest.mark.parametrize("version", [12, 13])
def test_topics_that_are_not_here_are_named_as_such(world: World, version: int) -> None:
    elsewhere = world.topic("elsewhere", replicas=[2], leader=2)
    unknown = ErrorCode.UNKNOWN_TOPIC_ID if version == 13 else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes(produced(world, producing(batch(), topic="none", topic_id=bytes(16)), version)) == [(unknown, -1)]
    request = producing(batch(), topic="elsewhere", topic_id=elsewhere)
    assert codes(produced(world, request, version)) == [(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)]


@pytest.mark.parametrize("version", [9, 10, 12, 13])
def test_who_asks_the_wrong_broker_is_told_from_version_10_on_which_one_leads_and_where(
    world: World, version: int
) -> None:
    world.register(2, rack="r")
    topic_id = world.topic("elsewhere", 2, replicas=[2], leader=2)
    request = producing(batch(), batch(), topic="elsewhere", topic_id=topic_id)
    response: ProduceResponse = world.ask(request, version)
    told = [one.current_leader for one in response.responses[0].partition_responses]
    if version < 10:
        assert response.node_endpoints == []
        assert {one.leader_id for one in told} == {-1}
        return
    assert [(one.leader_id, one.leader_epoch) for one in told] == [(2, LEADER_EPOCH)] * 2
    assert [(one.node_id, one.host, one.port, one.rack) for one in response.node_endpoints] == [
        (2, "host-2", 9092, "r")
    ]


def test_a_leader_that_cannot_be_reached_has_no_address(world: World) -> None:
    world.register(2, listeners=("INTERNAL",))
    world.register(3, fenced=True)
    for number, leader in enumerate((2, 3, -1)):
        topic_id = world.topic(f"t{number}", replicas=[2, 3], leader=leader)
        response: ProduceResponse = world.ask(producing(batch(), topic=f"t{number}", topic_id=topic_id), 12)
        assert response.responses[0].partition_responses[0].current_leader.leader_id == leader
        assert response.node_endpoints == []


@pytest.mark.parametrize("acks", [2, -2, 100])
def test_acks_that_mean_nothing_are_an_error_for_every_partition(world: World, acks: int) -> None:
    topic_id = world.topic("t", 2)
    parts = produced(world, producing(batch(), batch(), topic_id=topic_id, acks=acks))
    assert codes(parts) == [(ErrorCode.INVALID_REQUIRED_ACKS, -1)] * 2
    assert world.partition("t").log.end_offset == 0


def test_a_request_for_nothing_is_answered_with_nothing(world: World) -> None:
    assert produced(world, ProduceRequest(acks=1, timeout_ms=0, topic_data=[])) == []
    assert produced(world, producing()) == []


@pytest.mark.parametrize("records", [None, b"", b"short"])
def test_no_records_are_an_error(world: World, records: bytes | None) -> None:
    topic_id = world.topic("t")
    assert codes(produced(world, producing(records, topic_id=topic_id))) == [(ErrorCode.INVALID_RECORD, -1)]


def test_zstd_may_be_sent_from_version_7_on(world: World) -> None:
    world.topic("t")
    request = producing(batch(codec=Codec.ZSTD))
    assert codes(produced(world, request, 6)) == [(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, -1)]
    assert codes(produced(world, request, 7)) == [(ErrorCode.NONE, 0)]
    assert codes(produced(world, producing(batch(codec=Codec.GZIP)), 3)) == [(ErrorCode.NONE, 1)]


def test_a_transaction_that_nobody_could_end_is_not_begun(world: World) -> None:
    world.topic("t")
    records = batch(producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True)
    nameless = produced(world, producing(records, batch()), 12)
    assert codes(nameless) == [(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, -1)] * 2
    named = producing(records)
    named.transactional_id = "a-transaction"
    assert codes(produced(world, named, 12)) == [(ErrorCode.INVALID_TXN_STATE, -1)]
    assert world.partition("t").log.last_stable_offset == 0


@pytest.mark.parametrize(
    ("data", "code", "start_offset"),
    [
        (batch(base_offset=7), ErrorCode.INVALID_RECORD, 0),
        (batch() + batch(), ErrorCode.INVALID_RECORD, -1),
        (batch()[:-1] + b"?", ErrorCode.CORRUPT_MESSAGE, -1),
        (bytes(100), ErrorCode.CORRUPT_MESSAGE, -1),
    ],
)
def test_a_batch_that_was_looked_at_is_told_where_the_log_begins(
    world: World, data: bytes, code: ErrorCode, start_offset: int
) -> None:
    world.topic("t")
    (part,) = produced(world, producing(data), 12)
    assert (part.error_code, part.log_start_offset) == (code, start_offset)


def test_internal_topics_are_written_by_brokers_and_by_kafkas_own_tools(world: World) -> None:
    world.topic("__consumer_offsets")
    request = producing(batch(), topic="__consumer_offsets")
    assert codes(produced(world, request, 12)) == [(ErrorCode.INVALID_TOPIC_EXCEPTION, -1)]
    serving = world.serving[0]
    context = world.context(12)
    context.client_id = "__admin_client"
    serving.handler(context, ProduceRequest.decode(request.encode(12), 12)).place = Ignored()
    world.broker.end_pass()
    assert world.partition("__consumer_offsets").log.end_offset == 1


class Ignored:
    def fill(self, reply: Any) -> None: ...


def test_records_at_fault_are_reported_one_by_one_from_version_8_on(world: World) -> None:
    world.topic("t", configs={"cleanup.policy": "compact"})
    for version in (7, 8):
        (part,) = produced(world, producing(batch(b"a", b"b")), version)
        assert part.error_code == ErrorCode.INVALID_RECORD
        assert [error.batch_index for error in part.record_errors] == ([0, 1] if version == 8 else [])


def test_a_duplicate_gets_the_offset_that_it_got_first(world: World) -> None:
    world.topic("t")
    records = [batch(producer_id=9, producer_epoch=0, base_sequence=number) for number in range(3)]
    assert [codes(produced(world, producing(one), 12)) for one in records] == [[(0, number)] for number in range(3)]
    assert codes(produced(world, producing(records[1]), 12)) == [(0, 1)]
    gap = batch(producer_id=9, producer_epoch=0, base_sequence=7)
    assert codes(produced(world, producing(gap), 12)) == [(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)]
    assert world.partition("t").log.end_offset == 3


def test_a_duplicate_that_is_old_is_told_to_be_one(world: World) -> None:
    world.topic("t")
    records = [batch(producer_id=9, producer_epoch=0, base_sequence=number) for number in range(8)]
    for one in records:
        produced(world, producing(one), 12)
    assert codes(produced(world, producing(records[0]), 12)) == [(ErrorCode.DUPLICATE_SEQUENCE_NUMBER, -1)]
    assert codes(produced(world, producing(records[3]), 12)) == [(0, 3)]
    assert world.partition("t").log.end_offset == 8


def test_the_time_of_appending_is_told_where_it_counts(world: World) -> None:
    world.topic("t", configs=LOG_APPEND_TIME)
    (part,) = produced(world, producing(batch(timestamp=5)), 12)
    assert part.log_append_time_ms == NOW_MS


def test_without_an_answer_errors_close_the_connection_and_success_is_silent(world: World) -> None:
    world.topic("t")
    serving = world.serving[0]
    for request, why in [
        (producing(batch(), acks=0), None),
        (producing(batch(), index=3, acks=0), "there is no t-3"),
        (producing(b"x" * 100, acks=0), "acks=0"),
    ]:
        assert world.answer(ProduceRequest.decode(request.encode(12), 12), 12) is None
        cut_off = world.connection.cut_off_for
        assert (cut_off is None) if why is None else (cut_off is not None and why in cut_off)
    with pytest.raises(Exception, match="the whole request"):
        serving.on_error(producing(acks=0), KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "the whole request"))


# When the disk does not do what it should


class Disk:
    """Decides what becomes of writes to log files."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.error: OSError | None = None
        write_at = OsFile.write_at

        def write(file: OsFile, position: int, buffers: Any, size_bytes: int) -> None:
            if self.error is not None and file.path.endswith(".log"):
                raise self.error
            write_at(file, position, buffers, size_bytes)

        monkeypatch.setattr(OsFile, "write_at", write)


def test_a_full_disk_is_an_error_for_all_of_the_pass_and_goes_by(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.topic("t", 2)
    disk = Disk(monkeypatch)
    assert codes(produced(world, producing(batch(), batch()), 12)) == [(0, 0), (0, 0)]
    disk.error = OSError(errno.ENOSPC, "no space")
    assert codes(produced(world, producing(batch()), 12)) == [(ErrorCode.KAFKA_STORAGE_ERROR, -1)]
    assert world.answer(producing(batch(), acks=0), 12) is None
    assert world.connection.cut_off_for is not None
    disk.error = None
    assert codes(produced(world, producing(batch(), batch()), 12)) == [(0, 1), (0, 1)]


@in_trio
async def test_a_batch_that_was_lost_is_never_acknowledged_by_the_flush_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lost one would have had the very offset that the next one gets."""
    disk = Disk(monkeypatch)
    async with a_world(tmp_path, serves=False) as served:
        partition = served.partition(0, flush_messages=1)
        served.append(partition)  # unflushed, so that whoever comes now has to wait
        connection, client = served.local_connection()
        served.nursery.start_soon(connection.serve)
        disk.error = OSError(errno.ENOSPC, "no space")
        await client.send((producing(batch(b"lost")), 12))
        await until(lambda: partition.commit_error is not None)
        disk.error = None
        await client.send((producing(batch(b"kept")), 12))
        await until(lambda: partition.log.end_offset == 2)
        await served.broker.flusher.round()
        outcomes = []
        for _ in range(2):
            _, response = await client.receive(ProduceRequest, 12)
            outcomes += codes(response.responses[0].partition_responses)
        assert outcomes == [(ErrorCode.KAFKA_STORAGE_ERROR, -1), (0, 1)]
        await client.send((fetching(1), 12))
        assert values_of(fetched((await client.receive(FetchRequest, 12))[1])[0].records) == [b"kept"]


@in_trio
async def test_a_batch_that_was_written_is_not_refused_for_the_error_of_a_later_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch)
    async with a_world(tmp_path, serves=False) as served:
        partition = served.partition(0, flush_messages=1)
        connection, client = served.local_connection()
        served.nursery.start_soon(connection.serve)
        await client.send((producing(batch(b"kept")), 12))
        await until(lambda: partition.log.end_offset == 1)
        disk.error = OSError(errno.ENOSPC, "no space")
        await client.send((producing(batch(b"lost")), 12))
        await until(lambda: partition.commit_error is not None)
        await served.broker.flusher.round()
        outcomes = []
        for _ in range(2):
            _, response = await client.receive(ProduceRequest, 12)
            outcomes += codes(response.responses[0].partition_responses)
        assert outcomes == [(0, 0), (ErrorCode.KAFKA_STORAGE_ERROR, -1)]


@in_trio
async def test_a_request_for_several_partitions_waits_for_all_of_their_syncs(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as served:
        first, second = served.partition(0, flush_messages=1), served.partition(1, flush_messages=1)
        connection, client = served.local_connection()
        served.nursery.start_soon(connection.serve)
        await client.send((producing(batch(), batch()), 12))
        await until(lambda: second.log.end_offset == 1)
        first.log.flush()
        first.flushed()
        assert connection._line
        second.flushed(KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "broken"))
        served.broker.send_answers()
        _, response = await client.receive(ProduceRequest, 12)
        assert codes(response.responses[0].partition_responses) == [(0, 0), (ErrorCode.KAFKA_STORAGE_ERROR, -1)]


def test_older_versions_are_advertised_and_not_served() -> None:
    from ottla.server.handlers.produce import ROUTES

    (route,) = ROUTES
    assert issubclass(route.request, Request)
    assert (route.versions.low, route.advertised) == (3, (0, 13))


@pytest.mark.parametrize("version", [3, 13])
@pytest.mark.parametrize(
    "parts", [(batch(), batch()), (b"not a batch at all, but long enough",), (b"",), (batch()[:-1] + b"?",)]
)
def test_what_is_refused_is_held_on_to_by_nobody(world: World, version: int, parts: tuple[bytes, ...]) -> None:
    """Or the memory that requests are received into would be taken until the collector comes by, a refused one after
    the other: librdkafka writes to partitions that are not led yet again and again."""
    request = producing(*parts, topic_id=world.topic("t"))
    data = bytearray(request.encode(version))
    gc.disable()
    try:
        for _ in range(2):
            reply: Any = world.answer(ProduceRequest.decode(data, version), version)
            response = ProduceResponse.decode(reply if isinstance(reply, bytes) else reply.encode(version), version)
            assert any(part.error_code for topic in response.responses for part in topic.partition_responses)
            del reply, response
        data.append(0)  # refused as long as there is a view of it
    finally:
        gc.enable()
