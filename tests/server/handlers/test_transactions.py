"""ListTransactions and DescribeTransactions where there are none."""

from __future__ import annotations

import pytest

from ottla.server.handlers.transactions import PATTERN_LENGTH_MAX
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.transaction_admin import DescribeTransactionsRequest, ListTransactionsRequest
from tests.server.handler_world import World


@pytest.mark.parametrize("version", range(3))
def test_there_are_no_transactions_and_unknown_states_are_named(world: World, version: int) -> None:
    request = ListTransactionsRequest(state_filters=["Ongoing", "Sleeping", "Sleeping"], producer_id_filters=[])
    response = world.ask(request, version)
    assert (response.error_code, response.transaction_states) == (ErrorCode.NONE, [])
    assert response.unknown_state_filters == ["Sleeping"]


@pytest.mark.parametrize(
    ("pattern", "code"),
    [
        ("orders-.*", ErrorCode.NONE),
        ("", ErrorCode.NONE),
        ("[[a]", ErrorCode.NONE),
        ("(", ErrorCode.INVALID_REGULAR_EXPRESSION),
        ("a{99999999999}", ErrorCode.INVALID_REGULAR_EXPRESSION),
        ("(" * PATTERN_LENGTH_MAX, ErrorCode.INVALID_REGULAR_EXPRESSION),
        ("a" * (PATTERN_LENGTH_MAX + 1), ErrorCode.INVALID_REGULAR_EXPRESSION),
    ],
)
def test_a_pattern_that_is_none_is_refused(world: World, pattern: str, code: ErrorCode) -> None:
    request = ListTransactionsRequest(state_filters=[], producer_id_filters=[], transactional_id_pattern=pattern)
    assert world.ask(request).error_code == code


def test_no_transactional_id_is_known_and_none_has_a_producer(world: World) -> None:
    states = world.ask(DescribeTransactionsRequest(transactional_ids=["t", ""])).transaction_states
    assert [each.error_code for each in states] == [ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, ErrorCode.INVALID_REQUEST]
    assert {(each.producer_id, each.producer_epoch, each.transaction_start_time_ms) for each in states} == {(0, 0, 0)}
