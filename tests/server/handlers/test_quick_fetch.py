"""The quick way gives, byte for byte, what the long way gives, and remembers the same; the unusual it leaves alone."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from ottla.server.handlers import fetch as handler
from ottla.server.handlers import produce
from ottla.server.handlers.quick_fetch import quick_fetch
from ottla.server.routes import Route
from ottla.storage.log_trimming import delete_records
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.fetch import FetchRequest, FetchResponse
from tests.server.world import (
    LEADER_EPOCH,
    TOPIC_ID,
    Client,
    World,
    a_world,
    batch,
    fetched,
    fetching,
    in_trio,
    producing,
    values_of,
)

QUICK_VERSIONS = range(15, 19)
SESSION_ID = 77
# Where it begins in an answer: behind the correlation id and the tags of the header.
BODY = 5
# The broker has two partitions, with so many batches of one record in each.
BATCHES = 4

Watched = list[bool]
Scene = Callable[[World], None]


def routes(quick: Any) -> tuple[Route, ...]:
    return (handler.ROUTES[0]._replace(quick=quick), *produce.ROUTES)


def watched(taken: Watched) -> tuple[Route, ...]:
    """The routes, with a note of whether the quick way took each Fetch."""

    def quick(*args: Any) -> bool:
        taken.append(quick_fetch(*args))
        return taken[-1]

    return routes(quick)


LONG_WAY = routes(None)


def going_on(offset: int, epoch: int, **more: Any) -> FetchRequest:
    """A request of a session that has begun. `asked`: more about the partition."""
    asked: dict[str, Any] = more.pop("asked", {})
    request = fetching(offset, **{"session_id": SESSION_ID, "session_epoch": epoch, **more})
    for topic in request.topics:
        for partition in topic.partitions:
            for name, value in asked.items():
                setattr(partition, name, value)
    return request


def framed(request: FetchRequest, version: int, client_id: str | None = "client") -> bytes:
    return Client(None).encode(request, version, client_id)  # type: ignore[arg-type]


def as_it_is(world: World) -> None:
    pass


def remembered(world: World) -> list[Any]:
    """What the broker knows of its sessions, and has counted."""
    sessions = world.broker.fetch_sessions
    traffic = world.broker.metrics.topic("t")
    return [
        sessions.partition_count,
        [
            (
                *(session.session_id, session.epoch, session.used_ms > 0),
                *(
                    (key, str(wanted.asked), wanted.sent_high_watermark, wanted.sent_log_start_offset)
                    for key, wanted in session.wanted.items()
                ),
            )
            for session in sessions._sessions.values()
        ],
        (traffic.fetch_count, traffic.bytes_out),
    ]


async def answers(
    path: Path,
    served: tuple[Route, ...],
    requests: list[bytes],
    scene: Scene = as_it_is,
    *,
    version: int = 17,
    begin: FetchRequest | None = None,
    settings: Mapping[str, str] | None = None,
) -> tuple[list[bytes], list[Any]]:
    """What a broker says to these requests, one after the other, in a session of one partition; what it then knows."""
    async with a_world(path, settings, routes=served) as world:
        world.broker.fetch_sessions._new_id = count(SESSION_ID).__next__
        for index in range(2):
            partition = world.partition(index)
            for number in range(BATCHES):
                world.append(partition, b"%d" % number * 400)
        client = await world.connect()
        await client.ask(begin or fetching(session_epoch=0), version)
        for session in world.broker.fetch_sessions._sessions.values():
            session.used_ms = 0
        scene(world)
        found = []
        for request in requests:
            await client.stream.send_all(request)
            found.append(await client.frame())
        return found, remembered(world)


async def both_ways(
    path: Path, requests: list[bytes], scene: Scene = as_it_is, **more: Any
) -> tuple[Watched, list[bytes]]:
    """Which requests the quick way took, and what was said: the same as by the long way alone."""
    taken: Watched = []
    found, known = await answers(path / "quick", watched(taken), requests, scene, **more)
    assert (found, known) == await answers(path / "slow", LONG_WAY, requests, scene, **more)
    return taken[1:], found  # the first began the session


@pytest.mark.parametrize("version", QUICK_VERSIONS)
@in_trio
async def test_both_ways_give_the_same_bytes(tmp_path: Path, version: int) -> None:
    requests = [
        framed(going_on(0, 1), version),
        framed(going_on(1, 2), version, client_id=None),
        framed(going_on(2, 3, asked={"current_leader_epoch": LEADER_EPOCH}), version, client_id="ümlaut"),
        framed(going_on(1, 4, asked={"last_fetched_epoch": LEADER_EPOCH, "partition_max_bytes": 500}), version),
        framed(going_on(0, 5, max_bytes=1), version),
        framed(going_on(0, 6, asked={"log_start_offset": 3}), version),
    ]
    taken, found = await both_ways(tmp_path, requests, version=version)
    assert taken == [True] * 6
    responses = [FetchResponse.decode(answer, version, BODY) for answer in found]
    read = [values_of(fetched(response)[0].records)[0][:1] for response in responses]
    assert read == [b"0", b"1", b"2", b"1", b"0", b"0"]
    assert [response.session_id for response in responses] == [SESSION_ID] * 6


@in_trio
async def test_what_a_client_says_last_counts_for_the_requests_that_do_not_repeat_it(tmp_path: Path) -> None:
    requests = [framed(going_on(2, 1), 17), framed(going_on(0, 2, indexes=[]), 17), framed(going_on(3, 3), 17)]
    taken, found = await both_ways(tmp_path, requests)
    assert taken == [True, False, True]
    read = [values_of(fetched(FetchResponse.decode(answer, 17, BODY))[0].records)[0][:1] for answer in found]
    assert read == [b"2", b"2", b"3"]


def unusual() -> dict[str, FetchRequest]:
    """Requests of the session at its first epoch that are not of the usual shape, or that are to be refused."""
    two_topics = going_on(0, 1)
    two_topics.topics.append(going_on(0, 1, indexes=[1]).topics[0])
    other_topic = going_on(0, 1)
    other_topic.topics[0].topic_id = bytes(15) + b"9"
    forgetting = [FetchRequest.ForgottenTopic(topic_id=TOPIC_ID, partitions=[1])]
    replica = FetchRequest.ReplicaState(replica_id=5, replica_epoch=-1)
    return {
        "two partitions": going_on(0, 1, indexes=[0, 1]),
        "another partition": going_on(0, 1, indexes=[1]),
        "two topics": two_topics,
        "another topic": other_topic,
        "nothing new": going_on(0, 1, indexes=[]),
        "something to forget": going_on(0, 1, forgotten_topics_data=forgetting),
        "a rack": going_on(0, 1, rack_id="r"),
        "what is committed": going_on(0, 1, isolation_level=1),
        "an isolation level that means nothing": going_on(0, 1, isolation_level=2),
        "a follower": going_on(0, 1, replica_state=replica),
        "no session": going_on(0, 0, session_id=0),
        "the end of a session": going_on(0, -1),
        "another session": going_on(0, 1, session_id=SESSION_ID + 1),
        "another epoch": going_on(0, 2),
        "a leader to come": going_on(0, 1, asked={"current_leader_epoch": 9}),
        "an epoch that is not here": going_on(0, 1, asked={"last_fetched_epoch": 9}),
        "less than nothing": going_on(0, 1, asked={"partition_max_bytes": -1}),
        "an offset to come": going_on(99, 1),
        "an offset before all": going_on(-5, 1),
        "the end": going_on(BATCHES, 1),
        "more than there is": going_on(0, 1, min_bytes=1 << 19),
        "a directory": going_on(0, 1, asked={"replica_directory_id": bytes(15) + b"1"}),
    }


@pytest.mark.parametrize("what", unusual())
@in_trio
async def test_what_is_not_usual_is_left_to_the_long_way(tmp_path: Path, what: str) -> None:
    # Behind it a usual one: what was left alone has left no trace.
    request = unusual()[what]
    request.max_wait_ms = 0
    requests = [framed(request, 17), framed(going_on(1, 2), 17)]
    taken, _ = await both_ways(tmp_path, requests)
    assert taken[0] is False


@in_trio
async def test_a_tag_is_left_to_the_long_way(tmp_path: Path) -> None:
    usual = framed(going_on(0, 1), 17)
    tagged = struct.pack(">i", len(usual) - 4 + 3) + usual[4:-1] + b"\1\x63\1x"
    taken, _ = await both_ways(tmp_path, [tagged])
    assert taken == [False]


@pytest.mark.parametrize("version", [13, 14])
@in_trio
async def test_older_versions_are_left_to_the_long_way(tmp_path: Path, version: int) -> None:
    taken, _ = await both_ways(tmp_path, [framed(going_on(0, 1), version)], version=version)
    assert taken == [False]


@in_trio
async def test_a_session_of_two_partitions_is_left_to_the_long_way(tmp_path: Path) -> None:
    begin = fetching(indexes=range(2), session_epoch=0)
    taken, _ = await both_ways(tmp_path, [framed(going_on(0, 1), 17)], begin=begin)
    assert taken == [False]


def not_led(world: World) -> None:
    world.broker.resign("t", TOPIC_ID, 0)


def broken(world: World) -> None:
    world.broker.partition("t", 0).log.failure = OSError(5, "input/output error")


def trimmed(world: World) -> None:
    delete_records(world.broker.partition("t", 0).log, 2)


@pytest.mark.parametrize("scene", [not_led, broken, trimmed])
@in_trio
async def test_who_cannot_read_leaves_it_to_the_long_way(tmp_path: Path, scene: Scene) -> None:
    taken, found = await both_ways(tmp_path, [framed(going_on(1, 1), 17)], scene)
    assert taken == [False]
    assert fetched(FetchResponse.decode(found[0], 17, BODY))[0].error_code != ErrorCode.NONE


@in_trio
async def test_the_broker_bounds_what_one_answer_holds(tmp_path: Path) -> None:
    settings = {"fetch.max.bytes": "1024"}
    taken, found = await both_ways(tmp_path, [framed(going_on(0, 1), 17)], settings=settings)
    assert taken == [True]
    assert len(values_of(fetched(FetchResponse.decode(found[0], 17, BODY))[0].records)) == 2


@pytest.mark.parametrize("cut", range(8, 93, 7))
@in_trio
async def test_a_request_that_ends_early_closes_the_connection(tmp_path: Path, cut: int) -> None:
    async with a_world(tmp_path, routes=routes(quick_fetch)) as world:
        world.broker.fetch_sessions._new_id = count(SESSION_ID).__next__
        world.append(world.partition(), b"a")
        client = await world.connect()
        await client.ask(fetching(session_epoch=0), 17)
        whole = framed(going_on(0, 1), 17)[4:]
        assert cut < len(whole)
        await client.stream.send_all(struct.pack(">i", cut) + whole[:cut])
        assert await client.is_cut_off()


@in_trio
async def test_what_was_written_before_in_the_same_pass_is_seen(tmp_path: Path) -> None:
    async with a_world(tmp_path, routes=routes(quick_fetch), serves=False) as world:
        world.broker.fetch_sessions._new_id = count(SESSION_ID).__next__
        world.partition()
        connection, client = world.local_connection()
        requests = ((fetching(session_epoch=0), 17), (producing(batch(b"a")), 9), (going_on(0, 1, wait_ms=1000), 17))
        connection._receiver.reader.receive_data(
            b"".join(client.encode(request, version) for request, version in requests)
        )
        connection.handle_pass()
        await client.receive(FetchRequest, 17)
        await client.receive(type(requests[1][0]), 9)
        _, response = await client.receive(FetchRequest, 17)
        assert values_of(fetched(response)[0].records) == [b"a"]
        connection.close()
