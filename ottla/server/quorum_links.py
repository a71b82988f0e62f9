"""How raft's requests reach other nodes, and their answers come back.

A Fetch waits at its leader until there is news, so it has a connection of its own; a vote must not stand behind it. No
answer in time, a connection that breaks, an answer that cannot be read, a peer whose versions cannot carry the request:
raft is told None and decides what to do. The connection of a request that was not answered is closed, since whoever was
paused or cut off may not even know of it.
"""

from __future__ import annotations

import logging
from typing import Any

import trio

from ottla.client.addresses import Address
from ottla.client.connection import Connection, OpenStream, open_tcp
from ottla.client.connections import Connections
from ottla.client.settings import Settings
from ottla.cluster.raft_effects import Send
from ottla.wire.encoder import EncodeError
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.fetch import FetchRequest
from ottla.wire.messages.quorum import VoteRequest, VoteResponse
from ottla.wire.schema import Response

log = logging.getLogger(__name__)

FETCHES, OTHERS = "fetches", "others"
FIRST_VOTE_WITH_PRE_VOTE = 2


class QuorumLinks:
    def __init__(self, node_id: int, request_timeout_ms: int, open_stream: OpenStream = open_tcp) -> None:
        self._timeout_seconds = request_timeout_ms / 1000
        settings = Settings(client_id=f"raft-client-{node_id}", connect_timeout_ms=request_timeout_ms)
        self._connections = Connections(settings, open_stream)

    async def exchange(self, effect: Send) -> Response | None:
        """Send a request: its answer, or None if there is none in time."""
        try:
            with trio.fail_after(self._timeout_seconds):
                response: Response = await self._ask(effect)
                return response
        except (KafkaError, EncodeError, trio.TooSlowError) as error:
            log.debug("%s to node %d failed: %s", type(effect.request).__name__, effect.node_id, error)
            return None

    async def aclose(self) -> None:
        await self._connections.aclose()

    async def _ask(self, effect: Send) -> Any:
        request = effect.request
        lane = FETCHES if isinstance(request, FetchRequest) else OTHERS
        connection = await self._connections.get(Address(*effect.endpoint), lane)
        version = (await connection.negotiated()).highest(type(request))
        if isinstance(request, VoteRequest) and version < FIRST_VOTE_WITH_PRE_VOTE and _is_pre_vote(request):
            return VoteResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, topics=[])
        try:
            return await connection.request(request, version)
        except trio.Cancelled:
            await _give_up(connection)
            raise


def _is_pre_vote(request: VoteRequest) -> bool:
    return any(partition.pre_vote for topic in request.topics for partition in topic.partitions)


async def _give_up(connection: Connection) -> None:
    with trio.CancelScope(shield=True):
        await connection.aclose("a request was not answered in time")
