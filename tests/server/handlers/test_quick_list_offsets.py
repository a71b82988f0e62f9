"""The quick way gives, byte for byte, what the long way gives, and leaves alone what it does not understand."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ottla.server.handlers import offsets, produce
from ottla.server.handlers.quick_list_offsets import quick_list_offsets
from ottla.server.routes import Route
from ottla.storage.log_trimming import delete_records
from ottla.wire.messages.offsets_lookup import ListOffsetsRequest
from tests.server.world import TOPIC_ID, Client, World, a_world, batch, in_trio, producing

QUICK_VERSIONS = range(6, 12)
LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL = -1, -2, -3, -4
LEADER_EPOCH_UNKNOWN = -1

Watched = list[bool]
Scene = Callable[[World], None]


def routes(quick: Any) -> tuple[Route, ...]:
    return (offsets.ROUTES[0]._replace(quick=quick), *offsets.ROUTES[1:], *produce.ROUTES)


def watched(taken: Watched) -> tuple[Route, ...]:
    """The routes, with a note of whether the quick way took each ListOffsets."""

    def quick(*args: Any) -> bool:
        taken.append(quick_list_offsets(*args))
        return taken[-1]

    return routes(quick)


LONG_WAY = routes(None)


def asking(
    *timestamps: int,
    topic: str = "t",
    index: int = 0,
    epoch: int = LEADER_EPOCH_UNKNOWN,
    replica_id: int = -1,
    isolation_level: int = 0,
) -> ListOffsetsRequest:
    partitions = [
        ListOffsetsRequest.ListOffsetsPartition(
            partition_index=index + number, current_leader_epoch=epoch, timestamp=timestamp
        )
        for number, timestamp in enumerate(timestamps)
    ]
    return ListOffsetsRequest(
        replica_id=replica_id,
        isolation_level=isolation_level,
        topics=[ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=partitions)],
        timeout_ms=1000,
    )


def framed(request: ListOffsetsRequest, version: int, client_id: str | None = "client") -> bytes:
    return Client(None).encode(request, version, client_id)  # type: ignore[arg-type]


def as_it_is(world: World) -> None:
    pass


async def answers(path: Path, served: tuple[Route, ...], requests: list[bytes], scene: Scene = as_it_is) -> list[bytes]:
    """What a broker with two partitions, two records in each, says to these requests, sent one after the other."""
    async with a_world(path, routes=served) as world:
        for index in range(2):
            world.partition(index)
        world.partition(topic="__consumer_offsets", topic_id=bytes(15) + b"1")
        client = await world.connect()
        for index in range(2):
            await client.ask(producing(batch(b"a", b"b"), index=index), 12)
        scene(world)
        found = []
        for request in requests:
            await client.stream.send_all(request)
            found.append(await client.frame())
        return found


@pytest.mark.parametrize("version", QUICK_VERSIONS)
def test_both_ways_give_the_same_bytes(tmp_path: Path, version: int) -> None:
    def trimmed(world: World) -> None:
        delete_records(world.broker.partition("t", 1).log, 1)

    @in_trio
    async def compare() -> None:
        async with a_world(tmp_path / "epoch") as world:
            epoch = world.partition().leader_epoch
        requests = [
            framed(asking(LATEST), version),
            framed(asking(EARLIEST), version, client_id=None),
            framed(asking(EARLIEST, index=1, epoch=epoch), version, client_id="ümlaut"),
            framed(asking(LATEST, index=1, isolation_level=1), version),
        ]
        taken: Watched = []
        quick = await answers(tmp_path / "quick", watched(taken), requests, trimmed)
        assert taken == [True] * 4
        assert quick == await answers(tmp_path / "slow", LONG_WAY, requests, trimmed)

    compare()


def unusual(version: int) -> dict[str, bytes]:
    """Requests that are not of the usual shape, or that are to be refused."""
    two_topics = asking(LATEST)
    two_topics.topics.append(asking(LATEST, index=1).topics[0])
    usual = framed(asking(LATEST), version)
    return {
        "two partitions": framed(asking(LATEST, LATEST), version),
        "two topics": framed(two_topics, version),
        "no topics": framed(ListOffsetsRequest(replica_id=-1, topics=[]), version),
        "no partitions": framed(asking(), version),
        "a time": framed(asking(5), version),
        "the largest timestamp": framed(asking(MAX_TIMESTAMP), version),
        "the beginning of what is here": framed(asking(EARLIEST_LOCAL), version),
        "a time that means nothing": framed(asking(-77), version),
        "a replica": framed(asking(LATEST, replica_id=2), version),
        "a tool": framed(asking(LATEST, replica_id=-2), version),
        "an isolation level that means nothing": framed(asking(LATEST, isolation_level=2), version),
        "an epoch to come": framed(asking(LATEST, epoch=99), version),
        "an internal topic": framed(asking(LATEST, topic="__consumer_offsets"), version),
        "an unknown topic": framed(asking(LATEST, topic="none"), version),
        "no name": framed(asking(LATEST, topic=""), version),
        "a long name": framed(asking(LATEST, topic="t" * 200), version),
        "an unknown partition": framed(asking(LATEST, index=7), version),
        "a negative partition": framed(asking(LATEST, index=-1), version),
        "a tag": struct.pack(">i", len(usual) - 4 + 3) + usual[4:-1] + b"\1\x63\1x",
    }


@pytest.mark.parametrize("version", [6, 9, 11])
def test_what_is_not_usual_is_left_to_the_long_way(tmp_path: Path, version: int) -> None:
    @in_trio
    async def compare() -> None:
        requests = unusual(version)
        taken: Watched = []
        found = await answers(tmp_path / "quick", watched(taken), list(requests.values()))
        assert dict(zip(requests, taken, strict=True)) == dict.fromkeys(requests, False)
        assert found == await answers(tmp_path / "slow", LONG_WAY, list(requests.values()))

    compare()


def not_led(world: World) -> None:
    world.broker.resign("t", TOPIC_ID, 0)


def uncertain(world: World) -> None:
    """A new leader that does not know what is committed."""
    world.broker.partition("t", 0).epoch_start_offset = 3


def broken(world: World) -> None:
    world.broker.partition("t", 0).log.failure = OSError(5, "input/output error")


@pytest.mark.parametrize("scene", [not_led, uncertain, broken])
@in_trio
async def test_who_cannot_say_leaves_it_to_the_long_way(tmp_path: Path, scene: Scene) -> None:
    # Both partitions are known to the quick ways by then, since something was produced to them.
    requests = [framed(asking(LATEST, index=1), 9), framed(asking(LATEST), 9)]
    taken: Watched = []
    found = await answers(tmp_path / "quick", watched(taken), requests, scene)
    assert taken == [True, False]
    assert found == await answers(tmp_path / "slow", LONG_WAY, requests, scene)


@pytest.mark.parametrize("cut", range(4, 45, 5))
@in_trio
async def test_a_request_that_ends_early_closes_the_connection(tmp_path: Path, cut: int) -> None:
    async with a_world(tmp_path, routes=routes(quick_list_offsets)) as world:
        world.partition()
        client = await world.connect()
        whole = framed(asking(LATEST), 9)[4:]
        await client.stream.send_all(struct.pack(">i", cut) + whole[:cut])
        assert await client.is_cut_off()


@in_trio
async def test_what_was_written_before_in_the_same_pass_is_seen(tmp_path: Path) -> None:
    async with a_world(tmp_path, routes=routes(quick_list_offsets), serves=False) as world:
        world.partition()
        connection, client = world.local_connection()
        data = b"".join(client.encode(request, 9) for request in (producing(batch(b"a")), asking(LATEST)))
        connection._receiver.reader.receive_data(data)
        connection.handle_pass()
        await client.receive(type(producing(batch(b"a"))), 9)
        _, response = await client.receive(ListOffsetsRequest, 9)
        assert response.topics[0].partitions[0].offset == 1
        connection.close()
