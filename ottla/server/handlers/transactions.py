"""ListTransactions and DescribeTransactions (KIP-664): there are no transactions here, so there is nothing to tell.

Filters are looked at all the same: states that do not exist are named in the answer, and a pattern that is none is
refused. A transactional id is not found; its producer id, epoch and times are 0 then, as in Kafka.
ListTransactions versions: 1 filters by duration (KIP-994), 2 by a pattern (KIP-1152).
"""

from __future__ import annotations

import re
import warnings

from ottla.server.context import Context
from ottla.server.routes import Route, versions
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.transaction_admin import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
)

STATES = frozenset(
    {
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    }
)
# Compiling takes longer than linear time in the length.
PATTERN_LENGTH_MAX = 1_000
UNKNOWN = 0


def list_transactions(context: Context, request: ListTransactionsRequest) -> ListTransactionsResponse:
    _check_pattern(request.transactional_id_pattern or "")
    unknown = [state for state in dict.fromkeys(request.state_filters) if state not in STATES]
    return ListTransactionsResponse(unknown_state_filters=unknown, transaction_states=[])


def _check_pattern(pattern: str) -> None:
    if len(pattern) > PATTERN_LENGTH_MAX:
        reason = f"a pattern of {len(pattern)} characters, at most {PATTERN_LENGTH_MAX} are allowed"
        raise KafkaError(ErrorCode.INVALID_REGULAR_EXPRESSION, reason)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about what a later Python may read otherwise
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        reason = f"{pattern[:100]!r} is not a regular expression: {error}"
        raise KafkaError(ErrorCode.INVALID_REGULAR_EXPRESSION, reason) from None


def list_refused(request: ListTransactionsRequest, error: KafkaError) -> ListTransactionsResponse:
    return ListTransactionsResponse(error_code=error.code, unknown_state_filters=[], transaction_states=[])


def describe_transactions(context: Context, request: DescribeTransactionsRequest) -> DescribeTransactionsResponse:
    return DescribeTransactionsResponse(
        transaction_states=[
            _without_state(
                transactional_id,
                ErrorCode.TRANSACTIONAL_ID_NOT_FOUND if transactional_id else ErrorCode.INVALID_REQUEST,
            )
            for transactional_id in request.transactional_ids
        ]
    )


def _without_state(transactional_id: str, code: ErrorCode) -> DescribeTransactionsResponse.TransactionState:
    return DescribeTransactionsResponse.TransactionState(
        error_code=code,
        transactional_id=transactional_id,
        transaction_state="",
        transaction_timeout_ms=UNKNOWN,
        transaction_start_time_ms=UNKNOWN,
        producer_id=UNKNOWN,
        producer_epoch=UNKNOWN,
        topics=[],
    )


def describe_refused(request: DescribeTransactionsRequest, error: KafkaError) -> DescribeTransactionsResponse:
    return DescribeTransactionsResponse(
        transaction_states=[_without_state(each, error.code) for each in request.transactional_ids]
    )


ROUTES = (
    Route(ListTransactionsRequest, versions(0, 2), list_transactions, list_refused),
    Route(DescribeTransactionsRequest, versions(0, 0), describe_transactions, describe_refused),
)
