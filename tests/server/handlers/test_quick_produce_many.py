"""Batches for several partitions in one request: byte for byte what the long way gives, or left to it."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from ottla.cluster.in_sync_replicas import InSyncReplicas
from ottla.server.handlers.quick_produce_many import COUNT_MAX
from ottla.storage.files import OsFile
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.produce import ProduceRequest
from tests.server.handlers.test_quick_produce import (
    LONG_WAY,
    QUICK_VERSIONS,
    Watched,
    answers,
    framed,
    watched,
)
from tests.server.world import Client, a_world, batch, in_trio, producing


def damaged() -> bytes:
    data = bytearray(batch(b"x"))
    data[-1] ^= 1
    return bytes(data)


def of_a_transaction() -> bytes:
    data = bytearray(batch(b"x"))
    data[22] |= 0x10
    return bytes(data)


@pytest.mark.parametrize("version", QUICK_VERSIONS)
@pytest.mark.parametrize("config", [{}, {"log_append_time": True}])
def test_both_ways_give_the_same_bytes(tmp_path: Path, version: int, config: dict[str, Any]) -> None:
    @in_trio
    async def compare() -> None:
        twice = producing(batch(b"a"), batch(b"b" * 300))
        twice.topic_data[0].partition_data.append(producing(batch(b"c")).topic_data[0].partition_data[0])
        requests = [
            framed(producing(batch(b"a", b"b"), batch(b"c")), version),
            framed(producing(batch(b"d" * 40_000), batch(b"e"), acks=1), version, client_id=None),
            framed(twice, version, client_id="ümlaut"),
        ]
        taken: Watched = []
        quick = await answers(tmp_path / "quick", watched(taken), requests, **config)
        assert taken == [True] * 3
        slow = await answers(tmp_path / "slow", LONG_WAY, requests, **config)
        if config:  # the time of the append differs between the two runs
            assert [len(one) for one in quick] == [len(one) for one in slow]
        else:
            assert quick == slow

    compare()


@pytest.mark.parametrize("version", [9, 13])
@pytest.mark.parametrize("wrong", [damaged(), batch() + batch(), b"\1" * 70], ids=["damaged", "two", "nonsense"])
def test_a_batch_that_is_refused_concerns_its_partition_alone(tmp_path: Path, version: int, wrong: bytes) -> None:
    @in_trio
    async def compare() -> None:
        requests = [framed(producing(batch(b"a"), wrong), version), framed(producing(wrong, batch(b"b")), version)]
        taken: Watched = []
        quick = await answers(tmp_path / "quick", watched(taken), requests)
        assert taken == [True, True]
        assert quick == await answers(tmp_path / "slow", LONG_WAY, requests)

    compare()


def unusual(version: int) -> dict[str, bytes]:
    usual = framed(producing(batch(), batch()), version)
    tagged = producing(batch(), batch())
    tagged.topic_data[0].partition_data[0].unknown_tags = ((99, b"x"),)
    two_topics = producing(batch(), batch())
    two_topics.topic_data.append(producing(batch()).topic_data[0])
    return {
        "no partitions": framed(producing(), version),
        "a batch of a transaction": framed(producing(batch(), of_a_transaction()), version),
        "no records": framed(producing(batch(), None), version),
        "few records": framed(producing(b"x" * 60, batch()), version),
        "an unknown partition": framed(producing(batch(), batch(), batch()), version),
        "many partitions": framed(producing(*[batch()] * COUNT_MAX), version),
        "two topics": framed(two_topics, version),
        "a partition with a tag": framed(tagged, version),
        # Its bytes are not those of an ending.
        "a request with a tag": struct.pack(">i", len(usual) - 4 + 3) + usual[4:-1] + b"\1\x63\1x",
    }


@pytest.mark.parametrize("version", [9, 13])
def test_what_is_not_usual_is_left_to_the_long_way(tmp_path: Path, version: int) -> None:
    @in_trio
    async def compare() -> None:
        requests = unusual(version)
        taken: Watched = []
        found = await answers(tmp_path / "quick", watched(taken), list(requests.values()))
        assert dict(zip(requests, taken, strict=True)) == dict.fromkeys(requests, False)
        assert found == await answers(tmp_path / "slow", LONG_WAY, list(requests.values()))

    compare()


@pytest.mark.parametrize("left_bytes", range(60, 330, 7))
@in_trio
async def test_a_request_that_ends_too_early_closes_its_connection(tmp_path: Path, left_bytes: int) -> None:
    """Behind its end lie bytes of another request, which are not its own."""
    async with a_world(tmp_path) as world:
        partitions = [world.partition(0), world.partition(1)]
        client = await world.connect()
        whole = framed(producing(batch(b"a" * 60), batch(b"b" * 60)), 13)[4:]
        left = whole[: min(left_bytes, len(whole) - 1)]
        await client.stream.send_all(struct.pack(">i", len(left)) + left + struct.pack(">i", len(whole)) + whole)
        assert await client.stream.receive_some() == b""
        assert [partition.log.end_offset for partition in partitions] == [0, 0]


@in_trio
async def test_what_waits_for_the_disk_or_for_others_is_left_to_the_long_way(tmp_path: Path) -> None:
    taken: Watched = []
    async with a_world(tmp_path, routes=watched(taken), serves=False) as world:
        first = world.partition(0)
        world.partition(1)
        connection, client = world.local_connection()
        world.broker.in_sync = cast("Any", AlwaysEnough())
        first.in_sync = InSyncReplicas(1, (1,), (1,), 0, epoch_start_offset=0, now_ms=0)
        await handled_together(connection, client, producing(batch(), batch()), producing(batch(), batch(), acks=1))
        assert taken == [False, True]
        first.in_sync = None
        first.log.reconfigure(replace(first.log.config, flush_messages=1))
        await handled_together(connection, client, producing(batch(), batch(), acks=1))
        assert taken == [False, True, False]
        connection.close()


class AlwaysEnough:
    def check_enough(self, partition: object) -> None: ...


async def handled_together(connection: Any, client: Client, *requests: ProduceRequest) -> None:
    connection._receiver.reader.receive_data(b"".join(client.encode(request, 13) for request in requests))
    connection.handle_pass()


@in_trio
async def test_a_write_that_fails_is_told_to_its_partition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with a_world(tmp_path, serves=False) as world:
        world.partition(0), world.partition(1)
        connection, client = world.local_connection()
        write_at = OsFile.write_at

        def fail_at_one(file: OsFile, *args: Any) -> None:
            if "-1/" in file.path:
                raise OSError(5, "input/output error")
            write_at(file, *args)

        monkeypatch.setattr(OsFile, "write_at", fail_at_one)
        await handled_together(connection, client, producing(batch(), batch()))
        _, response = await client.receive(ProduceRequest, 13)
        codes = [part.error_code for part in response.responses[0].partition_responses]
        assert codes == [ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR]
        connection.close()
