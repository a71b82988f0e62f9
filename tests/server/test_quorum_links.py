"""Raft's requests to other nodes: answered, or None; and nobody stands behind a Fetch that waits."""

from __future__ import annotations

import trio
import trio.testing

from ottla.cluster.raft_effects import Send
from ottla.cluster.raft_log import OffsetAndEpoch
from ottla.cluster.raft_messages import fetch_request, vote_request
from ottla.cluster.voters import Endpoint, ReplicaKey
from ottla.server.quorum_links import QuorumLinks
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.fetch import FetchRequest
from ottla.wire.messages.quorum import VoteRequest, VoteResponse
from ottla.wire.schema import Request
from tests.client.stub_cluster import HANG_UP, SILENCE, StubBroker, StubNetwork, in_trio

ME, OTHER = ReplicaKey(1, b"directory of one"), ReplicaKey(2, b"directory of two")
END = OffsetAndEpoch(5, 1)
TIMEOUT_MS = 2000


def vote(*, is_pre_vote: bool = False) -> VoteRequest:
    return vote_request("cluster", 2, ME, OTHER, END, is_pre_vote=is_pre_vote)


def to(broker: StubBroker, request: Request) -> Send:
    return Send(1, 2, Endpoint(*broker.address), request)


def fetch() -> FetchRequest:
    return fetch_request("cluster", ME, 1, END, 5, 1000, 500)


@in_trio
async def test_an_answer_comes_back() -> None:
    broker = StubBroker(2)
    broker.on(VoteRequest, VoteResponse(topics=[]))
    async with trio.open_nursery() as nursery:
        links = QuorumLinks(1, TIMEOUT_MS, StubNetwork(nursery, (broker,)).open_stream)
        assert await links.exchange(to(broker, vote())) == VoteResponse(topics=[])
        assert broker.versions_of(VoteRequest) == [2]
        await links.aclose()


@in_trio
async def test_nobody_there_and_one_who_hangs_up_are_no_answer() -> None:
    broker = StubBroker(2)
    broker.on(VoteRequest, HANG_UP)
    async with trio.open_nursery() as nursery:
        links = QuorumLinks(1, TIMEOUT_MS, StubNetwork(nursery, (broker,)).open_stream)
        assert await links.exchange(to(broker, vote())) is None
        assert await links.exchange(to(StubBroker(3), vote())) is None
        await links.aclose()


@in_trio
async def test_silence_ends_after_its_time_and_so_does_the_connection() -> None:
    broker = StubBroker(2)
    broker.on(VoteRequest, SILENCE, VoteResponse(topics=[]))
    async with trio.open_nursery() as nursery:
        links = QuorumLinks(1, TIMEOUT_MS, StubNetwork(nursery, (broker,)).open_stream)
        began = trio.current_time()
        assert await links.exchange(to(broker, vote())) is None
        assert trio.current_time() - began == TIMEOUT_MS / 1000
        assert await links.exchange(to(broker, vote())) is not None
        assert broker.connections == 2
        await links.aclose()


@in_trio
async def test_a_vote_does_not_stand_behind_a_fetch() -> None:
    broker = StubBroker(2)
    broker.on(FetchRequest, SILENCE)
    broker.on(VoteRequest, VoteResponse(topics=[]))
    answers: list[object] = []
    async with trio.open_nursery() as nursery:
        links = QuorumLinks(1, TIMEOUT_MS, StubNetwork(nursery, (broker,)).open_stream)

        async def fetching() -> None:
            answers.append(await links.exchange(to(broker, fetch())))

        nursery.start_soon(fetching)
        await trio.testing.wait_all_tasks_blocked()
        assert await links.exchange(to(broker, vote())) is not None
        assert answers == []
        nursery.cancel_scope.cancel()


@in_trio
async def test_for_a_peer_that_knows_no_pre_votes_we_answer_ourselves() -> None:
    """Sent in version 1 it would be a vote, which is another thing."""
    broker = StubBroker(2, versions={VoteRequest: (0, 1)})
    broker.on(VoteRequest, VoteResponse(topics=[]))
    async with trio.open_nursery() as nursery:
        links = QuorumLinks(1, TIMEOUT_MS, StubNetwork(nursery, (broker,)).open_stream)
        refused = await links.exchange(to(broker, vote(is_pre_vote=True)))
        assert isinstance(refused, VoteResponse)
        assert refused.error_code == ErrorCode.UNSUPPORTED_VERSION
        assert broker.requests(VoteRequest) == []
        assert await links.exchange(to(broker, vote())) is not None
        await links.aclose()


@in_trio
async def test_a_peer_that_is_too_old_for_a_request_is_no_answer() -> None:
    """Whatever it says of itself: that this node cannot ask it must not end this node."""
    broker = StubBroker(2, {FetchRequest: (4, 12)})
    async with trio.open_nursery() as nursery:
        links = QuorumLinks(1, TIMEOUT_MS, StubNetwork(nursery, (broker,)).open_stream)
        assert await links.exchange(to(broker, fetch())) is None
        assert await links.exchange(to(broker, vote_request("c", 2**31, ME, OTHER, END, is_pre_vote=False))) is None
        await links.aclose()
