"""FindCoordinator at old and new brokers."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from ottla.client.addresses import Address
from ottla.client.coordinator_lookup import Found, find_coordinators
from ottla.client.failures import MalformedAnswer
from ottla.client.routing import CoordinatorType
from ottla.client.versions import NegotiatedVersions
from ottla.wire.api_keys import ApiKey
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.classic_groups import FindCoordinatorRequest, FindCoordinatorResponse
from ottla.wire.schema import Request, Versions

KEYS = ["a", "b"]


def looked_up(
    version: int, *answers: FindCoordinatorResponse, kind: CoordinatorType = CoordinatorType.GROUP
) -> tuple[dict[str, Found], list[Any]]:
    """Look the keys up at a broker whose highest version this is; each request must fit that version."""
    sent: list[Any] = []
    left = list(answers)

    async def send(request: Request, used: int) -> FindCoordinatorResponse:
        assert used == version
        sent.append(FindCoordinatorRequest.decode(request.encode(used), used))
        return left.pop(0)

    negotiated = NegotiatedVersions({ApiKey.FIND_COORDINATOR: Versions(0, version)})
    return trio.run(find_coordinators, send, negotiated, kind, KEYS), sent


def coordinator(key: str, node_id: int = 1, error_code: int = 0) -> FindCoordinatorResponse.Coordinator:
    return FindCoordinatorResponse.Coordinator(
        key=key, node_id=node_id, host=f"h{node_id}", port=9, error_code=error_code, error_message=None
    )


def test_many_keys_are_asked_for_at_once() -> None:
    answer = FindCoordinatorResponse(coordinators=[coordinator("b", 2), coordinator("a", 1), coordinator("else", 3)])
    found, sent = looked_up(4, answer)
    assert found == {"a": Found(1, Address("h1", 9)), "b": Found(2, Address("h2", 9))}
    assert [request.coordinator_keys for request in sent] == [KEYS]


def test_an_old_broker_is_asked_for_one_key_at_a_time() -> None:
    answers = [FindCoordinatorResponse(node_id=node_id, host=f"h{node_id}", port=9) for node_id in (1, 2)]
    found, sent = looked_up(1, *answers, kind=CoordinatorType.TRANSACTION)
    assert found == {"a": Found(1, Address("h1", 9)), "b": Found(2, Address("h2", 9))}
    assert [(request.key, request.key_type) for request in sent] == [("a", 1), ("b", 1)]


@pytest.mark.parametrize(
    ("version", "answer"),
    [
        (3, FindCoordinatorResponse(error_code=15, error_message="why")),
        (6, FindCoordinatorResponse(coordinators=[coordinator("a", error_code=15)])),
    ],
)
def test_an_error_names_the_key(version: int, answer: FindCoordinatorResponse) -> None:
    with pytest.raises(KafkaError, match="the coordinator of group a: ") as raised:
        looked_up(version, answer)
    assert raised.value.code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_a_key_that_the_answer_leaves_out_is_noticed() -> None:
    with pytest.raises(MalformedAnswer, match="says nothing about b"):
        looked_up(4, FindCoordinatorResponse(coordinators=[coordinator("a")]))


def test_a_kind_that_the_broker_is_too_old_for_is_not_asked_for() -> None:
    with pytest.raises(KafkaError, match="FindCoordinator: the broker has versions 0-5, not 6"):
        looked_up(5, kind=CoordinatorType.SHARE)
