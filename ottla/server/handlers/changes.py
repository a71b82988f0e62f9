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

R = TypeVar("R")


def change(context: Context, call: Callable[[ControllerState], Result[R]]) -> Pending:
    """Answer with the function's own response. A KafkaError out of the function comes out of here."""
    return change_then(context, call, lambda response: response)


def change_then(context: Context, call: Callable[[ControllerState], Result[R]], build: Callable[[R], Any]) -> Pending:
    """The same, with a response that is made from the function's once the records are committed."""

    def run(controller: ControllerState, now_ms: int) -> Result[R]:
        return call(controller)

    def answer(result: Result[R]) -> Any:
        return build(result.response)

    return context.broker.change(run, answer)
