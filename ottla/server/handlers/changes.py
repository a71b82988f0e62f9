"""Requests that change metadata: a function of the controller runs, and its answer waits for its records.

Every handler that changes metadata goes through here, and so does every one that asks what only the controller knows:
an answer that tells of records which are not committed yet waits for them. How records come to be committed is the
broker's affair.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ottla.cluster.controller import ControllerState, Result
from ottla.server.context import Context
from ottla.server.parking import Pending
from ottla.wire.errors import ErrorCode, KafkaError

R = TypeVar("R")


def change(context: Context, call: Callable[[ControllerState], Result[R]], *, timeout_ms: int | None = None) -> Pending:
    """Answer with the function's own response. A KafkaError out of the function comes out of here.

    After `timeout_ms` the client is told REQUEST_TIMED_OUT. Who leaves no time has nothing done for him, as in Kafka.
    """
    return change_then(context, call, lambda response: response, timeout_ms=timeout_ms)


def change_then(
    context: Context,
    call: Callable[[ControllerState], Result[R]],
    build: Callable[[R], Any],
    *,
    timeout_ms: int | None = None,
) -> Pending:
    """The same, with a response that is made from the function's once the records are committed."""
    if timeout_ms is not None and timeout_ms <= 0:
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"a timeout of {timeout_ms} ms leaves no time")

    def run(controller: ControllerState, now_ms: int) -> Result[R]:
        return call(controller)

    def answer(result: Result[R]) -> Any:
        return build(result.response)

    return context.broker.change(run, answer, timeout_ms=timeout_ms)
