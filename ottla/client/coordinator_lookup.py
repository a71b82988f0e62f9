"""FindCoordinator in both its forms: many keys at once (version 4, KIP-699) or one at a time.

Asks over a connection that it is given; remembers nothing. Errors are raised by the key that has them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

from ottla.client.addresses import Address
from ottla.client.failures import MalformedAnswer, check
from ottla.client.routing import Coordinator, CoordinatorType
from ottla.client.versions import NegotiatedVersions
from ottla.wire.messages.classic_groups import FindCoordinatorRequest, FindCoordinatorResponse
from ottla.wire.schema import VERSION_MAX, Request, Versions

BATCH_VERSION_MIN = 4
# From when on each kind may be asked for.
KIND_VERSION_MIN = {CoordinatorType.GROUP: 0, CoordinatorType.TRANSACTION: 1, CoordinatorType.SHARE: 6}

Send: TypeAlias = Callable[[Request, int], Awaitable[Any]]


class Found(NamedTuple):
    node_id: int
    address: Address


async def find_coordinators(
    send: Send, negotiated: NegotiatedVersions, kind: CoordinatorType, keys: Iterable[str]
) -> dict[str, Found]:
    """Where the coordinator of each key is."""
    version = negotiated.highest(FindCoordinatorRequest, Versions(KIND_VERSION_MIN[kind], VERSION_MAX))
    if version >= BATCH_VERSION_MIN:
        return await _find_together(send, version, kind, list(keys))
    return {key: await _find_one(send, version, kind, key) for key in keys}


async def _find_together(send: Send, version: int, kind: CoordinatorType, keys: list[str]) -> dict[str, Found]:
    request = FindCoordinatorRequest(key_type=kind, coordinator_keys=keys)
    response: FindCoordinatorResponse = await send(request, version)
    named = {one.key: one for one in response.coordinators}
    found = {}
    for key in keys:
        if key not in named:
            raise MalformedAnswer(f"FindCoordinator says nothing about {key}")
        one = named[key]
        check(one.error_code, str(Coordinator(kind, key)), one.error_message)
        found[key] = Found(one.node_id, Address(one.host, one.port))
    return found


async def _find_one(send: Send, version: int, kind: CoordinatorType, key: str) -> Found:
    response: FindCoordinatorResponse = await send(FindCoordinatorRequest(key=key, key_type=kind), version)
    check(response.error_code, str(Coordinator(kind, key)), response.error_message)
    return Found(response.node_id, Address(response.host, response.port))
