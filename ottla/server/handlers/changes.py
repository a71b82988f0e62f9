"""Requests that change metadata: the controller answers them, here or elsewhere, and the answer waits for its records.

Every handler that changes metadata goes through here, and so does every one that asks what only the controller knows:
an answer that tells of records which are not committed yet waits for them. Where the controller is, is the broker's
affair; a controller that is asked on its own listener and is not the active one does not pass anything on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ottla.server.context import Context
from ottla.server.controller_channel import OnBehalf
from ottla.server.parking import Pending
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.schema import Request


def change(context: Context, request: Request, *, timeout_ms: int | None = None) -> Pending:
    """Answer with what the controller says to this very request. A KafkaError of the controller's comes out of here.

    After `timeout_ms` the client is told REQUEST_TIMED_OUT. Who leaves no time has nothing done for him, as in Kafka.
    """
    return change_then(context, request, context.version, lambda response: response, timeout_ms=timeout_ms)


def change_then(
    context: Context,
    request: Request,
    version: int,
    build: Callable[[Any], Any],
    *,
    timeout_ms: int | None = None,
) -> Pending:
    """Ask the controller something else, in this version; the answer is made from what it said."""
    if timeout_ms is not None and timeout_ms <= 0:
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"a timeout of {timeout_ms} ms leaves no time")
    broker = context.broker
    if broker.config.is_controllers(context.listener_name) and not broker.channel.is_here:
        raise KafkaError(ErrorCode.NOT_CONTROLLER, "this node is not the active controller")
    client = OnBehalf(context.principal, context.client_host, context.client_id)
    return broker.ask_controller(request, version, client, build, timeout_ms=timeout_ms)
